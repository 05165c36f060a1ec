import pytest

from bascule.core.trace_context import LONGEST_STATE, MOST_MEMBERS, TraceContext, read_trace

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_what_was_read_is_written_as_it_came():
    found = read_trace(GOOD, "a=1,b@c=2")
    assert found is not None
    assert found == TraceContext(int(TRACE, 16), int(SPAN, 16), sampled=True, state="a=1,b@c=2")
    assert found.traceparent == GOOD
    unseen = read_trace(f"00-{TRACE}-{SPAN}-02")
    assert unseen is not None
    assert unseen.traceparent == f"00-{TRACE}-{SPAN}-00"


def test_small_ids_keep_their_zeros():
    assert TraceContext(1, 2).traceparent == f"00-{'0' * 31}1-{'0' * 15}2-01"


def test_a_later_version_may_say_more():
    assert read_trace(f"01-{TRACE}-{SPAN}-01-more") == read_trace(GOOD)


@pytest.mark.parametrize(
    "told",
    [
        None,
        5,
        "",
        "x",
        GOOD.upper(),
        f" {GOOD}",
        f"{GOOD}\n",
        f"{GOOD}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01-{'x' * 200}",
        f"00-{TRACE}-{SPAN}-0١",
    ],
)
def test_what_is_no_trace_context_begins_a_new_trace(told: object):
    assert read_trace(told) is None


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (None, ""),
        ("", ""),
        (7, ""),
        (" a=1 ,\tb=2,, ", "a=1,b=2"),
        ("A=1", ""),
        ("a", ""),
        ("a=1,b=\x01", ""),
        ("a=é", ""),
        ("a=1\r\nx: y", ""),
        ("a=" + "x" * LONGEST_STATE, ""),
        (",".join(f"a{n}=1" for n in range(MOST_MEMBERS)), ",".join(f"a{n}=1" for n in range(MOST_MEMBERS))),
        (",".join(f"a{n}=1" for n in range(MOST_MEMBERS + 1)), ""),
    ],
)
def test_of_the_state_only_what_the_standard_allows_is_passed_on(told: object, kept: str):
    found = read_trace(GOOD, told)
    assert found is not None
    assert found.state == kept
