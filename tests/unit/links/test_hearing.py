from bascule.links.hearing import UNHEARD
from support.links import a_key


def test_where_nobody_hears_nothing_is_wanted():
    UNHEARD.updated(a_key(), "notes://1")
    UNHEARD.remarked(a_key(), {}, None)
    assert not UNHEARD.level(a_key())
