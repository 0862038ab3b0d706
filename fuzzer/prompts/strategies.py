"""Hypothesis strategies for prompts, conversations, edge texts and request parameters: a public API.

All that they make can be checked without a model, as in this test of an application's own rewriting of prompts::

    from hypothesis import given
    from fuzzer.prompts import check
    from fuzzer.prompts.strategies import prompts

    @given(prompts(families=["code-word", "sort"], levels=["easy"]))
    def test_the_gateway_answers_the_question(prompt):
        reply = gateway.ask(prompt.messages)
        assert check(prompt, reply).passed

This module imports Hypothesis; nothing else of specfuzz does before it is needed.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hypothesis import strategies as st
from pydantic import JsonValue

from fuzzer.errors import UsageError
from fuzzer.history.records import Level, Message, Prompt
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.edges import LENGTHS, PIECES, SIZED, Edge, Place, may_precede, preceded, silenced, text_of, wrap
from fuzzer.prompts.families import FAMILIES

_PROBES = 12  # prompts of a family that are looked at
_TURNS = 5  # earlier turns at most
_SHARE = 8  # numbers of a series that one example may use: its own, and one for each earlier turn
LAST = 2_000_000 // _SHARE - 1
"""The last index for which ``Recipe.make`` gives names of its own."""
_ENOUGH = (64, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4096)
_STOPS = ("<<<END>>>", "\u241e", "END_OF_REPLY", "\n\n\n\n\n", "STOP-HERE", "¶¶", "🛑🛑", "\u2029")

_INSIDE = re.compile(r"(?<=\S)\s+(?=\S)|(?<=[^\W_])-(?=[^\W_])")
_STOP_LENGTH = 4  # characters of a stop string from inside an answer
_NO_EDGE: st.SearchStrategy[Edge | None] = st.none()
_FIRST: Place = "message"
_IN_MESSAGE = st.just(_FIRST)
_SPEAKING = st.just(False)
_ALONE: st.SearchStrategy[tuple[str, ...]] = st.just(())

KINDS: tuple[tuple[str, Level], ...] = tuple(
    (name, level) for name, family in FAMILIES.items() for level in family.levels
)
"""All families with their levels."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an example of ``--fuzz`` is made: which family and form, what stands around it, which turns before it."""

    family: str
    level: Level
    edge: Edge | None = None
    place: Place = "message"
    silent: bool = False
    before: tuple[str, ...] = ()

    def make(self, seed: int, index: int, prompt_id: str) -> Prompt:
        """The prompt: a function of the recipe, the seed and the index alone, with names that no other index gets."""
        own, *others = (Draws(seed, "z", index * _SHARE + part) for part in range(1 + len(self.before)))
        prompt = FAMILIES[self.family].generate(own, prompt_id, self.level)
        asked = [FAMILIES[name].generate(rng, prompt_id, "easy") for name, rng in zip(self.before, others, strict=True)]
        prompt = preceded(prompt, asked)
        if self.edge is not None:
            prompt = wrap(prompt, self.edge, self.place, own)
        return silenced(prompt) if self.silent else prompt


def make(family: str, level: Level, seed: int | str) -> Prompt:
    """One prompt of a family; the same for the same seed."""
    return FAMILIES[family].generate(Draws(zlib.crc32(f"{family}/{level}/{seed}".encode()), "p", 0), f"p{seed}", level)


def prompts(families: Sequence[str] | None = None, levels: Sequence[Level] | None = None) -> st.SearchStrategy[Prompt]:
    """Prompts as the gate asks them; of all families and levels where none are named. UsageError for unknown ones."""
    return _made(_recipes(families, levels))


def conversations(
    families: Sequence[str] | None = None, levels: Sequence[Level] | None = None
) -> st.SearchStrategy[Prompt]:
    """Prompts after one to five earlier turns on other things, each answered right."""
    return _made(_recipes(families, levels, before=_earlier(1)))


def wrapped(prompt: Prompt) -> st.SearchStrategy[Prompt]:
    """The prompt amid an edge text, in its last message, in a turn before it or in its system message.

    Question, answer and family stay: ``check`` judges replies to it as before.
    """
    return st.builds(wrap, st.just(prompt), edges(), _places(), st.integers(0, 99).map(random.Random))


def recipes(families: Sequence[str] | None = None, levels: Sequence[Level] | None = None) -> st.SearchStrategy[Recipe]:
    """Recipes for prompts in all the ways of this module; ``Recipe.make`` makes the prompt."""
    edge = st.one_of(st.none(), edges())
    return _recipes(families, levels, edge=edge, place=_places(), silent=st.booleans(), before=_earlier(0))


def edges() -> st.SearchStrategy[Edge]:
    """What an edge text is of: emoji, right-to-left words, combining marks, a very long word, a block's length ..."""
    pieces = [
        st.builds(Edge, st.just(name), st.lists(st.sampled_from(table), min_size=1, max_size=12).map(tuple))
        for name, table in PIECES.items()
    ]
    sized = [st.builds(Edge, st.just(name), st.just(()), st.sampled_from(LENGTHS)) for name in SIZED]
    return st.one_of(*pieces, *sized)


