from pathlib import Path

import pytest

from bascule.bridges.weakincentives.shared_runtime import shared, shared_by
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import SyncRuntime
from support.runtime import good, obeying
from support.servers import pids

ALICE, BOB = Principal("alice", "1"), Principal("bob", "1")


def a_runtime(log: Path) -> Runtime:
    return Runtime.from_servers({"work": obeying(log)})


def test_all_who_name_a_runtime_share_it(tmp_path: Path):
    runtime = a_runtime(tmp_path / "log")
    home = SyncRuntime(a_runtime(tmp_path / "log"))
    found, other = shared(runtime), shared(home)

    assert shared(runtime) is found
    assert shared(found.home) is found
    assert (other.home, shared(home.runtime)) == (home, other)
    assert other is not found


def test_it_runs_until_the_last_has_left(tmp_path: Path):
    found = shared(a_runtime(tmp_path / "log"))
    one, two = found.enter(ALICE), found.enter(BOB)
    one.leave()
    one.leave()
    assert (one.over, two.over, found.home.is_open) == (True, False, True)
    good(two.session.call("work_act", {}))
    two.leave()

    assert not found.home.is_open


def test_the_links_of_a_principal_close_with_its_last_visit(tmp_path: Path):
    log = tmp_path / "log"
    found = shared(a_runtime(log))
    with found.home:
        one, again, other = found.enter(ALICE), found.enter(ALICE), found.enter(BOB)
        good(one.session.call("work_act", {}))
        one.leave()
        good(again.session.call("work_act", {}))
        assert len(pids(log)) == 1
        again.leave()
        back = found.enter(ALICE)
        good(back.session.call("work_act", {}))
        back.leave()
        other.leave()

    assert len(pids(log)) == 2


def test_a_visit_is_over_when_somebody_closes_the_runtime_for_all(tmp_path: Path):
    found = shared(a_runtime(tmp_path / "log"))
    visit = found.enter(ALICE)
    found.home.close()

    assert visit.over
    visit.leave()
    again = found.enter(ALICE)
    assert not again.over
    again.leave()


def test_servers_make_a_runtime_of_their_own(tmp_path: Path):
    server = obeying(tmp_path / "log")
    one, other = shared_by([server], None), shared_by([server], None)

    assert one is not other
    assert dict(one.home.runtime.config.servers) == {"work": server}
    with pytest.raises(UsageError):
        shared_by([], None)
    with pytest.raises(UsageError):
        shared_by([server, server], None)
    with pytest.raises(UsageError):
        shared_by([obeying(tmp_path / "other")], one.home)
    assert shared_by([server], one.home) is one
