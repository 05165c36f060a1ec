"""What was asked: the model of a server, the loaders that produce it, variables, and secrets that never print."""

from bascule.config.agent_env import load_agent_mcp_configs
from bascule.config.auth import AuthSettings, Claims, KeySet, PublicKey, SharedSecret
from bascule.config.egress import Egress
from bascule.config.find_server import client_server_named, kit_server_named
from bascule.config.kit_server import KitServer
from bascule.config.load import load_file
from bascule.config.model import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.oauth import OAuthSettings
from bascule.config.presets import PRESETS, Preset
from bascule.config.sandbox import HostPath, Sandbox
from bascule.config.secret import Secret
from bascule.config.telemetry import TelemetrySettings
from bascule.config.transport import (
    ContainerTransport,
    InProcessTransport,
    NativeTransport,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.upkeep import Heartbeat, Limits, Restart

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
