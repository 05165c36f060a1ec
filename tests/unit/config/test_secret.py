"""A secret shows itself to nobody who does not ask for it by name."""

import copy
import json
import logging
import pickle
import pprint
from collections.abc import Callable
from dataclasses import asdict, dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.model.transport import StdioTransport, StreamableHttpTransport
from bascule.config.secret import MASK, Secret, conceal_all, reveal_all

TEXT = "hunter2-correct-horse"

# Letters that stand in no repr by themselves, so that finding one means a leak.
texts = st.text(alphabet="ÄÖÜÞŊ", min_size=3)


def test_a_secret_reveals_its_text_when_asked():
    assert Secret(TEXT).reveal() == TEXT


@pytest.mark.parametrize(
    "show", [repr, str, "{}".format, "{!r:>40}".format, "{:>40}".format, "%s".__mod__, pprint.pformat]
)
def test_a_secret_never_prints(show: Callable[[object], str]):
    assert TEXT not in show(Secret(TEXT))
    assert MASK in show(Secret(TEXT))


def test_a_mask_says_nothing_of_the_length():
    assert repr(Secret("a")) == repr(Secret("a" * 100))


def test_a_secret_stays_out_of_logs(caplog: pytest.LogCaptureFixture):
    logging.getLogger("test").warning("token %s %r", Secret(TEXT), Secret(TEXT))

    assert TEXT not in caplog.text


def test_a_secret_is_not_pickled():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(Secret(TEXT), protocol)


@pytest.mark.parametrize("encode", [json.dumps, msgspec.json.encode, msgspec.to_builtins])
def test_a_secret_is_not_serialised(encode: Callable[[object], object]):
    with pytest.raises(TypeError):
        encode({"token": Secret(TEXT)})


def test_a_copy_of_a_secret_is_the_secret():
    secret = Secret(TEXT)

    assert copy.copy(secret) is secret
    assert copy.deepcopy({"a": [secret]})["a"][0] is secret


def test_a_secret_cannot_be_changed():
    secret = Secret(TEXT)

    with pytest.raises(AttributeError):
        secret._text = "x"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        del secret._text
    assert secret.reveal() == TEXT


def test_secrets_are_equal_by_their_text():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_a_secret_that_is_not_utf8_can_be_compared():
    assert Secret("\udcff") != Secret("a")


def test_an_empty_secret_is_false():
    assert not Secret("")
    assert Secret("x")


@given(texts)
def test_a_secret_appears_in_no_repr_of_anything_that_holds_it(text: str):
    @dataclass
    class Holder:
        inner: object

    transport = StdioTransport("npx", env={"TOKEN": text})
    http = StreamableHttpTransport("https://example.test/mcp", headers={"X-Key": Secret(text)})
    for value in (
        Holder(Secret(text)),
        [Secret(text)],
        transport,
        http,
        (transport, {"h": http}),
        asdict(Holder(Secret(text))),
    ):
        assert text not in repr(value)
        assert text not in f"{value}"
        assert text not in pprint.pformat(value)


def test_concealing_keeps_secrets_and_makes_new_ones():
    kept = Secret("a")
    concealed = conceal_all({"A": kept, "B": "b"})

    assert concealed["A"] is kept
    assert concealed["B"] == Secret("b")


def test_concealed_values_cannot_be_replaced():
    with pytest.raises(TypeError):
        conceal_all({"A": "a"})["A"] = Secret("b")  # pyright: ignore[reportIndexIssue]


def test_revealing_gives_plain_texts():
    assert reveal_all({"A": Secret("a"), "B": "b"}) == {"A": "a", "B": "b"}
