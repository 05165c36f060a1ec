"""Questions of servers, and answers to them, as values."""

import pytest

import bascule
from bascule.core.client_features import Accept, Elicitation, Sampling
from bascule.core.principal import Principal

ALICE = Principal("alice", "s-1")


def test_a_question_cannot_be_changed_by_who_answers_it():
    question = Elicitation("files", ALICE, "Which colour?")
    with pytest.raises(AttributeError):
        question.message = "Which password?"  # pyright: ignore[reportAttributeAccessIssue] -- that it cannot is the point


def test_the_messages_of_a_sampling_are_those_that_came():
    assert Sampling("files", ALICE, {"messages": [1]}).messages == [1]
    assert list(Sampling("files", ALICE, {}).messages) == []


def test_the_values_a_callback_needs_are_public():
    assert bascule.Accept is Accept
    asked = {"Elicitation", "Sampling", "RootsAsked"}
    assert {"Accept", "Decline", "Cancel", "Sampled", "Root", "Respondent", *asked} <= set(bascule.__all__)
