"""Questions whose answer is code: python-function."""

from __future__ import annotations

from fuzzer.history.records import Canary, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import functions
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_PARAMETERS = ("amount", "count", "depth", "height", "length", "price", "weight", "width")
_SHOWN = (("Bluebird Redwood", "amount", 42), ("Blackboard Greenhouse", "count", 17))


def python_function(rng: Draws, level: Level) -> Task:
    """Write a function of given name, parameters and docstring: one parameter after worked examples (easy), two
    (medium), or three, one with a default, under the long system message (hard).

    Code is where drafts are accepted in long runs: a token that a faulty verification let pass breaks the syntax, and a
    name, number or docstring of another request shows in an otherwise sound function.
    """
    if level == "easy":
        owner, parameter, factor = rng.name(), rng.choice(_PARAMETERS), rng.randrange(100, 1000)
        code = _easy(owner, parameter, factor)
        earlier = tuple((_ask_easy(*shown), _easy(*shown)) for shown in _SHOWN)
        ask = _ask_easy(owner, parameter, factor)
        return Task(ask=ask, answer=code, spec={"value": code}, items=(owner,), earlier=earlier)
    return _longer(rng, 2 if level == "medium" else 3)


def _ask_easy(owner: str, parameter: str, factor: int) -> str:
    head = f'def {_snake(owner)}({parameter}), docstring "{owner}", returns {parameter} * {factor}.'
    return f"{head} Write this Python function."


def _easy(owner: str, parameter: str, factor: int) -> str:
    return _code(_snake(owner), parameter, owner, f"{parameter} * {factor}")


def _longer(rng: Draws, count: int) -> Task:
    owner, code = rng.name(), canary.code(rng)
    names = rng.sample(_PARAMETERS, count)
    factor, more, default = (rng.randrange(1000, 10_000) for _ in range(3))
    docstring = f"{owner}, {code}"
    if count == 2:
        head, value = ", ".join(names), f"{names[0]} * {factor} + {names[1]}"
        with_default = ""
    else:
        head, value = (
            f"{names[0]}, {names[1]}, {names[2]}={default}",
            f"({names[0]} + {factor}) * {names[1]} - {names[2]} * {more}",
        )
        with_default = f" Only {names[2]} has a default: {default}."
    said = _code(_snake(owner), head, docstring, value)
    ask = (
        f"Write one Python function.\nName: {_snake(owner)}\nParameters: {', '.join(names)}\nDocstring: {docstring}\n"
        f"Returns: {value}\nIt does nothing else.{with_default} Reply with the code only."
    )
    return Task(
        ask=ask,
        answer=said,
        spec={"value": said},
        items=(owner,),
        codes=(Canary(channel="user", text=code),),
        elicits=("user",),
        framed=False,
    )


def _code(name: str, parameters: str, docstring: str, value: str) -> str:
    return f'def {name}({parameters}):\n    """{docstring}"""\n    return {value}'


def _snake(owner: str) -> str:
    return owner.lower().replace(" ", "_")


FAMILIES = (
    Family(
        "python-function", "write a function of given name and docstring", "broken syntax, another request's names",
        python_function, functions.function, {"easy": 3, "medium": 2, "hard": 2},
    ),
)  # fmt: skip
