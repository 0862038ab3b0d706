"""Code is checked by parsing alone: it must define the function that was asked for, and nothing in it is run."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Message, Prompt
from fuzzer.prompts.checks import entry_point
from fuzzer.prompts.checks.judge import judge
from fuzzer.prompts.grade import Grade

STUB = 'def double(count: int) -> int:\n    """Twice the count."""\n'
WHOLE = f"{STUB}    return 2 * count\n"


def grade(reply: str, *, name: str = "double", stub: str = STUB, finish: str = "stop") -> Grade:
    prompt = Prompt(
        id="p0",
        family="corpus/test",
        level="hard",
        messages=(Message(role="user", content=STUB),),
        answer=WHOLE,
        spec={"entry_point": name, "stub": stub},
    )
    return judge(prompt, reply, finish, entry_point.extract)


@pytest.mark.parametrize(
    ("want", "reply"),
    [
        ("right", WHOLE),
        ("right", f"```python\n{WHOLE}```"),
        ("right", "    return 2 * count\n"),
        ("right", "return 2 * count"),
        ("right", "```python\n    return 2 * count\n```"),
        ("right", "double = lambda count: 2 * count"),
        ("right", "import math\n\n\n@math.cache\nasync def double(count):\n    return await count"),
        ("verbose", f"Here it is:\n\n{WHOLE}\nIt adds the count to itself."),
        (
            "verbose",
            f"Sure!\n```python\n{WHOLE}```\nIt doubles the count. For example:\n```python\nprint(double(2))\n```",
        ),
        ("verbose", f"First:\n```python\nimport os\n```\nThen:\n```\n{WHOLE}```"),
        ("verbose", f"<think>def triple(x): return 3 * x</think>\nHere:\n{WHOLE}\nDone."),
        ("right", f"class Solution:\n{''.join(f'    {line}' for line in WHOLE.splitlines(keepends=True))}"),
    ],
)
def test_a_definition_in_whatever_dress_is_right(want: str, reply: str) -> None:
    assert grade(reply).value == want


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("another-question", "def triple(count):\n    return 3 * count\n"),
        ("another-question", "```python\ndef is_prime(n):\n    return n > 1\n```"),
        ("no-answer", STUB),
        ("wrong-value", "def double(count):\n    pass\n"),
        ("wrong-value", "```python\ndef double(count:\n    return 2 * count\n```"),
        ("wrong-value", "def int(x):\n    return x"),
        ("wrong-value", "42"),
        ("no-answer", "The function takes a count and gives back twice as much of it. " * 4),
        ("empty", " \n"),
        ("refusal", "I'm sorry, but I can't write code."),
    ],
)
def test_what_defines_no_such_function_is_not_right(kind: str, reply: str) -> None:
    assert grade(reply).sub_kind == kind


def test_code_that_was_cut_off_is_a_runaway() -> None:
    assert grade(f"```python\n{WHOLE}    return (1 +", finish="length").sub_kind == "runaway"


def test_without_a_name_any_function_will_do() -> None:
    assert grade("def triple(count):\n    return 3 * count\n", name="", stub="").passed
    assert not grade("print('no function')", name="", stub="").passed


def test_nothing_is_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert grade(f"print('run')\nraise SystemExit(3)\n{WHOLE}").value == "right"
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "reply",
    [
        "def double(x): return " + "-" * 1_000_000 + "1",
        "def double(x): return " + "(" * 1_000_000,
        "def double(x): return " + "{1:" * 300_000,
        "def double(x): return x" + ".y" * 9_000,
        "def double(x): return " + "9" * 1_000_000,
        "".join("\n" + " " * depth + "if x:" for depth in range(1_000)),
        "```python\n" * 100_000,
        "```\ndef double(x):\n```\n" * 40_000,
        "def double(x): return '\\d'\0",
        "def double(x): return f'" + "{" * 10_000,
        "def f(x):\n return )\n" * 50_000,
    ],
)
def test_a_hostile_reply_is_no_right_answer_and_raises_nothing(reply: str) -> None:
    assert not grade(reply).passed


def test_odd_escapes_warn_nobody() -> None:
    assert grade("def double(x):\n    return '\\d'\n").passed
