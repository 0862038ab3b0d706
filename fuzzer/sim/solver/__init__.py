"""Understands a prompt's text and says what a model would answer; shares nothing with the fuzzer's own checkers."""

from __future__ import annotations

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.almanac import almanac
from fuzzer.sim.solver.calls import call
from fuzzer.sim.solver.chat import Chat, read_chat
from fuzzer.sim.solver.code import python_function
from fuzzer.sim.solver.codes import code_of_owner, code_word, table_row
from fuzzer.sim.solver.constraints import avoiding, counted, told_by_system
from fuzzer.sim.solver.copying import copying
from fuzzer.sim.solver.echo import echo
from fuzzer.sim.solver.forms import filled
from fuzzer.sim.solver.inventing import inventing
from fuzzer.sim.solver.lists import ordering, reversing, sorting
from fuzzer.sim.solver.long import found_in_text, going_on
from fuzzer.sim.solver.numbers import counting, story, total
from fuzzer.sim.solver.puzzles import arranging, comparing
from fuzzer.sim.solver.reading import reading
from fuzzer.sim.solver.records import records
from fuzzer.sim.solver.sums import calculating, tale
from fuzzer.sim.solver.talk import place_in_list
from fuzzer.sim.solver.texts import json_object, repeating
from fuzzer.sim.solver.thoughts import after_swaps, thinking
from fuzzer.sim.solver.tongues import speaking
from fuzzer.sim.solver.transforms import transforming
from fuzzer.sim.solver.wording import mark, maybe
from fuzzer.sim.solver.wordlists import series, told_order, word_list
from fuzzer.sim.solver.wordplay import bracketed, word_play
from fuzzer.sim.wants import Wanted, read

_SKILLS = (
    inventing, place_in_list, python_function, after_swaps, bracketed, word_play, copying, counted, avoiding,
    told_by_system, transforming, speaking, found_in_text, going_on, ordering, sorting, reversing, table_row,
    json_object, repeating, counting, story, total, code_of_owner, code_word, almanac, calculating, arranging,
    comparing, word_list, series, told_order, records, tale, reading,
)  # fmt: skip


_ATTENTION = 50_000  # characters; in what is longer, only a code is found


def solve(messages: tuple[tuple[str, str], ...]) -> tuple[Slot, ...]:
    """The answer to a chat, in the frame that its last message asks for, after thinking where that is switched on."""
    wanted, said = read(messages)
    chat = read_chat(said)
    skills = _SKILLS if len(chat.text) <= _ATTENTION else (found_in_text,)
    answer = _wanted(chat, wanted) or next((slots for skill in skills if (slots := skill(chat))), None)
    answer = answer or echo(chat.ask)
    thoughts = thinking(chat) if wanted.thinks else ()
    return (*thoughts, *(_three_lines(chat, answer) if chat.wants_lines else answer))


def _wanted(chat: Chat, wanted: Wanted) -> tuple[Slot, ...] | None:
    """A call of a function, or what a schema asks for."""
    if wanted.functions and (slots := call(chat, wanted.functions, wanted.must_call)):
        return slots
    return filled(chat, wanted.schema) if wanted.schema is not None else None


def _three_lines(chat: Chat, answer: tuple[Slot, ...]) -> tuple[Slot, ...]:
    label, first = ("Case number: ", chat.case) if chat.wants_case else ("Session tag: ", chat.tag)
    shown = first or chat.tag or chat.case or "none"
    return (
        maybe(label), mark(shown, chat.marks), Slot("\n"), *answer, Slot("\n"),
        maybe("Ticket: "), mark(chat.ticket or "none", chat.marks),
    )  # fmt: skip
