"""SQL query check on the syntax tree: one query that only reads, and only allowed tables and functions; no database is
used. The SQL that runs is generated from the checked tree, so nothing on which parser and database disagree is left."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bascule.core.errors import UsageError
from bascule.kit.connectors.sql.allowed_functions import NODES, TYPES, is_syntax, is_word, may_call
from bascule.kit.connectors.sql.source import Dialect

if TYPE_CHECKING:
    from sqlglot import exp

MAX_SQL = 20_000
"""Characters of a query. The parser is slow, and a model writes no longer ones."""

MAX_NESTING = 40
"""Parentheses within each other. A few more and the parser runs out of stack."""

MAX_NAME = 63
"""Bytes. PostgreSQL cuts longer names off, and what is left may be the name of something else."""

_BEGINNINGS = {"SELECT", "WITH", "VALUES", "("}
_ROOTS = {"Select", "Union", "Except", "Intersect", "Values", "Subquery"}
_OF_A_TABLE = {"this", "db", "alias", "joins", "laterals", "only", "ordinality"}
_HEAD = re.compile(r"(\w+)(?:\(|$)")
_UNNAMED = {"?column?", "case", "key", "value", "ordinality", "extract", "column1", "column2", "column3"}
"""What PostgreSQL calls columns that nobody has named; those of a function are called as the function is."""

_FIX = "ask with one plain SELECT over the tables of this source"


@dataclass(frozen=True, slots=True)
class Tables:
    """What may be read. For SQLite `schema` is `main`."""

    dialect: Dialect
    schema: str
    names: frozenset[str] | None
    """`schema.name` of each; None is everything in `schema`."""
    columns: frozenset[str] | None = None
    """The names of all columns there; None where a name of a column can mean nothing else."""

    def find(self, schema: str, name: str) -> tuple[str, str] | None:
        """The full name of what is meant, if it may be read."""
        found = (schema or self.schema, name)
        if self.dialect == "sqlite":
            found = (found[0].lower(), name.lower())
        if self.names is None:
            return found if found[0] == self.schema else None
        return found if ".".join(found) in self.names else None


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """What may be run, and which parameters it needs, in the order of their first use."""

    sql: str
    parameters: tuple[str, ...]
    made: frozenset[str]
    """Names that the query gives to its own parts."""


def checked_query(sql: str, tables: Tables) -> CheckedQuery:
    """Raises `UsageError` for all that is not one reading query of these tables, and for what cannot be parsed."""
    tree = _parsed(sql, tables.dialect)
    for node in tree.walk():
        _check_node(node, tables.dialect)
    if tables.columns is not None:
        _check_columns(tree, tables.columns, tables.dialect)
    made = frozenset(cte.alias.lower() for cte in _all(tree, "CTE"))
    for table in list(_all(tree, "Table")):
        _check_table(table, tables)
    parameters = _number_parameters(tree, tables.dialect)
    _quote(tree, tables.dialect)
    written = _written(tree, tables.dialect)
    _check_words(written, tables.dialect, {node.name for node in _all(tree, "TableAlias")})
    return CheckedQuery(written, parameters, made)


def _parsed(sql: str, dialect: Dialect) -> "exp.Expr":
    import sqlglot  # noqa: PLC0415 -- a fifth of a second, and only who asks databases needs it
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    if len(sql) > MAX_SQL or "\0" in sql:
        raise _refused("the query is too long, or holds what is no text", f"{len(sql)} characters")
    try:
        _check_beginning([token.text for token in sqlglot.tokenize(sql, dialect=dialect)])
        trees = [tree for tree in sqlglot.parse(sql, dialect=dialect) if tree is not None]
    except SqlglotError as error:
        reason = str(error).splitlines()[0]
    except RecursionError:
        reason = "it nests too deep"
    else:
        if len(trees) != 1 or type(trees[0]).__name__ not in _ROOTS:
            raise _refused("only one query that reads may be asked at a time", f"{len(trees)} statements")
        return trees[0]
    raise _refused("the query could not be understood", reason)


def _check_beginning(words: list[str]) -> None:
    if not words or words[0].upper() not in _BEGINNINGS:
        raise _refused("only queries that read may be asked", f"it begins with {' '.join(words[:1])!r}")
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth > MAX_NESTING:
            raise _refused("the query nests too deep", f"more than {MAX_NESTING} parentheses")


def _check_node(node: "exp.Expr", dialect: Dialect) -> None:
    kind = type(node).__name__
    if kind not in NODES and not _is_known_function(node, dialect):
        raise _refused("the query uses what may not be used here", _shown(node, dialect))
    match kind:
        case "DataType" if node.this.name not in TYPES:
            raise _refused("a value may not be cast to that type", _shown(node, dialect))
        case "Select" if not node.expressions:
            raise _refused("the query asks for nothing", _shown(node, dialect))
        case "In" if node.args.get("field") is not None:
            # A table without FROM: it is no table to the parser, so nobody would look at its name.
            raise _refused("IN needs a list or a query in parentheses", _shown(node, dialect))
        case "Table" if {key for key, value in node.args.items() if value} - _OF_A_TABLE:
            raise _refused("a table may only be read as it is", _shown(node, dialect))
        case "Identifier" if len(node.name.encode()) > MAX_NAME:
            raise _refused(f"a name is longer than {MAX_NAME} bytes", node.name[:80])
        case "Identifier" if not node.args.get("quoted") and not is_word(node.name):
            raise _refused("a name that is no word needs quotes", node.name[:80])
        case _:
            pass


def _is_known_function(node: "exp.Expr", dialect: Dialect) -> bool:
    from sqlglot import exp  # noqa: PLC0415

    # Which one is told from how it will be written, and not from what the parser calls it.
    head = _HEAD.match(_written(node, dialect)) if isinstance(node, exp.Func) else None
    return head is not None and may_call(head[1], dialect)


def _check_table(table: "exp.Expr", tables: Tables) -> None:
    from sqlglot import exp  # noqa: PLC0415

    this = table.this
    if not isinstance(this, exp.Identifier):
        return  # A function, and looked at as one.
    schema = table.args.get("db")
    if schema is None and _folded(this, tables.dialect) in _visible(table, tables.dialect):
        return
    found = tables.find(_folded(schema, tables.dialect) if schema else "", _folded(this, tables.dialect))
    if found is None:
        raise _refused("there is no such table in this source", _shown(table, tables.dialect))
    if tables.dialect == "postgres":
        # So that it cannot come to mean one of another schema, whatever the search path.
        table.set("db", exp.to_identifier(found[0], quoted=True))
        table.set("this", exp.to_identifier(found[1], quoted=True))


def _check_columns(tree: "exp.Expr", columns: frozenset[str], dialect: Dialect) -> None:
    """In PostgreSQL `orders.wipe` calls a function `wipe(orders)`, if there is one and no such column."""
    aliases = (*_all(tree, "Alias"), *_all(tree, "TableAlias"))
    own = {_folded(part, dialect) for alias in aliases for part in _named(alias)}
    for column in _all(tree, "Column"):
        name = column.this
        known = type(name).__name__ == "Star" or _folded(name, dialect) in columns | own | _UNNAMED
        if not known and not (may_call(name.name, dialect) and not name.args.get("quoted")):
            raise _refused("there is no such column in this source", _shown(column, dialect))


def _named(alias: "exp.Expr") -> "Iterator[exp.Expr]":
    name = alias.args.get("alias") or alias.this
    parts = (name, *(alias.args.get("columns") or ()))
    return (part for part in parts if type(part).__name__ == "Identifier")


def _visible(table: "exp.Expr", dialect: Dialect) -> set[str]:
    """The names of the WITH parts that can be meant here. In itself a part is only if it is recursive."""
    names: set[str] = set()
    below: exp.Expr = table
    above = table.parent
    while above is not None:
        clause = above.args.get("with_")
        if clause is not None and clause is not below:
            names.update(_folded_name(cte, dialect) for cte in clause.expressions)
        if type(above).__name__ == "With":
            before = above.expressions.index(below)
            names.update(
                _folded_name(cte, dialect)
                for number, cte in enumerate(above.expressions)
                if number < before or (number == before and above.args.get("recursive"))
            )
        below, above = above, above.parent
    return names


def _folded_name(cte: "exp.Expr", dialect: Dialect) -> str:
    return _folded(cte.args["alias"].this, dialect)


def _folded(identifier: "exp.Expr", dialect: Dialect) -> str:
    """As the database reads it: PostgreSQL folds the letters of ASCII if there are no quotes, SQLite always."""
    if dialect == "postgres" and identifier.args.get("quoted"):
        return identifier.name
    return "".join(letter.lower() if letter.isascii() else letter for letter in identifier.name)


def _number_parameters(tree: "exp.Expr", dialect: Dialect) -> tuple[str, ...]:
    from sqlglot import exp  # noqa: PLC0415

    names: list[str] = []
    for node in list(_all(tree, "Placeholder")):
        if not node.name.isidentifier():
            raise _refused("parameters have names", f"write :name instead of {_shown(node, dialect)}")
        if node.name not in names:
            names.append(node.name)
        if dialect == "postgres":
            node.replace(exp.Parameter(this=exp.Literal.number(names.index(node.name) + 1)))
    return tuple(names)


def _quote(tree: "exp.Expr", dialect: Dialect) -> None:
    """In PostgreSQL every name, so that none of them is a function without parentheses, such as `user`. In SQLite only
    those that stand before a list of columns: a quoted name that is unknown there counts as a text."""
    wanted = "Identifier" if dialect == "postgres" else "TableAlias"
    for node in list(_all(tree, wanted)):
        identifier = node if wanted == "Identifier" else node.this
        if identifier is not None and not identifier.args.get("quoted"):
            identifier.set("this", _folded(identifier, dialect))
            identifier.set("quoted", value=True)


def _check_words(sql: str, dialect: Dialect, own: set[str]) -> None:
    """Once more in the text that will run, whatever the tree was called: each word before a parenthesis."""
    import sqlglot  # noqa: PLC0415
    from sqlglot.tokenizer_core import TokenType  # noqa: PLC0415

    tokens = sqlglot.tokenize(sql, dialect=dialect)
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.SEMICOLON or following.token_type is TokenType.SEMICOLON:
            raise _refused("only one query may be asked at a time", ";")
        if following.token_type is not TokenType.L_PAREN or token.token_type is TokenType.STRING:
            continue
        if token.token_type is TokenType.IDENTIFIER:
            known = token.text in own
        else:
            known = not is_word(token.text) or is_syntax(token.text) or may_call(token.text, dialect)
        if not known:
            raise _refused("a function may not be used here", token.text)


def _all(tree: "exp.Expr", kind: str) -> "Iterator[exp.Expr]":
    return (node for node in tree.walk() if type(node).__name__ == kind)


def _written(node: "exp.Expr", dialect: Dialect) -> str:
    return node.sql(dialect=dialect, comments=False)


def _shown(node: "exp.Expr", dialect: Dialect) -> str:
    return _written(node, dialect)[:120]


def _refused(message: str, evidence: str) -> UsageError:
    return UsageError(message, where="sql", evidence=evidence, fix=_FIX)
