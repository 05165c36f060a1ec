"""Data connectors for tools: text, CSV, JSON, SQL, HTTP; limited to the workspace or to sources in code."""

from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.csv_files import CsvConnector
from bascule.kit.connectors.files import FilesConnector
from bascule.kit.connectors.http.connector import HttpConnector, HttpReply
from bascule.kit.connectors.http.openapi import OpenApiConnector
from bascule.kit.connectors.http.source import HttpSource
from bascule.kit.connectors.json_files import JsonConnector
from bascule.kit.connectors.source import FileSource
from bascule.kit.connectors.sql.connector import SqlConnector
from bascule.kit.connectors.sql.source import Rows, SqlLimits, SqlSource

__all__ = [
    "Connector",
    "CsvConnector",
    "FileSource",
    "FilesConnector",
    "HttpConnector",
    "HttpReply",
    "HttpSource",
    "JsonConnector",
    "OpenApiConnector",
    "Rows",
    "SqlConnector",
    "SqlLimits",
    "SqlSource",
]
