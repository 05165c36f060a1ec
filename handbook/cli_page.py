"""Reference page of the command line, generated from its parser: each command with its synopsis, options, examples and
exit codes."""

from collections.abc import Iterator

from bascule.cli.commands.help import outline
from bascule.cli.json_output.setup import CommandShape, ExampleShape, SettingShape
from bascule.cli.parser.command_table import EXIT_CODES, build_parser

HEAD = """# Commands

<!-- Made by `python -m handbook write` from src/bascule/cli/parser/command_table.py and the modules that it names. -->

Every command of `bascule`, as the parser has it. `bascule help COMMAND` shows the same at a terminal, and `bascule help --json` to a program. With `--json` a command prints
JSON in [a shape that is kept stable](json.md). Your [shell](../completion.md) completes the names of commands, options, servers and tools.

Without `--config`, the config is the one found in the folder you are in: `bascule.yaml`, `.mcp.json`, `.vscode/mcp.json` or `mcp.json`. Without `--user` and `--session`, what is done is done on behalf of
the user of this machine, in the agent session `cli`; the command says so.

## Exit codes

| code | meaning |
|---|---|
{codes}

What a code says of one command in particular stands with that command.
"""

HELP = "--help"


def cli_page() -> str:
    whole = outline(build_parser())
    commands = {command["name"].split()[-1]: command for command in whole["commands"]}
    codes = "\n".join(f"| {code} | {told} |" for code, told in EXIT_CODES.items())
    groups = (
        part for title, names in whole["groups"].items() for part in _group(title, [commands[name] for name in names])
    )
    return HEAD.format(codes=codes) + "\n" + "\n".join(groups)


def _group(title: str, commands: list[CommandShape]) -> Iterator[str]:
    rows = [f"| [`{each['name']}`](#{_anchor(each)}) | {_cell(each['summary'])} |" for each in commands]
    yield "\n".join([f"## {title.capitalize()}", "", "| command | |", "|---|---|", *rows]) + "\n"
    for each in commands:
        yield _command(each, "###")
        yield from (_command(deed, "####") for deed in each["commands"])


def _command(each: CommandShape, heading: str) -> str:
    summary = each["summary"]
    parts = [f"{heading} {each['name']}", f"{summary[0].upper()}{summary[1:]}.", f"```text\n{synopsis(each)}\n```"]
    parts += _settings("argument", each["arguments"])
    parts += _settings("option", [option for option in each["options"] if HELP not in option["names"]])
    if each["exits"]:
        rows = [f"| {code} | {_cell(told)} |" for code, told in each["exits"].items()]
        parts.append("\n".join(["| exit code | |", "|---|---|", *rows]))
    parts.append("\n".join(["```sh", *map(_example, each["examples"]), "```"]))
    return "\n\n".join(parts) + "\n"


def synopsis(each: CommandShape) -> str:
    """A command with all that it needs. What may be left out is told by the tables, but for arguments."""
    needed = [f"{option['names'][-1]} {option['value']}" for option in each["options"] if option["required"]]
    words = [each["name"], *needed, "[OPTION …]", *map(_argument, each["arguments"])]
    if each["commands"]:
        names = "|".join(deed["name"].split()[-1] for deed in each["commands"])
        words.append(names if each["needs_command"] else f"[{names}]")
    return " ".join(words)


def _argument(argument: SettingShape) -> str:
    shown = argument["names"][0] + (" …" if argument["many"] else "")
    return shown if argument["required"] else f"[{shown}]"


def _settings(kind: str, settings: list[SettingShape]) -> list[str]:
    if not settings:
        return []
    rows = [f"| {_names(each)} | {_told(each)} |" for each in settings]
    return ["\n".join([f"| {kind} | |", "|---|---|", *rows])]


def _names(each: SettingShape) -> str:
    value = each["value"]
    shown = [name if value in {None, name} else f"{name} {value}" for name in each["names"]]
    return ", ".join(f"`{_cell(name)}`" for name in shown)


def _told(each: SettingShape) -> str:
    """With what the usage line would show of it: whether it is needed, and whether it may be given again."""
    option = each["names"][0].startswith("-")
    more = [
        *(["needed"] if option and each["required"] else []),
        *(["may be given more than once"] if option and each["many"] else []),
    ]
    return _cell(each["help"]) + (f" ({', '.join(more)})" if more else "")


def _example(example: ExampleShape) -> str:
    return f"{example['command']}  # {example['for']}" if example["for"] else example["command"]


def _anchor(each: CommandShape) -> str:
    return str(each["name"]).replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
