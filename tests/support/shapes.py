"""Whether what a command printed is just what its shape says: every field, no other, each of its type."""

from typing import Any

import msgspec

from bascule.records.audit.records import Record


def misfit(printed: Any, *shapes: Any) -> str:
    """Why a value is of none of these shapes. Nothing, where it is of one."""
    reasons = [_misfit(printed, shape) for shape in shapes]
    return "" if "" in reasons else "; ".join(reasons)


def _misfit(printed: Any, shape: Any) -> str:
    name = getattr(shape, "__name__", str(shape))
    try:
        read = msgspec.convert(printed, shape, strict=True)
    except msgspec.ValidationError as error:
        return f"{name}: {error}"
    # A field that the shape does not have is left out when it is read.
    return "" if msgspec.to_builtins(read) == printed else f"{name}: {_beside(msgspec.to_builtins(read), printed)}"


def _beside(read: Any, printed: Any, where: str = "$") -> str:
    """The first field that is printed and not declared."""
    match read, printed:
        case dict(), dict():
            for key in printed:
                if key not in read:
                    return f"{where}.{key} is printed, and not declared"
                if read[key] != printed[key]:
                    return _beside(read[key], printed[key], f"{where}.{key}")
        case list(), list():
            for number, (one, other) in enumerate(zip(read, printed, strict=True)):
                if one != other:
                    return _beside(one, other, f"{where}[{number}]")
        case _:
            pass
    return f"{where} is {printed!r}, which reads as {read!r}"


def record_misfit(record: dict[str, Any]) -> str:
    """The same of a record of the audit log: its kind says which fields it may have."""
    told = {name: value for name, value in record.items() if name != "writer"}
    kinds = {kind.__struct_config__.tag: kind for kind in every_kind()}
    if record.get("kind") not in kinds or "writer" not in record:
        return f"no record: {record}"
    return misfit(told, kinds[record["kind"]])


def every_kind(of: type[Record] = Record) -> list[type[Record]]:
    return [kind for direct in of.__subclasses__() for kind in (direct, *every_kind(direct))]
