"""Error for a config file that cannot be edited without changing more than was asked for."""


class Unsafe(Exception):
    """What was tried could change more than was asked for. The text says why."""
