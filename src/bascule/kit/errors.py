"""Tool errors that state a consequence: retry, or end the run. Any other exception is a bug of the server, and the
client receives no details of it."""


class ToolRetryError(Exception):
    """The model can correct itself and call again. The words are for the model. `code` is for a program."""

    def __init__(self, message: str, *, code: str | int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class ToolFatalError(Exception):
    """No further call can help: the whole run should end. Clients end it only for servers that they trust with that."""

    def __init__(self, message: str, *, code: str | int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
