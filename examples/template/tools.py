"""The tools: plain functions, each of which says what it does. How they are served is none of their business."""

import socket
from typing import Any

from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolFatalError,
    ToolPermission,
    ToolRetryError,
    context_result,
    get_user_id,
    tool_permission,
)
from bascule.kit.connectors import FilesConnector

ORDERS: list[dict[str, Any]] = [
    {"number": number, "customer": f"customer {number % 7}", "total": 5 * number} for number in range(1, 501)
]
SALARIES = {"ada": 5200, "bob": 4100}
OPEN_YEAR = 2026


@tool_permission(ToolPermission.READ)
def read_file(path: str) -> str:
    """Read a text of the workspace."""
    return FilesConnector.read(path).text


@tool_permission(ToolPermission.WRITE)
def write_file(path: str, text: str) -> str:
    """Write a text into the workspace."""
    FilesConnector.write(path, text)
    return f"{get_user_id()} has written {path}"


@tool_permission(ToolPermission.READ)
def order(number: int) -> dict[str, Any]:
    """One order."""
    if not 1 <= number <= len(ORDERS):
        # The words are for the model, which can correct itself. The code is for programs.
        raise ToolRetryError(f"there is no order {number}; there are 1 to {len(ORDERS)}", code="no_such_order")
    return ORDERS[number - 1]


@context_result()
@tool_permission(ToolPermission.READ)
def orders() -> list[dict[str, Any]]:
    """All orders. They are many: a model reads a preview, and the whole is in the workspace."""
    return ORDERS


@tool_permission(ToolPermission.WRITE)
def book(number: int, year: int) -> str:
    """Book an order in the accounts of a year."""
    if year != OPEN_YEAR:
        # No other call can mend that: an agent that books there has been set up wrongly.
        raise ToolFatalError(f"the accounts of {year} are closed")
    return f"order {number} is booked in {year}"


@tool_permission(ToolPermission.READ)
def salaries() -> dict[str, int]:
    """What everybody earns."""
    # Before anything is given back: from here on this agent session is private, for good.
    PrivateData().add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
    return SALARIES


@tool_permission(ToolPermission.CONNECT)
def look_up(host: str) -> list[str]:
    """The addresses of a host. Whoever is asked for them learns the name, so this reaches out."""
    try:
        found = socket.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ToolRetryError(f"{host} cannot be looked up: {error}") from error
    return sorted({str(address[0]) for *_, address in found})


TOOLS = (read_file, write_file, order, orders, book, salaries, look_up)
