"""Corpora written for the tests: twenty rows of each format, all of it our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROWS = 20
_TOWNS = (
    "Altmark", "Birkholm", "Corvane", "Dunmere", "Eskwick", "Falgard", "Gronstead", "Hollin", "Isendal", "Jarrow",
    "Kelda", "Lunmoor", "Merrick", "Norrow", "Ostvale", "Penhold", "Quarne", "Rivelin", "Stormark", "Tarnfell",
)  # fmt: skip
_THINGS = ("lamps", "ropes", "jars", "bells", "stones", "coins", "maps", "keys", "cups", "nets")


def own(at: int) -> dict[str, Any]:
    """A sum."""
    ask = f"A cart leaves {_TOWNS[at]} with {at + 13} crates and picks up {2 * at + 5} more. How many crates has it?"
    return {
        "id": f"own-{at}",
        "messages": [{"role": "user", "content": f"{ask} Reply with the number only."}],
        "answer": str(3 * at + 18),
        "check": "number",
    }


def ifeval(at: int) -> dict[str, Any]:
    """A line to copy, under instructions that can be verified; the simulated model can do it."""
    thing = _THINGS[at % 10]
    return {
        "key": 100 + at,
        "prompt": f"Copy this line without commas: The {thing} of {_TOWNS[at]} are known for {at + 2} miles around.",
        "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
        "kwargs": [{}, {"keywords": [thing, _TOWNS[at]]}],
    }


def gsm8k(at: int) -> dict[str, Any]:
    """A sum with a worked answer; the simulated model can do it."""
    left, right = at + 4, 6 * at + 18
    return {
        "question": f"Ada of {_TOWNS[at]} counts her {_THINGS[at % 10]} in two rooms. What is {left} + {right}?",
        "answer": f"Both rooms hold {left} + {right} = <<{left}+{right}={left + right}>>{left + right}.\n"
        f"#### {left + right}",
    }


def mt_bench(at: int) -> dict[str, Any]:
    """Two turns, every second time with a reference answer to the first."""
    row: dict[str, Any] = {
        "question_id": 200 + at,
        "category": "writing",
        "turns": [f"Write a short notice for the ferry at {_TOWNS[at]}.", "Make it half as long."],
    }
    return {**row, "reference": [f"The ferry at {_TOWNS[at]} runs every hour.", ""]} if at % 2 else row


def sharegpt(at: int) -> dict[str, Any]:
    """Three turns of a person's, with the model's answers."""
    turns = [
        ("human", f"What should I pack for {_TOWNS[at]}?"),
        ("gpt", "A warm coat and good shoes."),
        ("human", f"And how do I carry {at + 2} {_THINGS[at % 10]}?"),
        ("gpt", "In two bags."),
        ("human", "Thanks. Which of the bags goes first?"),
        ("gpt", "The heavy one."),
    ]
    return {"id": f"talk_{at}", "conversations": [{"from": who, "value": what} for who, what in turns]}


def messages(at: int) -> dict[str, Any]:
    """A system message, a history, a question, and the answer that the log holds."""
    return {
        "messages": [
            {"role": "system", "content": "You help travellers. Be brief."},
            {"role": "user", "content": f"Is there a bridge at {_TOWNS[at]}?"},
            {"role": "assistant", "content": "Yes, a stone one."},
            {"role": "user", "content": [{"type": "text", "text": f"How would I cross with {at + 3} carts?"}]},
            {"role": "assistant", "content": "One by one."},
        ]
    }


def request(at: int) -> dict[str, Any]:
    """A traffic log's row: the body of a request with tools, below another field."""
    parameters = {"type": "object", "properties": {"town" if at % 2 else "place": {"type": "string"}}}
    tool = {
        "type": "function",
        "function": {"name": "tide", "description": "Tells the tide.", "parameters": parameters},
    }
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": f'{{"town": "{_TOWNS[at]}"}}'}}
    said = [
        {"role": "user", "content": f"When is high tide at {_TOWNS[at]}?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{at}:15"},
    ]
    body = {"model": "some-model", "messages": said, "temperature": 0.8, "max_tokens": 60 + at, "tools": [tool]}
    return {"time": 1760000000 + at, "request": {"method": "POST", "body": body}, "status": 200}


def prompt(at: int) -> dict[str, Any]:
    """vLLM's custom data set."""
    return {"prompt": f"Describe the market of {_TOWNS[at]}.", "output_tokens": 32 + at}


def humaneval(at: int) -> dict[str, Any]:
    """The head of a function."""
    name = f"add_{_THINGS[at % 10]}_{at}"
    return {
        "task_id": f"Own/{at}",
        "prompt": f'def {name}(count: int) -> int:\n    """The count with {at} more."""\n',
        "entry_point": name,
        "canonical_solution": f"    return count + {at}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {at + 1}\n",
    }


def mbpp(at: int) -> dict[str, Any]:
    """The description of a function, and tests that call it."""
    name = f"times_{at}"
    return {
        "task_id": 300 + at,
        "text": f"Write a function {name} that multiplies a number by {at}.",
        "code": f"def {name}(number):\n    return number * {at}\n",
        "test_list": [f"assert {name}(2) == {2 * at}", f"assert {name}(0) == 0"],
    }


MAKERS: Mapping[str, Any] = {
    "own": own,
    "ifeval": ifeval,
    "gsm8k": gsm8k,
    "mt-bench": mt_bench,
    "sharegpt": sharegpt,
    "messages": messages,
    "prompt": prompt,
    "humaneval": humaneval,
    "mbpp": mbpp,
}


def rows(name: str, count: int = ROWS) -> list[dict[str, Any]]:
    """Rows of a format."""
    maker = request if name == "request" else MAKERS[name]
    return [maker(at) for at in range(count)]


def write(path: Path, *lines: object) -> Path:
    """A file of JSON lines; texts are written as they are."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path
