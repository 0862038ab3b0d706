"""Replies as models give them, to questions whose answer is a Python function."""

from __future__ import annotations

import warnings

import pytest

from fuzzer.history.records import Prompt
from fuzzer.prompts import check
from tests.prompts.strategies import KINDS, make

EASY = make("python-function", "easy", 1)
MEDIUM = make("python-function", "medium", 1)
HARD = make("python-function", "hard", 1)
OTHER = make("python-function", "hard", 2)
HEAD, DOCSTRING, RETURN = HARD.answer.split("\n")
NAME = HEAD[4 : HEAD.index("(")]
FIRST, SECOND, THIRD = HEAD[HEAD.index("(") + 1 : -2].split(", ")
VALUE = RETURN.removeprefix("    return ")
FACTOR = VALUE.split(" + ")[1].split(")")[0]
LAST = VALUE.rsplit(" ", 1)[1]
TEXT = DOCSTRING.strip().strip('"')


def verdict(prompt: Prompt, text: str, finish_reason: str | None = None) -> str:
    grade = check(prompt, text, finish_reason=finish_reason)
    return grade.sub_kind or grade.value


def body(*lines: str) -> str:
    return "\n".join((HEAD, DOCSTRING, *(f"    {line}" for line in lines)))


def with_docstring(text: str) -> str:
    return f"{HEAD}\n{text}\n{RETURN}"


@pytest.mark.parametrize("prompt", [EASY, MEDIUM, HARD])
@pytest.mark.parametrize(
    "form",
    ["```python\n{}\n```", "```py\n{}\n```", "```\n{}\n```\n", "Answer: {}", "{}\n\n", "`{}`", '"{}"', "{}."],
)
def test_a_function_is_right_in_whatever_dress(prompt: Prompt, form: str) -> None:
    assert verdict(prompt, form.format(prompt.answer)) == "right"


@pytest.mark.parametrize(
    "said",
    [
        HARD.answer.replace("    ", "\t"),
        HARD.answer.replace("    ", "  "),
        "\n".join(f"    {line}" for line in HARD.answer.split("\n")),
        f"{HEAD[:-1]} -> int:\n{DOCSTRING}\n{RETURN}",
        HARD.answer.replace(f"({FIRST}, ", f"({FIRST}: int, "),
        HARD.answer.replace(f"({FIRST}, {SECOND}, ", f"(\n    {FIRST},\n    {SECOND},\n    ").replace(
            "):\n", "\n):\n", 1
        ),
        with_docstring(f"    '''{TEXT}'''"),
        with_docstring(f'    """{TEXT}."""'),
        with_docstring(f'    """\n    {TEXT}\n    """'),
        with_docstring(f'    "{TEXT}"'),
        body(f"return {SECOND} * ({FACTOR} + {FIRST}) - {LAST} * {THIRD.split('=')[0]}"),
        body(f"result = {VALUE}", "return result"),
        body(f"a: int = {FIRST} + {FACTOR}", f"return a * {SECOND} - {THIRD.split('=')[0]} * {LAST}"),
        body(f"result = ({FIRST} + {FACTOR}) * {SECOND}", f"result -= {THIRD.split('=')[0]} * {LAST}", "return result"),
        body(f"return ({VALUE})"),
        body(f"return {VALUE}  # as asked"),
    ],
)
def test_another_layout_of_the_same_is_right(said: str) -> None:
    assert verdict(HARD, said) == "right"


