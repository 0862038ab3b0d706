"""Public benchmarks' formats: IFEval, GSM8K, MT-Bench, HumanEval, MBPP."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Annotated

from pydantic import Field, JsonValue

from fuzzer.history.records import Message
from fuzzer.prompts.checks import entry_point, ifeval
from fuzzer.prompts.corpora.formats.base import Format, Shape, signs
from fuzzer.prompts.corpora.formats.chats import name_of, single
from fuzzer.prompts.corpora.formats.own import is_number, plain_number
from fuzzer.prompts.corpora.rows import Row, RowError

_FINAL = re.compile(r"####[ \t]*\$?([^\n]*)")


class IfEval(Shape):
    """A prompt with instructions that can be verified."""

    prompt: str
    instruction_id_list: Annotated[tuple[str, ...], Field(min_length=1)]
    arguments: Annotated[tuple[dict[str, JsonValue] | None, ...], Field(alias="kwargs")] = ()
    key: str | int | None = None

    def row(self) -> Row:
        """The prompt, checked by its instructions; arguments that are null are taken as not given."""
        given: list[dict[str, JsonValue]] = [
            {name: each for name, each in (some or {}).items() if each is not None} for some in self.arguments
        ]
        if len(given) != len(self.instruction_id_list):
            ids = len(self.instruction_id_list)
            raise RowError(
                ("kwargs", f"has {len(given)} entries for {ids} instructions; give each its own, {{}} for none")
            )
        asked = list(zip(self.instruction_id_list, given, strict=True))
        if wrong := list(_unverifiable(asked)):
            raise RowError(*wrong)
        listed: list[JsonValue] = [{"id": name, "kwargs": dict(some)} for name, some in asked]
        return single(IFEVAL.name, self.prompt, check="ifeval", spec={"instructions": listed}, id=name_of(self.key))


def _unverifiable(asked: list[tuple[str, dict[str, JsonValue]]]) -> Iterator[tuple[str, str]]:
    for place, (name, given) in enumerate(asked):
        try:
            ifeval.validate(name, given)
        except ValueError as error:
            field = "kwargs" if name in ifeval.SUPPORTED else "instruction_id_list"
            yield f"{field}.{place}", str(error)


class Gsm8k(Shape):
    """A question with a worked answer that ends in #### and a number."""

    question: str
    answer: str
    id: str | int | None = None

    def row(self) -> Row:
        """The question, checked by its number."""
        final = _FINAL.findall(self.answer)
        number = plain_number(final[-1]).removesuffix(".") if final else ""
        if not final:
            raise RowError(("answer", "has no #### before the number that it ends with"))
        if not is_number(number):
            raise RowError(("answer", f"what stands after #### is not a number: {final[-1][:40]!r}"))
        spec: dict[str, JsonValue] = {"value": number}
        return single(
            GSM8K.name, self.question, field="question", answer=number, check="number", spec=spec, id=name_of(self.id)
        )


class MtBench(Shape):
    """Turns of a conversation; a later one can be asked where the data has a reference answer to those before it."""

    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    question_id: str | int | None = None
    reference: tuple[str | None, ...] | None = None

    def row(self) -> Row:
        """The turns, with reference answers between them."""
        if empty := [(f"turns.{place}", "is empty") for place, turn in enumerate(self.turns) if not turn.strip()]:
            raise RowError(*empty)
        known = takewhile(lambda answer: answer is not None and answer.strip(), self.reference or ())
        said = [Message(role="user", content=self.turns[0])]
        for answer, turn in zip(known, self.turns[1:], strict=False):
            said += [Message(role="assistant", content=answer or ""), Message(role="user", content=turn)]
        asks = tuple(range(0, len(said), 2))
        return Row(format=MT_BENCH.name, messages=tuple(said), asks=asks, id=name_of(self.question_id))


class HumanEval(Shape):
    """The head of a Python function, to be completed."""

    prompt: str
    entry_point: str
    task_id: str | int | None = None
    canonical_solution: str | None = None

    def row(self) -> Row:
        """The head, checked by parsing: the function must be defined."""
        if not self.entry_point.isidentifier():
            raise RowError(("entry_point", f"{self.entry_point[:40]!r} is no name of a function"))
        answer = self.prompt + (self.canonical_solution or "")
        if self.canonical_solution and not entry_point.defines(answer, self.entry_point):
            raise RowError(("canonical_solution", f"behind the prompt, it does not define {self.entry_point}"))
        spec: dict[str, JsonValue] = {"entry_point": self.entry_point, "stub": self.prompt}
        return single(
            HUMAN_EVAL.name,
            self.prompt,
            answer=answer if self.canonical_solution else "",
            check="entry-point",
            spec=spec,
            id=name_of(self.task_id),
        )


class Mbpp(Shape):
    """A description of a Python function, with tests that call it."""

    text: str | None = None
    prompt: str | None = None
    code: str
    test_list: Annotated[tuple[str, ...], Field(min_length=1)]
    task_id: str | int | None = None

    def row(self) -> Row:
        """The description, checked by parsing; the function's name is asked for only where the description gives it."""
        text, field = (self.text, "text") if self.text is not None else (self.prompt, "prompt")
        if text is None:
            raise RowError(("text", "is missing"))
        defined = entry_point.functions(self.code)
        if not defined:
            raise RowError(("code", "is no Python that defines a function"))
        called = next((name for name in _called(self.test_list) if name in defined), None)
        if called is None:
            raise RowError(
                ("test_list", f"no test calls a function that the code defines ({', '.join(sorted(defined))})")
            )
        spec: dict[str, JsonValue] = {"entry_point": called if re.search(rf"\b{called}\b", text) else "", "stub": ""}
        return single(
            MBPP.name, text, field=field, answer=self.code, check="entry-point", spec=spec, id=name_of(self.task_id)
        )


def _called(tests: tuple[str, ...]) -> Iterator[str]:
    for test in tests:
        tree = entry_point.parsed(test)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id


IFEVAL = Format(
    name="ifeval",
    summary="IFEval: prompt, instruction_id_list, kwargs; checked by the instructions",
    shape=IfEval,
    signs=signs("instruction_id_list", "key prompt kwargs"),
    example='{"key": 1, "prompt": "Name a river, without commas.", "instruction_id_list": ["punctuation:no_comma"], '
    '"kwargs": [{}]}',
)
MT_BENCH = Format(
    name="mt-bench",
    summary="MT-Bench: turns; no right answer is known",
    shape=MtBench,
    signs=signs("turns"),
    example='{"question_id": 1, "category": "writing", "turns": ["Write a line.", "Now in red."]}',
)
HUMAN_EVAL = Format(
    name="humaneval",
    summary="HumanEval: prompt and entry_point; checked by parsing, never run",
    shape=HumanEval,
    signs=signs("prompt entry_point", "prompt canonical_solution"),
    example='{"task_id": "a/1", "prompt": "def add(a, b):\\n", "entry_point": "add"}',
)
MBPP = Format(
    name="mbpp",
    summary="MBPP: text or prompt, code, test_list; checked by parsing, never run",
    shape=Mbpp,
    signs=signs("test_list", "task_id code"),
    example='{"task_id": 1, "text": "Write add(a, b).", "code": "def add(a, b): return a + b", '
    '"test_list": ["assert add(1, 2) == 3"]}',
)
GSM8K = Format(
    name="gsm8k",
    summary="GSM8K: question, and an answer that ends in #### and a number",
    shape=Gsm8k,
    signs=signs("question"),
    example='{"question": "What is 2 + 3?", "answer": "2 + 3 = 5 #### 5"}',
)
