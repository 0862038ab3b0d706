"""Answers that are Python code: they must parse and define a function; nothing is ever run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from fuzzer.history.records import Prompt
from fuzzer.prompts.checks.found import Found, missing, right, wrong
from fuzzer.prompts.reply import Reply

LONGEST = 20_000  # characters of code that are parsed
DEEPEST = 40  # brackets within each other
_FENCES = 8  # blocks that are looked at, the last ones
_CUTS = 4  # times that text behind the code is cut off
_FENCE = re.compile(r"^[ \t]{0,4}```[^\n`]{0,20}\n(.*?)(?:^[ \t]{0,4}```|\Z)", re.DOTALL | re.MULTILINE)
_START = re.compile(r"^(?:async def|def|class|from|import|@)\b", re.MULTILINE)
_OPEN, _CLOSED = "([{", ")]}"


def extract(prompt: Prompt, reply: Reply) -> Found:
    """Right where the reply's code defines ``spec["entry_point"]`` ("": any function), with a body of its own.

    The code may stand in a fence, bare among other words, or be only the rest of the head in ``spec["stub"]``.
    """
    name, stub = str(prompt.spec["entry_point"]), str(prompt.spec.get("stub", ""))
    said: set[str] = set()
    looks_like_code = False
    for code, alone in _codes(reply.text, stub):
        looks_like_code = True
        found = functions(code)
        if name in found or (found and not name):
            return right(alone)
        said |= found
    if said:
        kind = "wrong-value" if any(each in prompt.text for each in said) else "another-question"
        return wrong(kind, f"a definition of {', '.join(sorted(said))}", f"of {name}")
    if looks_like_code:
        return Found("wrong", "wrong-value", "no code that parses and defines a function", guessed=True)
    return missing(prompt, reply)


def defines(code: str, name: str) -> bool:
    """Whether the code parses and defines a function of that name, with a body."""
    return name in functions(code)


def functions(code: str) -> set[str]:
    """The functions that a text defines, if it is Python; those that only have a docstring or ``pass`` do not count."""
    tree = parsed(code)
    nodes = ast.walk(tree) if tree else ()
    defined = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_does, node.body))
    }
    lambdas = {
        target.id
        for node in (tree.body if tree else ())
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return defined | lambdas


def parsed(code: str) -> ast.Module | None:
    """The text's syntax tree, or None if it is no Python, or too long or too deep to be looked at."""
    tree = _parse(code)
    return tree if isinstance(tree, ast.Module) else None


def _parse(code: str) -> ast.Module | int:
    """The syntax tree, or the line from which on the text is no Python."""
    if len(code) > LONGEST or _depth(code) > DEEPEST:
        return 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except SyntaxError as error:
            return error.lineno or 1
        except (ValueError, RecursionError, MemoryError):
            return 1


def _does(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Pass) and not (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _depth(code: str) -> int:
    """An upper bound of how deep brackets stand within each other."""
    depth = deepest = 0
    for character in code:
        if character in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSED:
            depth = max(0, depth - 1)
    return deepest


def _codes(text: str, stub: str) -> Iterator[tuple[str, bool]]:
    """Everything in a reply that could be the code, each with whether nothing else is said."""
    blocks = list(_FENCE.finditer(text))
    if blocks:
        rest = _FENCE.sub("", text)
        alone = len(blocks) == 1 and not any(map(str.isalnum, rest))
        codes = [match[1] for match in blocks[-_FENCES:]]
        yield from ((code, alone) for code in reversed(codes))
        yield "\n".join(codes), False
        yield from ((stub + code, alone) for code in codes[-1:] if stub)
        return
    if functions(text):
        yield text, True
    elif start := _START.search(text):
        bare = text[start.start() : start.start() + LONGEST]
        yield from ((code, False) for code in _cut(bare))
    if stub and text[:1] in (" ", "\t"):
        yield f"{stub}{text.rstrip()}\n", True
    elif stub and text.startswith("return "):
        yield f"{stub}    {text.rstrip()}\n", True


def _cut(code: str) -> Iterator[str]:
    """The code, and the same without the lines from where it stops being code."""
    for _ in range(_CUTS):
        yield code
        line = _parse(code)
        if isinstance(line, ast.Module) or line <= 1:
            return
        code = "\n".join(code.split("\n")[: line - 1])
