"""The pages on the command line and on ``specfuzz.toml``, made from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from docs.markdown import prose, table
from fuzzer.cli.app import app
from fuzzer.cli.init import STARTER
from fuzzer.configuration import FIELDS
from fuzzer.options import KEYS
from fuzzer.soak.options import KEYS as SOAK_KEYS

_ENDPOINT = {
    "name": "what reports call it; the table's own name, where it has one",
    "url": "its address, with or without `/v1`; needed",
    "model": "the model id; else the one that is served",
    "api_key_env": "the environment variable that holds its key",
    "headers": "a table of headers to send",
    "engine": "the engine; else it is found out",
    "lm_head": "the precision of its output head",
    "ca_file": "certificates to trust besides the system's",
}


@cache
def root() -> TyperGroup:
    """The command line as typer builds it."""
    group = typer.main.get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError(f"the command line is a {type(group).__name__}, not a group of commands")
    return group


def cli() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield from prose(
        "# Command line",
        "`specfuzz COMMAND --help` says the same. What is wrong with an argument is said in one line on stderr that "
        "names it, with exit status 2.",
    )
    yield from _commands(root(), "specfuzz")


def _commands(group: TyperGroup, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        yield from prose(f"## {path} {name}", *_paragraphs(command.help or ""))
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}")
            continue
        arguments = [each for each in command.params if isinstance(each, TyperArgument)]
        options = [each for each in command.params if isinstance(each, TyperOption)]
        yield from ("```", " ".join((path, name, "[OPTIONS]", *map(_metavar, arguments))), "```", "")
        yield from (f"- {_argument(each)}" for each in arguments)
        yield from (f"- {_option(each)}" for each in options)
        yield ""
        yield from prose(*filter(None, (command.epilog,)))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        said = " ".join(paragraph.split())
        command = said.removeprefix("For example: ")
        yield said if command == said else f"For example: `{command}`"


def _argument(each: TyperArgument) -> str:
    return f"`{_metavar(each)}`: {each.help or ''}{_default(each.default)}"


def _option(each: TyperOption) -> str:
    flags = " / ".join((*each.opts, *each.secondary_opts))
    shown = flags if each.is_flag else f"{flags} {_metavar(each)}"
    return f"`{shown}`: {each.help or ''}{_default(each.default)}"


def _default(value: object) -> str:
    return (
        f" Default: `{value}`." if isinstance(value, str | int | float | Path) and not isinstance(value, bool) else ""
    )


def _metavar(each: TyperArgument | TyperOption) -> str:
    """What stands for the value; typer's own choice for a type changes with its version."""
    if each.metavar is not None or each.name is None:
        return each.metavar or "VALUE"
    if isinstance(each.default, Path):
        return "PATH"
    return "N" if isinstance(each.default, int) else each.name.upper()


def configuration() -> Iterator[str]:
    """The keys of ``specfuzz.toml``."""
    gate = root().commands["gate"]
    helps = {each.name: each.help or "" for each in gate.params if isinstance(each, TyperOption)}
    yield from prose(
        "# specfuzz.toml",
        "`specfuzz gate --config specfuzz.toml` reads options from a TOML file; what stands on the command line wins. "
        "`specfuzz init` writes the commented file below. Keys are the long options' names, with `-` or `_`; options "
        "that may be repeated take a list. An unknown key is an error.",
    )
    yield from table(("key", "what"), ((f"`{key.replace('_', '-')}`", helps.get(key, "")) for key in sorted(KEYS)))
    yield from prose(
        "## Endpoints as tables",
        "`[candidate]` and `[reference]`, or `[candidate.NAME]` and `[reference.NAME]` where there are several. What a "
        "table does not say is taken from the option of the same name.",
    )
    yield from table(("key", "what"), ((f"`{field}`", _ENDPOINT.get(field, "")) for field in FIELDS))
    soak = root().commands["soak"]
    helps = {each.name: each.help or "" for each in soak.params if isinstance(each, TyperOption)}
    yield from prose(
        "## The table of a soak",
        "`[soak]` holds what only `specfuzz soak` reads; it takes all else from the keys above, but for a gate's size "
        "and end.",
    )
    yield from table(("key", "what"), ((f"`{key.replace('_', '-')}`", helps.get(key, "")) for key in SOAK_KEYS))
    yield from prose(
        "## Variables",
        "`${NAME}` in a text is replaced from the environment, `$$` is a dollar sign. A variable that is not set is an "
        "error that names it.",
        "## What `specfuzz init` writes",
    )
    yield from ("```toml", *STARTER.rstrip("\n").split("\n"), "```")
