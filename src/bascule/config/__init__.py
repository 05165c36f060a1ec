"""Configuration: model, loading, editing and import of config files, variables, and secrets that never print."""

from bascule.config.find_server import client_server_named, kit_server_named
from bascule.config.loading.agent_env import load_agent_mcp_configs
from bascule.config.loading.load import load_file
from bascule.config.model.auth import AuthSettings, Claims, KeySet, PublicKey, SharedSecret
from bascule.config.model.egress import Egress
from bascule.config.model.kit_server import KitServer
from bascule.config.model.link_settings import Heartbeat, Limits, Restart
from bascule.config.model.oauth import OAuthSettings
from bascule.config.model.result_presets import PRESETS, Preset
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.config.model.telemetry import TelemetrySettings
from bascule.config.model.transport import (
    ContainerTransport,
    InProcessTransport,
    NativeTransport,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.secret import Secret

__all__ = [
    "PRESETS",
    "AuthSettings",
    "Claims",
    "ContainerTransport",
    "Egress",
    "Heartbeat",
    "HostPath",
    "InProcessTransport",
    "KeySet",
    "KitServer",
    "Limits",
    "NativeTransport",
    "OAuthSettings",
    "Preset",
    "PublicKey",
    "Restart",
    "RuntimeConfig",
    "Sandbox",
    "Secret",
    "ServerConfig",
    "SharedSecret",
    "SseTransport",
    "StdioTransport",
    "StreamableHttpTransport",
    "TelemetrySettings",
    "Timeouts",
    "UnixSocketTransport",
    "WebSocketTransport",
    "client_server_named",
    "kit_server_named",
    "load_agent_mcp_configs",
    "load_file",
]
