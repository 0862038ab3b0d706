"""What is asked besides the run's own prompts.

None has a right answer, canaries or names of its own, so nothing in them can be judged or mistaken for a bleed.
"""

from __future__ import annotations

from fuzzer.history.records import Message, Prompt


def _question(number: int, *messages: Message) -> Prompt:
    return Prompt(
        id=f"q{number:06d}",
        family="preflight",
        level="easy",
        messages=messages,
        answer="",
        attributable=False,
        checkable=False,
    )


def _user(text: str) -> Message:
    return Message(role="user", content=text)


TOWNS = _question(0, _user("Invent forty names of towns that do not exist, one a line. Begin at once."))
NAMES = _question(
    1,
    Message(role="system", content="Do what you are asked, without any introduction."),
    _user("List forty unusual first names, in no order, one a line. Begin at once."),
)
THINGS = _question(
    2,
    _user("Name a thing that might lie in a drawer."),
    Message(role="assistant", content="A ball of string."),
    _user("Name fifty more, in no order, one a line. Begin at once."),
)

GO_ON = _question(3, _user("Go on with these words in the same order."))  # behind words that repeat: easy to draft

# Preflight's, to which a sampled reply is never twice the same. They differ in shape, so that chat templates which
# render one of the shapes differently are told apart.
OPEN = (TOWNS, NAMES, THINGS)
QUESTIONS = {prompt.id: prompt for prompt in (*OPEN, GO_ON)}
