"""The operator's word and the lock, put together for the catalog."""

from bascule.catalog.judgement import Judge, ServerJudge
from bascule.catalog.pinning.lock import Lock
from bascule.config.model.runtime_config import ServerConfig
from bascule.policy.exposure import Exposure
from bascule.policy.permissions import ServerWord


def judge_of(server: ServerConfig, exposure: Exposure, lock: Lock) -> Judge:
    """Judges the tools of one server by what holds now."""
    word = ServerWord(server.permissions, server.trust)
    return ServerJudge(server.name, lock, exposure.permits, word.permissions)
