"""Corpora: questions from a file, with one right answer each.

Shipped ones go by name, a user's own by path (JSON lines or Parquet, loaded through ``datasets``). A corpus is finite,
and its answers are ordinary words, so it is never used to say whose answer bled.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from fuzzer.errors import UsageError
from fuzzer.history.records import Canary, Level, Message, Prompt
from fuzzer.prompts import canary
from fuzzer.prompts.checks import listing, single, texts
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.checks.judge import judge
from fuzzer.prompts.grade import Grade
from fuzzer.prompts.reply import Reply

PREFIX = "corpus/"  # what the family of a corpus prompt begins with

_PACKAGE = Path(__file__).resolve().parent.parent
_EXAMPLE = '{"messages": [{"role": "user", "content": "What is 2 + 3?"}], "answer": "5", "check": "number"}'
_CHECKS = {"exact": texts.exact, "number": single.number, "list": listing.items}
_SHORT_ANSWER = 80  # characters: an assistant's message up to this length is an earlier turn's answer


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    role: Literal["system", "user", "assistant"]
    content: Annotated[str, Field(min_length=1)]


class Row(BaseModel):
    """One question of a corpus: the messages, the right answer as text, and how to compare."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    messages: Annotated[tuple[_Said, ...], Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]
    check: Literal["exact", "number", "list"]
    level: Level = "hard"

    @field_validator("level", mode="before")
    @classmethod
    def _level_left_out(cls, value: object) -> object:
        return "hard" if value is None else value

    @model_validator(mode="after")
    def _answerable(self) -> Row:
        if self.messages[-1].role != "user":
            raise ValueError("the last message is not the user's")
        if any(said.role == "system" for said in self.messages[1:]):
            raise ValueError("a system message does not stand first")
        if self.check == "list" and len(self.items) < 2:
            raise ValueError(f"a list has two items or more, separated by commas; the answer is {self.answer!r}")
        if self.check == "number" and not _is_number(self.answer):
            raise ValueError(f"the answer {self.answer!r} is not a number")
        if self.check == "exact" and "\n" in self.answer.strip():
            raise ValueError("an exact answer is one line")
        return self

    @property
    def items(self) -> list[str]:
        """The answer as a list."""
        separator = ";" if ";" in self.answer else ","
        return [item.strip() for item in self.answer.split(separator) if item.strip()]

    @property
    def value(self) -> JsonValue:
        """The answer in the form that its check compares."""
        if self.check == "list":
            return list(self.items)
        return self.answer.strip().replace(",", "") if self.check == "number" else self.answer.strip()


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip().replace(",", "")).is_finite()
    except InvalidOperation:
        return False


def load(corpus: str) -> tuple[str, tuple[Row, ...]]:
    """A corpus by name or path: what it is called, and its rows. UsageError says which line is bad, and why."""
    path = _find(corpus)
    rows = tuple(_rows(path))
    if not rows:
        raise UsageError(f"--corpus {corpus}: {path} holds no rows; a row looks like {_EXAMPLE}")
    return path.stem, rows


def shipped() -> tuple[str, ...]:
    """The names of the corpora that come with specfuzz."""
    return tuple(sorted(path.stem for path in _home().glob("*.jsonl")))


def prompt(name: str, row: Row, rng: random.Random, prompt_id: str) -> Prompt:
    """A row as a prompt, with a ticket woven in as the first line of the last message."""
    ticket = canary.mark(rng)
    *before, last = (Message(role=said.role, content=said.content) for said in row.messages)
    asked = Message(role="user", content=f"Ticket: {ticket}\n{last.content}")
    earlier = [said.content for said in before if said.role == "assistant" and len(said.content) <= _SHORT_ANSWER]
    decoys: list[JsonValue] = [text for text in earlier if text.casefold() != row.answer.casefold()]
    return Prompt(
        id=prompt_id,
        family=f"{PREFIX}{name}",
        level=row.level,
        messages=(*before, asked),
        answer=row.answer,
        canaries=(Canary(channel="user", text=ticket),),
        spec={"check": row.check, "value": row.value, "frame": [], "decoys": decoys},
        attributable=False,
    )


def check(prompt: Prompt, text: str, finish_reason: str | None = None) -> Grade:
    """What an answer to a corpus prompt is worth, judged from the prompt alone."""

    def extract(prompt: Prompt, reply: Reply) -> Found:
        return _CHECKS[str(prompt.spec["check"])](prompt, reply)

    return judge(prompt, text, finish_reason, extract)


def _home() -> Path:
    installed = _PACKAGE / "_corpora"
    return installed if installed.is_dir() else _PACKAGE.parent / "corpora"


def _find(corpus: str) -> Path:
    path = Path(corpus)
    if path.suffix in (".jsonl", ".parquet") or os.sep in corpus:
        if not path.is_file():
            raise UsageError(f"--corpus {corpus}: there is no such file")
        return path
    if corpus not in shipped():
        known = ", ".join(shipped())
        raise UsageError(f"--corpus {corpus!r} is unknown; give {known}, or a path such as mine.jsonl")
    return _home() / f"{corpus}.jsonl"


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        yield from (_row(path, f"row {number}", raw) for number, raw in enumerate(_load(path), 1))
        return
    lines = [number for number, _ in _lines(path)]
    if not lines:
        return
    try:
        loaded = _load(path)
    except UsageError:
        for number, raw in _lines(path):
            _row(path, f"line {number}", _object(path, number, raw))
        raise
    if len(loaded) != len(lines):
        raise UsageError(f"--corpus: {path} must hold one JSON object a line; a row looks like {_EXAMPLE}")
    yield from (_row(path, f"line {number}", raw) for number, raw in zip(lines, loaded, strict=True))


def _load(path: Path) -> list[dict[str, Any]]:
    import datasets

    quiet = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    reader = datasets.Dataset.from_parquet if path.suffix == ".parquet" else datasets.Dataset.from_json
    try:
        with tempfile.TemporaryDirectory(prefix="specfuzz-corpus-") as cache:
            return list(reader(str(path), cache_dir=cache, keep_in_memory=True))
    except (datasets.exceptions.DatasetGenerationError, ValueError, OSError) as error:
        reason = str(error.__cause__ or error).split("\n")[0]
        raise UsageError(f"--corpus: {path} cannot be read: {reason}; a row looks like {_EXAMPLE}") from error
    finally:
        if not quiet:
            datasets.enable_progress_bars()


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"--corpus: {path} is not UTF-8: {error.reason} at byte {error.start}") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--corpus: {path}, line {number}: not JSON ({error}); a row looks like {_EXAMPLE}") from error
    if not isinstance(raw, dict):
        raise UsageError(f"--corpus: {path}, line {number}: not a JSON object; a row looks like {_EXAMPLE}")
    return raw


def _row(path: Path, where: str, raw: dict[str, Any]) -> Row:
    try:
        return Row.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "row"
        reason = re.sub(r"^Value error, ", "", first["msg"])
        raise UsageError(f"--corpus: {path}, {where}: {field}: {reason}; a row looks like {_EXAMPLE}") from error
