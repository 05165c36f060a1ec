"""Texts taken apart into terms."""

import pytest

from bascule.catalog.search.tokenizer import asked_terms, joined, kin_of, stem, terms_of


@pytest.mark.parametrize(
    "words",
    [
        "issue issues",
        "query queries querying queried",
        "create creates created creating creation",
        "box boxes",
        "search searches searching searched",
        "run runs running",
        "file files",
        "delete deleting deletion",
        "list lists listing listed",
    ],
)
def test_forms_of_one_word_come_to_one_stem(words: str):
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("word", ["dns", "status", "this", "class", "s3", "ring", "string", "red", "7", "née"])
def test_what_only_looks_like_an_ending_stays(word: str):
    assert stem(word) == word


def test_names_are_taken_apart_however_they_are_written():
    assert terms_of("create_issue") == ["creat", "issu"]
    assert terms_of("createIssue") == ["createissu", "creat", "issu"]
    assert terms_of("getHTTPResponse") == ["gethttprespons", "get", "http", "respons"]
    assert terms_of("s3.putObject-v2")[:3] == ["s3", "s", "3"]


def test_a_question_tells_of_each_word_what_it_is_whole_and_in_parts():
    assert [*asked_terms("GitHub issues")] == [("github", ("git", "hub")), ("issu", ())]


def test_accents_make_no_other_word_and_scripts_without_spaces_are_read_in_pairs():
    assert terms_of("Café") == terms_of("cafe")
    assert terms_of("検索する") == ["検索する", "検索", "索す", "する"]
    assert terms_of("поиск файлов") == ["поиск", "фаилов"]


def test_names_are_joined_alike():
    assert {joined(name) for name in ("Create Issue", "create_issue", "createIssue", "CREATE-ISSUE")} == {"createissue"}


def test_kin_is_mutual_and_nobody_is_their_own():
    assert stem("remove") in kin_of(stem("delete"))
    assert stem("delete") in kin_of(stem("remove"))
    assert stem("delete") not in kin_of(stem("delete"))
    assert kin_of("bascul") == {}


def test_a_shorter_word_for_the_same_is_told_from_one_that_is_only_kin():
    assert kin_of(stem("repo")) == {stem("repository"): True}
    assert kin_of(stem("move")) == {stem("rename"): False}


def test_a_word_without_end_is_no_word():
    assert max(map(len, terms_of("x" * 10_000))) == 64
