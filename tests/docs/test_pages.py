"""The pages agree with the code: what is generated is fresh, and every command, option and setting in them exists."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest
import yaml
from typer.core import TyperGroup, TyperOption

from docs import generate, words
from docs.commands import configuration, root
from fuzzer.finding import Certainty
from fuzzer.options import KEYS
from fuzzer.summarise import EXIT
from fuzzer.summary import CellStatus, ReasonCode, VerdictName
from tests.cli.conftest import specfuzz

ROOT = Path(__file__).parents[2]
WRITTEN = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "reference"),
]
_FENCED = re.compile(r"^([ ]*)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:^|[ /`'])specfuzz ([a-z][^`\n]*)", re.MULTILINE)
_LINK = re.compile(r"\]\((https?:[^)]*)\)")


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in these languages."""
    found = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [code for _, language, code in found if language in languages]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- what is generated


def test_generated_pages_are_fresh() -> None:
    stale = [name(path) for path, content in generate.files() if path.read_text(encoding="utf-8") != content]
    assert stale == [], "run: python -m docs.generate"
    assert {path.name for path in generate.FOLDER.iterdir()} == set(generate.PAGES)


def test_an_example_is_filled_in_from_its_file() -> None:
    block = '```python title="docs/examples/schedule.py"\nold\n```\n'
    filled = generate.with_examples(f"before\n\n{block}\nafter\n")
    assert (ROOT / "docs" / "examples" / "schedule.py").read_text(encoding="utf-8") in filled
    assert filled.startswith("before\n\n```python title=")
    assert filled.endswith("```\n\nafter\n")


def test_the_reference_explains_every_word_that_a_summary_uses() -> None:
    assert set(words.VERDICTS) == set(get_args(VerdictName)) == set(EXIT)
    assert set(words.REASONS) >= set(get_args(ReasonCode))
    assert set(words.CELL_STATUSES) == set(get_args(CellStatus))
    assert set(words.CERTAINTIES) == set(get_args(Certainty))


def test_every_key_of_the_configuration_is_explained() -> None:
    rows = [line for line in configuration() if line.startswith("| `")]
    assert len(rows) > len(KEYS)
    assert [row for row in rows if row.endswith("|  |")] == []


# --- commands


def commands(text: str) -> Iterator[list[str]]:
    """The words of every specfuzz command in a text."""
    for found in _COMMAND.findall(text.replace("\\\n", " ")):
        yield re.split(r" (?:&&|\||>|#) ", found)[0].split()


def unknown(given: Sequence[str]) -> list[str]:
    """What of a command the command line does not know."""
    command: Any = root()
    rest = list(given)
    while isinstance(command, TyperGroup):
        if not rest or rest[0] not in command.commands:
            return rest[:1]
        command = command.commands[rest.pop(0)]
    options = [each for each in command.params if isinstance(each, TyperOption)]
    known = {"--help", *(flag for each in options for flag in (*each.opts, *each.secondary_opts))}
    flags = [word.strip("[],.'\"").partition("=")[0] for word in rest]
    return [flag for flag in flags if flag.startswith("--") and flag not in known]


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert unknown(["gate", "--candidate", "URL", "--budgett", "5m"]) == ["--budgett"]
    assert unknown(["gaet"]) == ["gaet"]
    assert unknown(["corpus", "check", "FILE", "--seed", "1"]) == []
    assert list(commands("a `specfuzz plan` and\n.venv/bin/specfuzz gate \\\n  --budget 5m && rm x")) == [
        ["plan"],
        ["gate", "--budget", "5m"],
    ]


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_every_command_of_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = "\n".join(block for block in blocks(page, "", "bash", "sh", "yaml", "groovy", "toml"))
    inline = "\n".join(f"`{span}`" for span in re.findall(r"`(specfuzz [^`]+)`", _FENCED.sub("", text)))
    wrong = {" ".join(given): unknown(given) for given in commands(f"{shown}\n{inline}")}
    assert {given: flags for given, flags in wrong.items() if flags} == {}


def lists(value: object) -> Iterator[list[str]]:
    """The arguments of specfuzz in a YAML document: of containers, and of the action."""
    if isinstance(value, list):
        if value[:1] == ["gate"]:
            yield value
        for each in value:
            yield from lists(each)
    elif isinstance(value, dict):
        if isinstance(value.get("arguments"), str):
            yield ["gate", *value["arguments"].splitlines()]
        for each in value.values():
            yield from lists(each)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "howto").glob("*.md")), ids=name)
def test_yaml_of_a_page_is_valid_and_its_arguments_exist(page: Path) -> None:
    for block in blocks(page, "yaml"):
        for given in lists(yaml.safe_load(block)):
            assert unknown(given) == []


def test_the_pages_for_build_servers_show_arguments() -> None:
    shown = [given for page in WRITTEN for block in blocks(page, "yaml") for given in lists(yaml.safe_load(block))]
    assert len(shown) >= 3


# --- what commands print


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("tutorial.md", "gate --candidate http://127.0.0.1:8001 --reference http://127.0.0.1:8000 --dry-run"),
        ("explanation/clean-run.md", "plan"),
    ],
)
def test_a_page_shows_what_the_command_prints(page: str, command: str) -> None:
    printed = specfuzz(*command.split()).out
    shown = blocks(ROOT / "docs" / page, "text")
    assert [block for block in shown if block in printed], printed


# --- settings and code


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_toml_of_a_page_is_valid_and_its_keys_exist(page: Path) -> None:
    for block in blocks(page, "toml"):
        keys = {key.replace("-", "_") for key in tomllib.loads(block)}
        assert keys == {"waiver"} or keys <= KEYS


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_python_of_a_page_can_be_read(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def test_the_script_that_reads_a_summary_runs() -> None:
    (script,) = blocks(ROOT / "docs" / "howto" / "read-a-report.md", "python")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "closed-loop" in done.stdout


# --- links


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_external_links_are_whole_and_encrypted(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        parts = urlsplit(link)
        assert (parts.scheme, bool(parts.hostname), " " in link, "\n" in link) == ("https", True, False, False), link