@pytest.mark.parametrize(
    "said",
    [
        f"Here is the function:\n\n```python\n{HARD.answer}\n```\n\nIt adds, multiplies and returns.",
        f"```python\n{HARD.answer}\n\nprint({NAME}(1, 2))\n```",
        f"import math\n\n\n{HARD.answer}",
        f"```python\n{HARD.answer}\n```\n\nTo test it:\n\n```python\ndef test_it():\n    assert {NAME}(1, 2) > 0\n```",
        f"{HEAD}\n    return 0\n\nWait, that is not right.\n\n{HARD.answer}",
        with_docstring(f'    """{TEXT}\n\n    Args:\n        {FIRST}: the first.\n    """'),
    ],
)
def test_words_around_a_function_are_verbose(said: str) -> None:
    assert verdict(HARD, said) == "verbose"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("dropped-constraint", f"{HEAD}\n{RETURN}"),
        ("dropped-constraint", with_docstring("    # " + TEXT)),
        ("wrong-value", with_docstring(f'    """{TEXT[:-1]}"""')),
        ("wrong-value", with_docstring(f'    """{TEXT} and more"""')),
        ("wrong-value", HARD.answer.replace(FACTOR, str(int(FACTOR) + 1))),
        ("wrong-value", HARD.answer.replace(FACTOR, FACTOR[:-1])),
        ("wrong-value", HARD.answer.replace(f"({FIRST}, {SECOND}, ", f"({SECOND}, {FIRST}, ")),
        ("wrong-value", HARD.answer.replace(f", {THIRD})", f", {THIRD.split('=')[0]})")),
        ("wrong-value", HARD.answer.replace(f", {THIRD})", f", {THIRD}, *more)")),
        ("wrong-value", HARD.answer.replace(f"def {NAME}", f"def {NAME}s")),
        ("wrong-value", body(f"return ({FIRST} + {FACTOR}) * {SECOND}")),
        ("wrong-value", body(f"return {VALUE}".replace(" - ", " + "))),
        ("wrong-value", body("return None")),
        ("wrong-value", body(f"result = {VALUE}")),
        ("wrong-value", body(f"return ({VALUE}")),
        ("wrong-value", HARD.answer.replace("    return", "return")),
        ("wrong-value", HARD.answer.replace("):\n", ")\n", 1)),
        ("another-question", OTHER.answer),
        ("another-question", f"{HARD.answer}\n\n\n{OTHER.answer}"),
        ("another-question", HARD.answer.replace(TEXT, OTHER.items[0])),
        ("another-question", HARD.answer.replace(NAME, OTHER.items[0].lower().replace(" ", "_"))),
        ("wrong-value", "You can use a lambda."),
        ("refusal", "I'm sorry, but I cannot write code."),
        ("no-answer", "Let me explain what a function is. " * 10),
    ],
)
def test_what_is_wrong_with_a_function_is_told(want: str, said: str) -> None:
    assert verdict(HARD, said) == want


def test_the_worked_examples_function_is_an_earlier_turns_answer() -> None:
    earlier = EASY.messages[2].content
    assert verdict(EASY, earlier) == "wrong-last-message"
    assert verdict(EASY, f"```python\n{earlier}\n```") == "wrong-last-message"


def test_a_function_that_was_cut_off_is_a_runaway() -> None:
    assert verdict(HARD, HARD.answer[:-4], "length") == "runaway"


@pytest.mark.parametrize(
    "said",
    [
        f"{HEAD}\n    return " + "-" * 3900 + "1",
        f"{HEAD}\n    return " + "(" * 2000,
        f"{HEAD}\n    return " + "+".join("1" * 1900),
        f"{HEAD}\n" + "    a = a + a\n" * 250 + "    return a",
        f"{HEAD}\n    return {'9' * 3000}",
        "def f(a):\n" * 20_000,
        "def f(\n" * 30_000,
        "def a():\n  def b():\n" * 10_000,
        f"{HEAD}\n" + "    x = 1\n" * 30_000,
        f"{HARD.answer[:60]}\x00{HARD.answer[60:]}",
        f'{HEAD}\n    """\\d {TEXT}"""\n    return 1if 2else 3',
    ],
)
def test_hostile_code_is_never_parsed_to_death_and_never_runs(said: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check(HARD, said).value == "wrong"


def test_nothing_is_executed(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(HARD, f"{HARD.answer}\n\nprint('run')\nraise SystemExit") == "verbose"
    assert capsys.readouterr().out == ""


def test_the_code_is_valid_python_and_says_what_the_question_says() -> None:
    for kind, seed in ((kind, seed) for kind in KINDS if kind[0] == "python-function" for seed in range(20)):
        prompt = make(*kind, seed)
        compile(prompt.answer, "answer", "exec")
        assert prompt.answer.rsplit("return ", 1)[1] in prompt.messages[-1].content
