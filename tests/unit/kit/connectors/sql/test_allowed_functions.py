import pytest
from sqlglot import exp

from bascule.kit.connectors.sql.allowed_functions import NODES, TYPES, is_syntax, is_word, may_call


def test_every_part_and_type_that_is_listed_exists():
    """A new version of the parser may rename some, which would refuse honest queries."""
    assert [name for name in NODES if not hasattr(exp, name)] == []
    assert [name for name in TYPES if name not in exp.DataType.Type.__members__] == []


def test_no_part_that_changes_something_is_listed():
    writing = (
        exp.Insert,
        exp.Update,
        exp.Delete,
        exp.DDL,
        exp.Command,
        exp.Into,
        exp.Lock,
        exp.Pragma,
        exp.Attach,
        exp.Copy,
        exp.Set,
        exp.Anonymous,
    )
    assert [
        name
        for name in NODES
        if issubclass(getattr(exp, name), writing)
        and name not in {"Select", "Subquery", "Union", "Except", "Intersect", "Values"}
    ] == []


@pytest.mark.parametrize(
    "name", ["pg_read_file", "lo_import", "set_config", "nextval", "load_extension", "query_to_xml", "ts_stat"]
)
def test_functions_that_do_more_than_compute_are_unknown(name: str):
    assert not may_call(name, "sqlite")
    assert not may_call(name, "postgres")


def test_functions_are_known_in_any_case_and_for_their_database():
    assert may_call("COUNT", "sqlite")
    assert may_call("strftime", "sqlite")
    assert not may_call("strftime", "postgres")


def test_words_of_the_language_are_no_functions():
    assert is_syntax("GROUP BY")
    assert not is_syntax("pg_sleep")
    assert is_word("a_1")
    assert not is_word("||")
