from collections.abc import Generator
from pathlib import Path

import pytest

from bascule.config.state_dir import LANE_VARIABLE as LANE
from bascule.core.errors import NotIdentified, Refused, StoreError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.admission import Admission
from bascule.kit.levels.files import KeptLevels
from support.kit import ALICE, BOB, CONNECT, READ, WRITE, on_behalf_of

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET


@pytest.fixture
def levels(tmp_path: Path) -> Generator[KeptLevels]:
    kept = KeptLevels(tmp_path)
    yield kept
    kept.close()


async def admitted(admission: Admission, *permissions: object, who: Principal | None = ALICE) -> bool:
    with on_behalf_of(who):
        try:
            await admission.admit("send", frozenset(permissions))  # pyright: ignore[reportArgumentType]
        except Refused:
            return False
    return True


async def test_who_has_seen_nothing_private_may_do_everything(levels: KeptLevels) -> None:
    admission = Admission(levels, {})

    assert await admitted(admission, READ)
    assert await admitted(admission, WRITE)
    assert await admitted(admission, READ, WRITE, CONNECT)


@pytest.mark.parametrize("level", [CONFIDENTIAL, SECRET])
async def test_from_confidential_on_nothing_reaches_out(levels: KeptLevels, level: DataSensitivity) -> None:
    admission = Admission(levels, {})
    levels.add(ALICE, "patients", level)

    assert await admitted(admission, READ, WRITE)
    assert not await admitted(admission, CONNECT)
    assert not await admitted(admission, READ, CONNECT)
    assert await admitted(admission, CONNECT, who=BOB)


async def test_below_confidential_it_may_reach_out(levels: KeptLevels) -> None:
    levels.add(ALICE, "timetable", DataSensitivity.PUBLIC)

    assert await admitted(Admission(levels, {}), CONNECT)


async def test_a_refusal_says_what_and_what_to_do(levels: KeptLevels) -> None:
    levels.add(ALICE, "patients", SECRET)

    with on_behalf_of(ALICE), pytest.raises(Refused, match=r"send reaches out.*SECRET") as caught:
        await Admission(levels, {}).admit("send", frozenset({CONNECT}))
    assert (caught.value.rule, bool(caught.value.fix)) == ("no_way_out", True)


@pytest.mark.parametrize(
    ("environ", "may"),
    [
        ({LANE: "sealed"}, True),
        ({LANE: "proxied"}, True),
        ({LANE: "open"}, False),
        ({LANE: ""}, False),
        ({LANE: "SEALED"}, False),
        ({LANE: "sealed "}, False),
        ({LANE: "airtight"}, False),
        ({}, False),
    ],
)
async def test_only_a_lane_that_is_known_to_confine_lets_it_be_called(
    levels: KeptLevels, environ: dict[str, str], may: bool
) -> None:
    levels.add(ALICE, "patients", SECRET)

    assert await admitted(Admission(levels, environ), CONNECT) is may


async def test_a_raise_by_another_process_counts_at_once(levels: KeptLevels, tmp_path: Path) -> None:
    admission = Admission(levels, {})
    assert await admitted(admission, CONNECT)
    other = KeptLevels(tmp_path)
    other.add(ALICE, "patients", CONFIDENTIAL)
    other.close()

    assert not await admitted(admission, CONNECT)


async def test_for_nobody_nothing_reaches_out_and_nothing_is_labelled(levels: KeptLevels) -> None:
    admission = Admission(levels, {})

    with pytest.raises(NotIdentified):
        await admission.admit("send", frozenset({CONNECT}))
    await admission.admit("look", frozenset({READ}))
    assert admission.seen() is DataSensitivity.PUBLIC


@pytest.mark.parametrize("permission", [READ, WRITE, CONNECT])
async def test_a_level_that_cannot_be_read_is_a_refusal_that_shows_no_folder(
    tmp_path: Path, permission: object
) -> None:
    (tmp_path / "bascule.db").write_bytes(b"no database at all" * 100)
    levels = KeptLevels(tmp_path)

    with on_behalf_of(ALICE), pytest.raises(Refused, match="cannot be told") as caught:
        await Admission(levels, {LANE: "sealed"}).admit("send", frozenset({permission}))  # pyright: ignore[reportArgumentType]
    assert str(tmp_path) not in f"{caught.value.message} {caught.value.fix} {caught.value.evidence}"
    assert isinstance(caught.value.__cause__, StoreError)
    levels.close()


async def test_who_is_known_and_was_not_looked_at_is_labelled_as_secret(levels: KeptLevels) -> None:
    admission = Admission(levels, {})

    with on_behalf_of(ALICE):
        assert admission.seen() is SECRET
        await admission.admit("look", frozenset({READ}))
        assert admission.seen() is DataSensitivity.PUBLIC
        levels.add(ALICE, "patients", CONFIDENTIAL)
        assert admission.seen() is CONFIDENTIAL


def test_without_more_it_reads_the_lane_from_the_environment(
    levels: KeptLevels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANE, "sealed")
    assert Admission(levels)._confined
    monkeypatch.delenv(LANE)
    assert not Admission(levels)._confined
