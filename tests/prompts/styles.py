"""Ways in which models dress an answer: none of them makes a right answer wrong, or a wrong one right.

``render`` dresses an answer's core in one style, sets the frame's marks around it and wraps the whole in another; so
right and spoiled answers go through the same dress. ``rewrites`` gives right ones.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary
from tests.prompts import numerals
from tests.prompts.dress import FRAMES, WHOLE_STYLES, Style, one_of

Shape = Literal["word", "number", "numbers", "names", "pair", "object", "text", "lines"]

_PLACES = "First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth"
_NUMBER = re.compile(r"[0-9]{1,12}")
_PAIR = re.compile(r"[^,\n]+ [^,\n]+, [A-Z2-9]{4}-[A-Z2-9]{4}")


@dataclass(frozen=True, slots=True)
class Said:
    """A reply, and the names of the styles it is in."""

    style: str
    text: str


def marks(prompt: Prompt) -> tuple[str, ...]:
    """The marks that the answer must carry: two for a framed prompt, else none."""
    frame = prompt.spec.get("frame")
    return tuple(map(str, frame)) if isinstance(frame, list) else ()


def core(prompt: Prompt) -> str:
    """The right answer without the frame's lines."""
    return "\n".join(prompt.answer.split("\n")[1:-1]) if marks(prompt) else prompt.answer


def shape(text: str) -> Shape:
    """What kind of answer a core is."""
    if _is_object(text):
        return "object"
    if "\n" in text:
        return "lines"
    if canary.CODE.fullmatch(text):
        return "word"
    if _NUMBER.fullmatch(text):
        return "number"
    if _PAIR.fullmatch(text):
        return "pair"
    parts = text.split(", ")
    if len(parts) > 1:
        return "numbers" if all(map(_NUMBER.fullmatch, parts)) else "names"
    return "text"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _joined(*separators: str) -> Style:
    return lambda said, _, rng: rng.choice(separators).join(said.split(", "))


def _numbered(said: str, _: Prompt, rng: random.Random) -> str:
    form = rng.choice(("{}. {}", "{}) {}", "**{}.** {}", "{}. **{}**"))
    return "\n".join(form.format(index, each) for index, each in enumerate(said.split(", "), 1))


def _bullets(said: str, _: Prompt, rng: random.Random) -> str:
    bullet = rng.choice(("- ", "* ", "• ", "+ ", "  - ", "– "))
    return "\n".join(bullet + each for each in said.split(", "))


def _array(said: str, _: Prompt, rng: random.Random) -> str:
    parts: list[object] = [int(each) if each.isdigit() else each for each in said.split(", ")]
    return rng.choice((json.dumps(parts), repr(parts), json.dumps(parts, indent=2), json.dumps({"answer": parts})))


def _with_and(said: str, _: Prompt, rng: random.Random) -> str:
    *most, last = said.split(", ")
    return f"{', '.join(most)}{rng.choice((', and ', ' and ', ' & ', ', then '))}{last}"


def _placed(said: str, _: Prompt, rng: random.Random) -> str:
    words = _PLACES.split()
    form = rng.choice(("{}: {}", "- {}: {}", "{} - {}", "**{}:** {}"))
    parts = said.split(", ")
    return "\n".join(form.format(words[index % len(words)], each) for index, each in enumerate(parts))


def _table(said: str, _: Prompt, rng: random.Random) -> str:
    rows = "\n".join(f"| {index} | {each} |" for index, each in enumerate(said.split(", "), 1))
    return f"| No. | Entry |\n|---|---|\n{rows}"


def _quoted_each(said: str, _: Prompt, rng: random.Random) -> str:
    left, right = rng.choice(QUOTES)
    return ", ".join(f"{left}{each}{right}" for each in said.split(", "))


def _thousands(said: str, _: Prompt, rng: random.Random) -> str:
    separator = rng.choice((",", "\u202f", "\u00a0", "\u2009", "'", "’"))
    return _NUMBER.sub(lambda match: f"{int(match[0]):,}".replace(",", separator), said)