def edge_texts() -> st.SearchStrategy[str]:
    """Texts at the edges of Unicode and of block lengths; valid UTF-8, never empty."""
    return st.builds(text_of, edges(), st.integers(0, 99).map(random.Random))


def chats() -> st.SearchStrategy[tuple[Message, ...]]:
    """Any well-formed chat that ends with the user's message; with no, an empty or some system message."""
    said = st.one_of(edge_texts(), st.just("Hi"))
    system = st.one_of(st.none(), st.just(""), said)
    return st.builds(_chat, system, st.lists(st.tuples(said, said), max_size=_TURNS), said)


def stop_strings(answer: str) -> st.SearchStrategy[list[str]]:
    """Up to four stop strings that do not stand in an answer: they must change nothing."""
    return st.lists(st.sampled_from([stop for stop in _STOPS if stop not in answer]), unique=True, max_size=4)


def stops_inside(answer: str) -> st.SearchStrategy[str]:
    """A stop string from inside an answer: a reply with the answer alone must end right before it.

    ValueError for an answer of less than two words or lines: it has no inside.
    """
    starts = [match.start() for match in _INSIDE.finditer(answer)]
    if not starts:
        raise ValueError(f"{answer!r} has no second word to stop at")
    at = st.sampled_from(starts)
    return at.map(lambda start: answer[start : start + _STOP_LENGTH])


def request_parameters(answer: str = "") -> st.SearchStrategy[dict[str, JsonValue]]:
    """Fields of a chat completion request that must not change a greedy answer, in any order.

    ``max_tokens`` lies on and beside block sizes and has room for the answer (at most one token a byte); stop strings
    do not stand in it; what is said of sampling is said as it is by default.
    """
    room = len(answer.encode())
    limits = [limit for limit in _ENOUGH if limit >= room] or [room]
    fields: dict[str, st.SearchStrategy[JsonValue]] = {
        "max_tokens": st.sampled_from(limits),
        "stream": st.booleans(),
        "stop": stop_strings(answer).map(lambda stops: list[JsonValue](stops)),
        "n": st.just(1),
        "top_p": st.sampled_from((1, 1.0)),
        "seed": st.integers(0, 99),
        "presence_penalty": st.sampled_from((0, 0.0)),
        "frequency_penalty": st.sampled_from((0, 0.0)),
        "user": st.sampled_from(("", "somebody", "👩‍💻")),
    }
    chosen = st.lists(st.sampled_from(sorted(fields)), unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({"temperature": st.just(0), **_some(fields, names)}))


def _some(
    fields: dict[str, st.SearchStrategy[JsonValue]], names: Sequence[str]
) -> dict[str, st.SearchStrategy[JsonValue]]:
    return {name: fields[name] for name in names}


def _made(made_from: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Prompt]:
    return st.builds(lambda recipe, index: recipe.make(0, index, f"z{index:06d}"), made_from, st.integers(0, LAST))


def _recipes(
    families: Sequence[str] | None,
    levels: Sequence[Level] | None,
    *,
    edge: st.SearchStrategy[Edge | None] = _NO_EDGE,
    place: st.SearchStrategy[Place] = _IN_MESSAGE,
    silent: st.SearchStrategy[bool] = _SPEAKING,
    before: st.SearchStrategy[tuple[str, ...]] = _ALONE,
) -> st.SearchStrategy[Recipe]:
    forms = _forms(families, levels)
    kinds = st.sampled_from(list(forms)).flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(forms[name])))
    return st.builds(lambda kind, *rest: Recipe(*kind, *rest), kinds, edge, place, silent, before)


def _forms(families: Sequence[str] | None, levels: Sequence[Level] | None) -> dict[str, list[Level]]:
    """The levels of each family, of those asked for."""
    for name in families or ():
        if name not in FAMILIES:
            raise UsageError(f"the family {name!r} is unknown; known are {', '.join(FAMILIES)}")
    forms = {
        name: [level for level in FAMILIES[name].levels if levels is None or level in levels]
        for name in families or FAMILIES
    }
    if not any(forms.values()):
        raise UsageError(
            f"no family has any of the levels {', '.join(levels or ()) or 'none'}; known are easy, medium, hard"
        )
    return {name: found for name, found in forms.items() if found}


def _earlier(fewest: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(_preceding()), min_size=fewest, max_size=_TURNS).map(tuple)


@lru_cache(maxsize=1)
def _preceding() -> list[str]:
    """The families whose easy questions can always stand in a history."""
    return [
        name
        for name, family in FAMILIES.items()
        if "easy" in family.levels and all(may_precede(make(name, "easy", probe)) for probe in range(_PROBES))
    ]


def _places() -> st.SearchStrategy[Place]:
    places: tuple[Place, ...] = ("message", "turn", "system")
    return st.sampled_from(places)


def _chat(system: str | None, turns: Sequence[tuple[str, str]], last: str) -> tuple[Message, ...]:
    said = [] if system is None else [Message(role="system", content=system)]
    for asked, answered in turns:
        said += [Message(role="user", content=asked), Message(role="assistant", content=answered)]
    return (*said, Message(role="user", content=last))
