"""Key-value state of an agent session for the program's own JSON values, rolled back if a call fails."""

from collections.abc import Iterator, MutableMapping
from threading import Lock
from typing import Any

import msgspec

from bascule.core.errors import UsageError
from bascule.core.undo.stack import Layers
from bascule.core.undo.transaction import current_transaction

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


class SessionState(MutableMapping[str, Any]):
    """Lives as long as the runtime. A value is kept as it was when it was put in, and each look gives a copy of it:
    what is changed without being put in again is not changed here."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._layers: Layers[str, bytes | None] = Layers()
        """What a name meant before; None where it meant nothing."""
        self._lock = Lock()
        """What a call has changed may be undone in another thread."""

    def __getitem__(self, name: str) -> Any:
        return _decode(self._values[name])

    def __setitem__(self, name: str, value: Any) -> None:
        try:
            encoded = _encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"the state cannot keep {name!r}: {error}", fix="keep values of JSON: texts, numbers, lists, objects"
            ) from error
        with self._lock:
            self._about_to_change(name)
            self._values[name] = encoded

    def __delitem__(self, name: str) -> None:
        with self._lock:
            if name not in self._values:
                raise KeyError(name)
            self._about_to_change(name)
            del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return id(self)

    def _about_to_change(self, name: str) -> None:
        transaction = current_transaction()
        if transaction is None:
            self._layers.settle(name)
            return
        part = transaction.part(self, lambda: _Changes(self))
        if not self._layers.on_top(part, name):
            self._layers.keep(part, name, self._values.get(name))

    def commit(self, changes: "_Changes") -> None:
        with self._lock:
            self._layers.commit(changes)

    def rollback(self, changes: "_Changes") -> None:
        with self._lock:
            for name, original in self._layers.rollback(changes)[0].items():
                if original is None:
                    self._values.pop(name, None)
                else:
                    self._values[name] = original


class _Changes:
    """What one call has changed."""

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def commit(self) -> None:
        self._state.commit(self)

    def rollback(self) -> None:
        self._state.rollback(self)
