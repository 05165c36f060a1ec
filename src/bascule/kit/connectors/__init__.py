"""Ways to data for tools: confined to the workspace of the request, or to a source that the server's author names."""

from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.http import HttpConnector, HttpReply
from bascule.kit.connectors.http_source import HttpSource
from bascule.kit.connectors.openapi import OpenApiConnector
from bascule.kit.connectors.source import FileSource
from bascule.kit.connectors.sql import SqlConnector
from bascule.kit.connectors.sql_rows import Rows
from bascule.kit.connectors.sql_source import SqlLimits, SqlSource

__all__ = [
    "Connector",
    "FileSource",
    "HttpConnector",
    "HttpReply",
    "HttpSource",
    "OpenApiConnector",
    "Rows",
    "SqlConnector",
    "SqlLimits",
    "SqlSource",
]
