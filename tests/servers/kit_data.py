"""A server of the kit with data of its own: a database, and the files of whoever asks."""

import sqlite3
import sys
from pathlib import Path

from bascule.kit import DataSensitivity, ToolPermission, context_result, create_mcp_server, tool_permission
from bascule.kit.connectors import FilesConnector, SqlConnector, SqlSource

DATABASE = Path(sys.argv[1])
PAYROLL = SqlSource("payroll", DataSensitivity.CONFIDENTIAL, path=str(DATABASE), tables={"salaries"})

mcp = create_mcp_server("data")


def fill() -> None:
    with sqlite3.connect(DATABASE) as db:
        db.execute("CREATE TABLE salaries (name TEXT, amount INTEGER)")
        db.execute("CREATE TABLE hidden (canary TEXT)")
        db.executemany("INSERT INTO salaries VALUES (?, ?)", [(f"person {n}", 1000 + n) for n in range(500)])
    db.close()


@mcp.tool
@tool_permission(ToolPermission.READ)
@context_result("sql_query")
def ask(sql: str) -> list[dict[str, object]]:
    """Ask the payroll."""
    rows = SqlConnector.query(PAYROLL, sql)
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.rows]


@mcp.tool
@tool_permission(ToolPermission.WRITE)
def save(path: str, text: str) -> str:
    """Save a text."""
    FilesConnector.write(path, text)
    return path


@mcp.tool
@tool_permission(ToolPermission.READ)
def show(path: str) -> str:
    """Show a text."""
    return FilesConnector.read(path).text


if __name__ == "__main__":
    if not DATABASE.exists():
        fill()
    mcp.run()
