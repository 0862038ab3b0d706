"""Which outputs of a block are scored: all of a prompt's that part or none, and a few that do not part."""

from __future__ import annotations

from fuzzer.history.records import Prompt, Tool, Usage, Wants
from fuzzer.judge.partings import Passes
from fuzzer.judge.scoring import LONGEST, OWN_OUTPUTS, SCORED_PROMPTS, Question, questions
from tests.judge.passes import passes
from tests.oracles.factory import prompt

SAME, OTHER, THIRD = (1, 2, 3, 4), (1, 2, 9, 4), (1, 8, 3, 4)

Table = dict[str, tuple[Passes, Passes]]


def asked(table: Table, prompts: dict[str, Prompt] | None = None) -> list[Question]:
    known = {name: prompt(name) for name in table} | (prompts or {})
    return questions(table, known, "salt")


def same(name: str) -> tuple[Passes, Passes]:
    return passes(name, "reference", SAME, SAME, SAME), passes(name, "candidate", SAME, SAME)


def parted(name: str) -> tuple[Passes, Passes]:
    return passes(name, "reference", SAME, SAME, SAME), passes(name, "candidate", OTHER, SAME)


def test_every_output_that_parts_is_asked_about_once_from_where_it_parts() -> None:
    table: Table = {"p": (passes("p", "reference", SAME, OTHER, SAME), passes("p", "candidate", OTHER, THIRD))}
    found = {(one.exchange.sent.arm, one.exchange.sent.pass_index, one.start) for one in asked(table)}
    assert found == {("reference", 1, 2), ("candidate", 1, 1)}  # the candidate's first is the reference's second


def test_the_number_of_questions_is_bounded_and_the_choice_repeats_itself() -> None:
    table: Table = {f"p{n}": parted(f"p{n}") for n in range(40)} | {f"q{n}": same(f"q{n}") for n in range(40)}
    found = asked(table)
    assert sum(one.exchange.sent.arm == "candidate" for one in found) == SCORED_PROMPTS
    assert sum(one.exchange.sent.arm == "reference" for one in found) == OWN_OUTPUTS
    assert [one.exchange.key for one in asked(table)] == [one.exchange.key for one in found]


def test_where_a_grammar_may_rule_tokens_out_nothing_is_asked() -> None:
    tool = Tool(name="look", description="", parameters={})
    bound = {
        "p": prompt("p").model_copy(update={"wants": Wants(json_schema={"type": "object"})}),
        "q": prompt("q").model_copy(update={"wants": Wants(tools=(tool,))}),
    }
    assert asked({"p": parted("p"), "q": parted("q")}, bound) == []


def test_very_long_prompts_are_left_out() -> None:
    def long(passes: Passes, tokens: int) -> Passes:
        first = passes[0]
        assert first.done is not None
        received = first.done.received.model_copy(update={"usage": Usage(prompt_tokens=tokens)})
        done = first.done.model_copy(update={"received": received})
        return {**passes, 0: first.model_copy(update={"done": done})}

    reference, candidate = parted("p")
    assert len(asked({"p": (long(reference, LONGEST), candidate)})) == 1
    assert asked({"p": (long(reference, LONGEST + 1), candidate)}) == []


def test_unmatched_passes_are_not_asked_about() -> None:
    reference, _ = parted("p")
    assert asked({"p": (reference, {})}) == []
