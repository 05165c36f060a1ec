"""Import error for an optional package, with the `pip install` command of the extra that it belongs to."""


def missing(what: str, extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What to raise where a door needs a framework that is not there. Only the framework itself counts: that a package
    it needs is missing is another fault, with another remedy."""
    return ModuleNotFoundError(f"{what} is not installed: pip install 'bascule[{extra}]'", name=error.name)
