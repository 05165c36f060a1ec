"""JSON shapes of changes to the config, generated programs, error codes and the command line itself."""

from typing import Any, Literal, NotRequired, TypedDict

from bascule.config.importing.merge import Fate


class NeedShape(TypedDict):
    """A variable that the server takes."""

    name: str
    description: str
    required: bool
    secret: bool
    default: str | None
    set: bool
    """Whether it is set in this environment."""


class WarningShape(TypedDict):
    """What is worth a second look."""

    message: str
    fix: str


class AddShape(TypedDict):
    """The server that was written, or would be."""

    name: str
    file: str
    written: bool
    replaced: bool
    entry: dict[str, Any]
    """As it stands in the config."""
    needs: list[NeedShape]
    warnings: list[WarningShape]
    notes: list[str]
    other: list[str]
    """Other ways in which it could have been added."""


class FoundFileShape(TypedDict):
    """A config of another program."""

    program: str
    file: str
    problem: str | None
    """Why it was skipped."""
    servers: list[str]
    notes: list[str]


class FoundServerShape(TypedDict):
    """A server of another program, and what becomes of it."""

    name: str
    theirs: str
    """What it is called there."""
    program: str
    file: str
    fate: Fate
    why: str | None
    entry: dict[str, Any] | None
    notes: list[str]
    left_out: dict[str, str]
    """Keys that are not taken over, each with the reason."""


class MissingShape(TypedDict):
    """A variable that has to be set."""

    name: str
    set: bool
    secret: bool
    kept: bool
    """Whether it is put into `.env`."""
    servers: list[str]


class ImportShape(TypedDict):
    """All that was found, and what is written of it."""

    file: str
    written: bool
    new: bool
    """Whether there was no such file."""
    found: list[FoundFileShape]
    servers: list[FoundServerShape]
    needs: list[MissingShape]
    diff: str
    undo: str | None
    """The command that takes it back."""


class UndoneShape(TypedDict):
    """With `--undo`: what is as it was before."""

    undone: Literal[True]
    restored: list[str]
    removed: list[str]


class NewShape(TypedDict):
    """The files that were written."""

    name: str
    folder: str
    files: list[str]


class SnippetShape(TypedDict):
    """A program for a framework."""

    framework: str
    tool: str
    extra: str | None
    """The extra of the package that it needs."""
    installed: bool
    program: str


class ClientShape(TypedDict):
    """For a client: what goes into its config. VS Code has `servers` where the others have `mcpServers`."""

    mcpServers: NotRequired[dict[str, Any]]
    servers: NotRequired[dict[str, Any]]


class StoryLineShape(TypedDict):
    """One line of the story."""

    kind: Literal["agent", "good", "stop", "change", "note"]
    text: str


class StepShape(TypedDict):
    """One step of the story, as it really went."""

    name: str
    title: str
    ok: bool
    lines: list[StoryLineShape]
    facts: dict[str, Any]
    """What was measured, by its name."""
    missed: list[str]
    """What should have been and was not."""


class NextShape(TypedDict):
    """Something to type next."""

    command: str
    why: str


class DemoShape(TypedDict):
    """The whole story."""

    ok: bool
    seconds: float
    boxes: str | None
    """What the boxes were made by."""
    why: str
    """Why there are none."""
    steps: list[StepShape]
    next: list[NextShape]


class CodeShape(TypedDict):
    """An error's code."""

    code: str
    area: str
    """What it is about."""
    title: str


class ExplainedShape(CodeShape):
    """A code with its page."""

    page: str
    """As Markdown."""


class CodesShape(TypedDict):
    """Every code there is."""

    codes: list[CodeShape]


class CompletionShape(TypedDict):
    """What makes a shell complete our words."""

    shell: Literal["bash", "zsh", "fish"]
    script: str
    install: str
    """How it is made to last."""


class SettingShape(TypedDict):
    """An argument or an option."""

    names: list[str]
    value: str | None
    """What stands for its value; null, where it takes none."""
    choices: list[str] | None
    required: bool
    many: bool
    help: str


ExampleShape = TypedDict("ExampleShape", {"command": str, "for": str})


class CommandShape(TypedDict):
    """A command, with those below it."""

    name: str
    summary: str
    usage: str
    examples: list[ExampleShape]
    exits: dict[str, str]
    """What exit codes say of it in particular."""
    arguments: list[SettingShape]
    options: list[SettingShape]
    groups: dict[str, list[str]]
    needs_command: bool
    commands: list["CommandShape"]
