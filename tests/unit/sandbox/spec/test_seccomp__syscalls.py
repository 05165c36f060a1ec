"""The list of refused calls."""

from bascule.sandbox.spec.seccomp import NUMBERS, REFUSED, RefusedCall


def test_every_refused_call_has_a_number_somewhere_and_every_number_is_used() -> None:
    names = {call.name for call in REFUSED}
    assert names == NUMBERS["x86_64"].keys()
    assert names >= NUMBERS["aarch64"].keys()


def test_one_architecture_s_numbers_are_all_different() -> None:
    for numbers in NUMBERS.values():
        assert len(set(numbers.values())) == len(numbers)


def test_calls_that_hide_what_they_do_are_refused_without_conditions() -> None:
    for name in ("clone3", "io_uring_setup", "unshare", "setns", "mount", "ptrace", "bpf", "open_by_handle_at"):
        assert [call.conditions for call in REFUSED if call.name == name] == [()]


def test_the_same_rule_stands_there_once() -> None:
    assert len(set(REFUSED)) == len(REFUSED)
    assert RefusedCall("mount") in REFUSED