def _commas(said: str, _: Prompt, rng: random.Random) -> str:
    return _NUMBER.sub(lambda match: f"{int(match[0]):,}", said)


def _spelt(said: str, _: Prompt, rng: random.Random) -> str:
    style = rng.choice(numerals.STYLES)
    spelt = _NUMBER.sub(lambda match: numerals.spell(int(match[0]), style), said)
    return rng.choice((str, str.capitalize))(spelt)


def _both(said: str, _: Prompt, rng: random.Random) -> str:
    spelt = numerals.spell(int(said), rng.choice(numerals.STYLES))
    return rng.choice((f"{said} ({spelt})", f"{spelt} ({said})", f"{spelt.capitalize()}, or {said} in digits."))


def _decimal(said: str, _: Prompt, rng: random.Random) -> str:
    return said + rng.choice((".0", ".00"))


def _summed(said: str, prompt: Prompt, rng: random.Random) -> str:
    given = _given(prompt)
    if len(given) == 2:
        a, b = given
        form = (
            "{a} + {b} = {}",
            "{a} plus {b} equals {}.",
            "The sum of {a} and {b} is {}.",
            "{a}+{b}={}",
            "{} = {a}+{b}",
        )
        return rng.choice(form).format(said, a=a, b=b)
    return rng.choice(("{} beads", "There are {} beads left.", "The total is {}.", "= {}", "${}$")).format(said)


def _steps(said: str, prompt: Prompt, rng: random.Random) -> str:
    given = _given(prompt)
    if len(given) != 4:
        return f"Let's see. The answer is **{said}**."
    start, gift, days, lost = given
    gifts = gift * days
    return rng.choice(
        (
            f"{start} + {gift} × {days} - {lost} = {said}",
            f"1. Gifts: {gift} x {days} = {gifts}\n2. Together: {start} + {gifts} = {start + gifts}\n"
            f"3. Lost: {start + gifts} - {lost} = {said}\n\nSo the answer is {said}.",
            f"First, {gift} * {days} = {gifts}. Then {start} + {gifts} = {start + gifts}. Finally, "
            f"{start + gifts} - {lost} = {said}.",
            f"The beads now: {said}\n\nExplanation: {gift} x {days} = {gifts}, {start} + {gifts} = {start + gifts}.",
        )
    )


def _given(prompt: Prompt) -> list[int]:
    given = prompt.spec.get("given")
    return [int(str(each)) for each in given] if isinstance(given, list) else []


def _counted_on(said: str, prompt: Prompt, rng: random.Random) -> str:
    given = ", ".join(map(str, _given(prompt)))
    if not given:
        return said
    return rng.choice((f"{given}, {said}", f"{given}\n{said}", f"After {given} come {said}."))


def _named(said: str, prompt: Prompt, rng: random.Random) -> str:
    about = prompt.spec.get("about")
    if not about:
        return f"The code word is {said}."
    forms = (
        "The code of {a} is {}.",
        "{a}: {}",
        "{a}'s code is **{}**.",
        "{} is the code of {a}.",
        "{a} has the code {}.",
    )
    return rng.choice(forms).format(said, a=about)


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _wrapped_value(said: str, _: Prompt, rng: random.Random) -> str:
    return rng.choice((_json({"answer": said}), _json({"code": said}, 2), f"<answer>{said}</answer>"))


def _cased(said: str, _: Prompt, rng: random.Random) -> str:
    return rng.choice((str.lower, str.upper))(said)


def _hyphens(said: str, _: Prompt, rng: random.Random) -> str:
    return said.replace("-", rng.choice("\u2010\u2011\u2012\u2013"))


def _spaces(said: str, _: Prompt, rng: random.Random) -> str:
    return said.replace(" ", rng.choice(("\u00a0", "  ", "\u2009")))


