"""Every key of this version has its sentence, and no other has."""

from bascule.config.loading.key_table import SERVER_KEYS, SERVER_WORDS, TOP_KEYS, TOP_WORDS


def test_every_key_that_can_be_used_is_described():
    for keys, words in ((SERVER_KEYS, SERVER_WORDS), (TOP_KEYS, TOP_WORDS)):
        assert [*words] == [name for name, key in keys.items() if key.available]
        assert all(text.endswith((".", "…")) and len(text) < 120 for text in words.values())
