"""What a result says of itself: labels of private data that a server put into its `_meta`."""

from bascule.core.json_types import JsonObject, as_array, is_object
from bascule.core.sensitivity import DataSensitivity

LABELS_KEY = "dev.bascule/labels"


def labelled_level(result: JsonObject) -> DataSensitivity | None:
    """The highest level the result claims, or None where it makes no claim. An unknown label counts as SECRET: it may
    be one of a newer version, and guessing low would let data out."""
    meta = result.get("_meta")
    if meta is None:
        return None
    if not is_object(meta):
        # Whether it was meant to hold labels cannot be told.
        return DataSensitivity.SECRET
    if LABELS_KEY not in meta:
        return None
    return max((_level_of(label) for label in as_array(meta[LABELS_KEY])), default=DataSensitivity.SECRET)


def _level_of(label: object) -> DataSensitivity:
    name = str(label).upper()
    return DataSensitivity[name] if name in DataSensitivity.__members__ else DataSensitivity.SECRET