def _paired(said: str, prompt: Prompt, rng: random.Random) -> str:
    town, code = said.split(", ")
    who = prompt.spec.get("about")
    forms = (
        "{t} | {c}", "{c}, {t}", "Town: {t}\nCode: {c}", "Town: {t}, Code: {c}", "- **Town:** {t}\n- **Code:** {c}",
        "The town of {w} is {t} and the code is {c}.", "{w} lives in {t} and has the code {c}.", "{w} | {t} | {c}",
        '{{"town": "{t}", "code": "{c}"}}', "({t}, {c})", "The code is {c}, and the town is {t}.",
    )  # fmt: skip
    return rng.choice(forms).format(t=town, c=code, w=who)


def _reordered(said: str, _: Prompt, rng: random.Random) -> str:
    pairs = list(json.loads(said).items())
    rng.shuffle(pairs)
    return json.dumps(dict(pairs), indent=rng.choice((None, 2, 4)))


def _laid_out(said: str, _: Prompt, rng: random.Random) -> str:
    value = json.loads(said)
    return rng.choice((json.dumps(value, indent=4), json.dumps(value, separators=(",", ":")), said.replace("{", "{ ")))


def _requoted(said: str, _: Prompt, rng: random.Random) -> str:
    value = json.loads(said)
    curly = re.sub(r'"([^"]*)"', "“\\1”", said)
    bare_keys = re.sub(r'"(\w+)":', "\\1:", said)
    single = said.replace('"', "'")
    bare_words = re.sub(r'"([\w-]+)"', "\\1", said)
    return rng.choice((repr(value), curly, bare_keys, bare_words, single, said[:-1] + ",}"))


def _stringly(said: str, prompt: Prompt, _: random.Random) -> str:
    if prompt.level == "hard":  # that question asks for the types
        return said
    value = json.loads(said)
    return json.dumps({key: str(part) if isinstance(part, int | float) else part for key, part in value.items()})


def _spaced_text(said: str, _: Prompt, rng: random.Random) -> str:
    return said.replace("; ", rng.choice((";", " ; ", ";  ")))


QUOTES = (
    ("“", "”"), ("„", "“"), ("«", "»"), ("« ", " »"), ("‘", "’"), ("「", "」"), ("『", "』"), ("‹", "›"), ("'", "'"),
    ("”", "”"), ("〝", "〞"), ('"', '"'),
)  # fmt: skip


def _quoted(said: str, _: Prompt, rng: random.Random) -> str:
    left, right = rng.choice(QUOTES)
    return f"{left}{said}{right}"


_SENTENCE = one_of(
    "The answer is {}.", "It is {}.", "The answer: {}", "{} is the answer.", "I have it: {}", "So, the answer is {}.",
    "Based on what you gave me, the answer is {}.", "That would be {}.", "The final answer is: {}", "My answer is {}!",
    "The result is {}.", "Here it is: {}",
)  # fmt: skip
_MARKDOWN = one_of("**{}**", "*{}*", "`{}`", "__{}__", "> {}", "### {}", "***{}***", "- **{}**", "_{}_")
_PUNCTUATION = one_of("{}.", "{}!", "{} .", "{}。", "{}…", "{};", "{},", "({})", "[{}]", "-> {}", "→ {}", "{}\\")
_LABEL = one_of(
    "Answer: {}", "**Answer:** {}", "Final answer: {}", "**Final answer: {}**", "A: {}", "Output: {}", "Result: {}"
)
_BOXED = one_of("$\\boxed{{}}$", "\\boxed{{}}", "The answer is $\\boxed{\\text{{}}}$.")
_FENCED = one_of("```\n{}\n```", "```json\n{}\n```", "```text\n{}\n```", "~~~\n{}\n~~~")
_BULLET = one_of("- {}", "* {}", "• {}", "1. {}", "1) {}", "+ {}")

