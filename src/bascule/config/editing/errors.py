"""Why a server cannot be put into a file as it is written."""


class Unsafe(Exception):
    """What was tried could change more than was asked for. The text says why."""
