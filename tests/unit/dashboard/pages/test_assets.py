"""What browsers keep for ever."""

from bascule.dashboard.pages.assets import FOLDER, assets


def test_every_file_is_there_under_a_digest_of_what_it_is():
    assert assets().keys() == {path.name for path in FOLDER.iterdir()}
    assert len({asset.digest for asset in assets().values()}) == len(assets())
    assert assets()["style.css"].kind.startswith("text/css")


def test_nothing_is_loaded_from_elsewhere():
    for name, asset in assets().items():
        text = asset.data.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, name
        assert "https:" not in text, name
        assert "//" not in text.replace("// ", "").replace("//\n", ""), name
