"""Replies as models give them, to questions about what the system message told."""

from __future__ import annotations

from fuzzer.history.records import Prompt
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict

EASY = [make("system-fact", "easy", seed) for seed in range(60)]
NAMED = next(prompt for prompt in EASY if prompt.items)
CODED = next(prompt for prompt in EASY if not prompt.items)
STRANGER = make("echo", "easy", 77).answer


def about(prompt: Prompt) -> str:
    return str(prompt.spec["about"])


def test_the_fact_stands_in_the_system_message_alone() -> None:
    for prompt in EASY:
        assert prompt.answer in prompt.messages[0].content
        assert all(prompt.answer not in message.content for message in prompt.messages[1:])
    assert sum("system" in prompt.elicits for prompt in EASY) > 40


def test_a_name_in_whatever_sentence() -> None:
    name = NAMED.answer
    for said in (f"**{name}**", f'"{name}."', f"« {name} »", f"```\n{name}\n```", f"- {name}"):
        assert verdict(NAMED, said) == "right"
    for said in (
        f"The {about(NAMED)} is {name}.",
        f"My name is {name}, and I am here to help.",
        f"{name} is the {about(NAMED)}.",
        f"It is {name}. Is there anything else?",
        name.upper() + " it is",
    ):
        assert verdict(NAMED, said) == "verbose"


def test_a_name_that_is_not_quite_the_one() -> None:
    first, last = NAMED.answer.split()
    for said in (
        first,
        f"{first} {last[:-1]}",
        f"{last} {first}",
        f"{NAMED.answer} Smith",
        "I am a careful assistant.",
    ):
        assert verdict(NAMED, said) == "wrong-value"
    for said in (STRANGER, f"{NAMED.answer} or {STRANGER}", f"{NAMED.answer}\n{STRANGER}"):
        assert verdict(NAMED, said) == "another-question"
    assert verdict(NAMED, "I'm sorry, I do not have a name.") == "refusal"


def test_a_code_in_whatever_sentence() -> None:
    code = CODED.answer
    assert verdict(CODED, code.lower()) == "right"
    assert verdict(CODED, f"The {about(CODED)} is {code}.") == "verbose"
    assert verdict(CODED, f"The {about(CODED)} is {code[:-1]}.") == "wrong-value"
    assert verdict(CODED, make("system-fact", "easy", "other").answer) == "another-question"


MEDIUM = [make("system-fact", "medium", seed) for seed in range(20)]


def test_the_earlier_questions_fact_is_the_wrong_last_message() -> None:
    for prompt in MEDIUM:
        earlier = prompt.messages[2].content
        assert verdict(prompt, earlier) == "wrong-last-message"
        assert verdict(prompt, f"The {about(prompt)} is {prompt.answer}.") == "verbose"
        assert verdict(prompt, f"The name is {earlier}, and the {about(prompt)} is {prompt.answer}.") == "verbose"
        others = [each.text for each in prompt.canaries if len(each.text) == 9 and each.text != prompt.answer]
        assert [verdict(prompt, each) for each in others] == ["wrong-value"]


PAIR = make("system-fact", "hard", 1)
TAG, BOTH, TICKET = PAIR.answer.split("\n")
NAME, CODE = BOTH.split(", ")


def test_a_name_and_a_code_out_of_six_facts() -> None:
    other = next(each.text for each in PAIR.canaries if len(each.text) == 9 and each.text != CODE)
    for want, said in (
        ("right", BOTH),
        ("right", f"{NAME} | {CODE}"),
        ("verbose", f"The name is {NAME} and the code is {CODE}."),
        ("dropped-constraint", NAME),
        ("dropped-constraint", CODE),
        ("wrong-value", f"{NAME}, {other}"),
        ("another-question", f"{STRANGER}, {CODE}"),
        ("wrong-last-message", PAIR.messages[2].content),
    ):
        assert verdict(PAIR, f"{TAG}\n{said}\n{TICKET}") == want
    assert verdict(PAIR, BOTH) == "dropped-constraint"
