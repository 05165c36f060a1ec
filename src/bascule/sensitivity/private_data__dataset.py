"""What a private dataset may be called."""

from bascule.core.errors import UsageError
from bascule.core.principal import MAX_ID


def check_dataset(name: str) -> None:
    """Raises `UsageError` for what is no name: it stands in receipts, and on the screen of whoever reads them."""
    if not 1 <= len(name) <= MAX_ID or not name.isprintable():
        raise UsageError(
            f"the name of a dataset is 1 to {MAX_ID} printable characters, not {name[:40]!r}",
            fix="name it as its owner does, in a few words",
        )