CORE_STYLES: dict[str, tuple[tuple[Shape, ...], Style]] = {
    "plain": ((), lambda said, *_: said),
    "sentence": (("word", "number", "numbers", "names", "pair", "text"), _SENTENCE),
    "markdown": (("word", "number", "numbers", "names", "pair", "text"), _MARKDOWN),
    "punctuation": (("word", "number", "numbers", "names", "pair", "text"), _PUNCTUATION),
    "quotes": (("word", "number", "numbers", "names", "pair", "text"), _quoted),
    "label": ((), _LABEL),
    "fence": ((), _FENCED),
    "bullet": (("word", "number", "numbers", "names", "pair", "text"), _BULLET),
    "box": (("word", "number"), _BOXED),
    "wrapped": (("word", "number", "text"), _wrapped_value),
    "case": (("word", "names", "text", "pair"), _cased),
    "hyphens": (("word", "pair"), _hyphens),
    "spaces": (("names", "pair", "text", "numbers"), _spaces),
    "named": (("word",), _named),
    "pair": (("pair",), _paired),
    "separators": (("names", "numbers"), _joined(",", "; ", "\n", " → ", " -> ", ",\n", " | ", " > ", " / ", "\n\n")),
    "and": (("names", "numbers"), _with_and),
    "numbered": (("names", "numbers"), _numbered),
    "bullets": (("names", "numbers"), _bullets),
    "array": (("names", "numbers"), _array),
    "places": (("names", "numbers"), _placed),
    "table": (("names", "numbers"), _table),
    "quoted items": (("names", "numbers"), _quoted_each),
    "thousands": (("number",), _thousands),
    "commas": (("numbers",), _commas),
    "numerals": (("number", "numbers"), _spelt),
    "digits and words": (("number",), _both),
    "decimal": (("number",), _decimal),
    "summed": (("number",), _summed),
    "steps": (("number",), _steps),
    "counted on": (("numbers",), _counted_on),
    "reordered": (("object",), _reordered),
    "layout": (("object",), _laid_out),
    "requoted": (("object",), _requoted),
    "stringly": (("object",), _stringly),
    "spacing": (("text",), _spaced_text),
}
"""Styles of the core, with the shapes that they suit (none: all)."""

NOT_FOR: dict[str, frozenset[str]] = {
    "case": frozenset({"transform"}),
    "requoted": frozenset({"schema-json"}),
    "stringly": frozenset({"schema-json"}),
}
"""Styles that change what a family asks for: a person would not call the result right."""


def suits(style: str, said: str, family: str) -> bool:
    """Whether a style of the core makes sense for such an answer of a family."""
    shapes, _ = CORE_STYLES[style]
    return (not shapes or shape(said) in shapes) and family not in NOT_FOR.get(style, ())


def render(
    prompt: Prompt, said: str, frame: tuple[str, ...], rng: random.Random, style: str = "", whole: str | None = None
) -> Said:
    """A core, right or not, in the named styles, or in some drawn by ``rng``."""
    style = style or rng.choice([name for name in CORE_STYLES if suits(name, said, prompt.family)])
    text = CORE_STYLES[style][1](said, prompt, rng)
    framing = ""
    if frame:
        framing = rng.choice(tuple(FRAMES))
        first, ticket = frame
        text = FRAMES[framing](first, text, ticket, rng)
    whole = rng.choice(tuple(WHOLE_STYLES)) if whole is None else whole
    text = WHOLE_STYLES[whole](text, prompt, rng)
    return Said(" + ".join(filter(None, (style, framing, whole))), text)


def rewrites(prompt: Prompt, rng: random.Random) -> Iterator[Said]:
    """The right answer once in every style that suits it."""
    for style in CORE_STYLES:
        if suits(style, core(prompt), prompt.family):
            yield render(prompt, core(prompt), marks(prompt), rng, style, "")
    for whole in WHOLE_STYLES:
        yield render(prompt, core(prompt), marks(prompt), rng, "plain", whole)
