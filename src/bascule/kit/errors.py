"""What a tool raises to say what should become of a failed call. Anything else it raises is a mistake of the server, of
which the client learns nothing but that it happened."""


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
