"""Answers that are one Python function, compared with the right one as syntax trees; nothing is ever run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fuzzer.history.records import Prompt
from fuzzer.prompts.checks.entry_point import parsed
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, missing, right, wrong
from fuzzer.prompts.reply import Reply

_DEF = re.compile(r"(?:async[ \t]{1,4})?\bdef[ \t]{1,4}[^\W\d]\w{0,100}[ \t]{0,4}\(")
_MOST = 40  # definitions that are looked at, the last ones
_LONGEST = 4000  # characters of one
_TANGLED = 2000  # characters of a value's normal form beyond which it is no longer followed
_TAIL = " \t\n.,;:!`*\"'”"
_SWAPPABLE = (ast.Add, ast.Mult)


@dataclass(frozen=True, slots=True)
class _Function:
    """What counts of a function, at offsets ``start`` to ``end`` of a text; "" where it has no such part."""

    name: str
    parameters: tuple[str, ...]
    docstring: str
    returns: str
    start: int
    end: int


def function(prompt: Prompt, reply: Reply) -> Found:
    """The answer is the function ``spec["value"]``, in whatever layout: with its name, parameters, docstring and value.

    Type hints, names for intermediate results and swapped operands of sums and products change nothing.
    """
    wanted = next(_functions(str(prompt.spec["value"])))
    found = list(_functions(reply.text))
    if not found:
        return _nothing(prompt, reply)
    chosen = next((each for each in reversed(found) if each.name == wanted.name), found[-1])
    rest = f"{reply.text[: chosen.start]}\n{reply.text[chosen.end :]}"
    if strange := foreign(prompt, _spaced(reply.text[chosen.start :])):
        return wrong("another-question", strange, wanted.name)
    kind = _difference(chosen, wanted, prompt)
    if not kind:
        same_docstring = _plain(chosen.docstring) == _plain(wanted.docstring)
        return right(same_docstring and Reply.of(rest).only([]))
    return wrong(kind, reply.text[chosen.start : chosen.end], prompt.spec["value"])


def _nothing(prompt: Prompt, reply: Reply) -> Found:
    if _DEF.search(reply.text) is None:
        return missing(prompt, _spaced(reply.text))
    if strange := foreign(prompt, _spaced(reply.text)):
        return wrong("another-question", strange, "a function of this prompt")
    return Found("wrong", "wrong-value", "no function that parses")


def _spaced(text: str) -> Reply:
    """The text with snake_case taken apart, so that names in it are seen."""
    return Reply.of(text.replace("_", " "))


def _difference(said: _Function, wanted: _Function, prompt: Prompt) -> str:
    """In what a function is wrong, as a sub-kind; "" where it is right."""
    if any(_same(said, decoy) for text in decoys(prompt) for decoy in _functions(text)):
        return "wrong-last-message"
    if (said.name, said.parameters, said.returns) != (wanted.name, wanted.parameters, wanted.returns):
        return "wrong-value"
    if not said.docstring.strip():
        return "dropped-constraint"
    return "" if _holds(said.docstring, wanted.docstring) else "wrong-value"


def _same(one: _Function, other: _Function) -> bool:
    return (one.name, one.parameters, one.returns) == (other.name, other.parameters, other.returns)


def _holds(docstring: str, wanted: str) -> bool:
    """Whether a docstring is the one asked for, perhaps with more below it."""
    first, _, _ = docstring.strip().partition("\n\n")
    return _plain(wanted) in (_plain(first), _plain(docstring.strip().split("\n")[0]))


def _plain(docstring: str) -> str:
    return fold(docstring).strip(" .\"'")


def _functions(text: str) -> Iterator[_Function]:
    """All functions in a text that parse, in order; those within others do not count."""
    lines = [(match.start(), match[0]) for match in re.finditer(r"[^\n]*\n?", text) if match[0]]
    starts = [index for index, (_, line) in enumerate(lines) if _DEF.search(line)]
    floor = -1
    for index in starts[-_MOST:]:
        if index < floor:
            continue
        at, line = lines[index]
        start = _DEF.search(line)
        indent = len(line) - len(line.lstrip(" \t"))
        last = index + 1
        while last < len(lines) and lines[last][0] - at <= _LONGEST and _goes_on(lines[last][1], indent):
            last += 1
        pieces = [line[start.start() if start else 0 :], *(each[indent:] for _, each in lines[index + 1 : last])]
        code = "".join(pieces)
        tree = _tree(code)
        if tree is not None:
            floor = last
            end = lines[last - 1][0] + len(lines[last - 1][1].rstrip())
            yield _read(tree, at + (start.start() if start else 0), end)


def _goes_on(line: str, indent: int) -> bool:
    deeper = len(line) - len(line.lstrip(" \t")) > indent
    return not line.strip() or deeper or line.lstrip(" \t").startswith(")")


def _tree(code: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that a piece of code is, without what a sentence or a style left behind it."""
    if len(code) > _LONGEST:
        return None
    tree = parsed(code) or parsed(code.rstrip(_TAIL))
    first = tree.body[0] if tree is not None and tree.body else None
    return first if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _read(node: ast.FunctionDef | ast.AsyncFunctionDef, start: int, end: int) -> _Function:
    try:
        parameters, returns = _parameters(node.args), _returns(node.body)
    except (RecursionError, ValueError):
        parameters, returns = ("?",), ""
    return _Function(node.name, parameters, ast.get_docstring(node) or "", returns, start, end)


def _parameters(given: ast.arguments) -> tuple[str, ...]:
    """The parameters in order, each with its default."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    found = [_parameter(each.arg, default) for each, default in zip(plain, defaults, strict=True)]
    found += [_parameter(each.arg, default) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [f"*{each.arg}" for each in (given.vararg, given.kwarg) if each is not None]
    return tuple(found)


def _parameter(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={_normal(default, {})}"


def _returns(body: list[ast.stmt]) -> str:
    """The normal form of what a function gives back at its end, assignments before it followed; "" if nothing."""
    known: dict[str, str] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = _normal(value, known)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                known[name] = _normal(value, known)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                left = ast.Name(id=target.id, ctx=ast.Load())
                known[name] = _normal(ast.BinOp(left=left, op=op, right=value), known)
            case ast.Return(value=ast.expr() as value):
                return _normal(value, known)
    return ""


def _normal(node: ast.expr, known: dict[str, str]) -> str:
    """An expression with names followed, operands that may be swapped sorted, and numbers as they read."""
    match node:
        case ast.Name(id=name):
            return known.get(name, name)
        case ast.Constant(value=float() as number) if number.is_integer():
            return str(int(number))
        case ast.Constant(value=value):
            return repr(value)
        case ast.BinOp(op=op) if isinstance(op, _SWAPPABLE):
            shown = f"({type(op).__name__} {' '.join(sorted(_operands(node, type(op), known)))})"
        case ast.BinOp(left=left, op=op, right=right_side):
            shown = f"({type(op).__name__} {_normal(left, known)} {_normal(right_side, known)})"
        case ast.UnaryOp(op=unary, operand=operand):
            shown = f"({type(unary).__name__} {_normal(operand, known)})"
        case _:
            shown = ast.dump(node)
    if len(shown) > _TANGLED:
        raise ValueError("too tangled to be followed")
    return shown


def _operands(node: ast.expr, op: type[ast.operator], known: dict[str, str]) -> list[str]:
    """The operands of a sum or product, those of sums within a sum among them."""
    if isinstance(node, ast.BinOp) and type(node.op) is op:
        return [*_operands(node.left, op, known), *_operands(node.right, op, known)]
    return [_normal(node, known)]
