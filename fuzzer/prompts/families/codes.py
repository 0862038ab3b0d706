"""Questions whose answer is a code: code-word, lookup and last-message-wins."""

from __future__ import annotations

import random

from fuzzer.history.records import Canary, Channel, Level
from fuzzer.prompts import canary, names
from fuzzer.prompts.frame import Task

_ASK_CODE_WORD = "What is the code word? Reply with the code word only."


def code_word(rng: random.Random, level: Level) -> Task:
    """A code word is given once (easy), or changed twice so that the last one holds (hard)."""
    return _code_word_easy(rng) if level == "easy" else _code_word_hard(rng)


def _code_word_easy(rng: random.Random) -> Task:
    word = canary.code(rng)
    given = f"The code word is {word}."
    in_system = rng.random() < 1 / 2
    channel: Channel = "system" if in_system else "user"
    return Task(
        ask=_ASK_CODE_WORD if in_system else f"{given} {_ASK_CODE_WORD}",
        answer=word,
        spec={"value": word},
        system=given if in_system else "",
        codes=(Canary(channel=channel, text=word),),
        elicits=(channel,),
    )


def _code_word_hard(rng: random.Random) -> Task:
    first, second, last = (canary.code(rng) for _ in range(3))
    ask = (
        f"At first the code word was {first}. Then it was changed to {second}. Now it has been changed to {last}. "
        "What is the code word now?"
    )
    return Task(ask=ask, answer=last, spec={"value": last}, codes=_user_codes(first, second, last))


def lookup(rng: random.Random, level: Level) -> Task:
    """Which code belongs to a name: of two (easy), or the town and code of one row of a table of ten (hard)."""
    return _lookup_easy(rng) if level == "easy" else _lookup_hard(rng)


def _lookup_easy(rng: random.Random) -> Task:
    owners = names.names(rng, 2)
    codes = [canary.code(rng) for _ in owners]
    wanted = rng.randrange(2)
    facts = " ".join(f"The code of {owner} is {code}." for owner, code in zip(owners, codes, strict=True))
    return Task(
        ask=f"{facts} What is the code of {owners[wanted]}? Reply with the code only.",
        answer=codes[wanted],
        spec={"value": codes[wanted], "about": owners[wanted]},
        items=tuple(owners),
        codes=_user_codes(*codes),
        elicits=("user",),
    )


def _lookup_hard(rng: random.Random) -> Task:
    people, towns = names.names(rng, 10), names.names(rng, 10)
    codes = [canary.code(rng) for _ in people]
    wanted = rng.randrange(10)
    rows = [f"{person} | {town} | {code}" for person, town, code in zip(people, towns, codes, strict=True)]
    table = "\n".join(["Name | Town | Code", *rows])
    value = f"{towns[wanted]}, {codes[wanted]}"
    return Task(
        ask=f"{table}\nWhat are the town and the code of {people[wanted]}? Separate them by a comma.",
        answer=value,
        spec={"value": [towns[wanted], codes[wanted]], "about": people[wanted]},
        items=(*people, *towns),
        codes=_user_codes(*codes),
    )


def last_message_wins(rng: random.Random, level: Level) -> Task:
    """Earlier turns ask other questions, each answered; the last message's question is the one to answer."""
    return _last_easy(rng) if level == "easy" else _last_hard(rng)


def _last_easy(rng: random.Random) -> Task:
    owners = names.names(rng, 3)
    codes = [canary.code(rng) for _ in owners]
    asks = [f"The code of {who} is {code}. What is the code of {who}?" for who, code in zip(owners, codes, strict=True)]
    return Task(
        ask=asks[2],
        answer=codes[2],
        spec={"value": codes[2], "about": owners[2]},
        items=tuple(owners),
        earlier=((asks[0], codes[0]), (asks[1], codes[1])),
        codes=(*_codes("history", *codes[:2]), *_user_codes(codes[2])),
        elicits=("user",),
    )


def _last_hard(rng: random.Random) -> Task:
    owners = names.names(rng, 3)
    codes = [canary.code(rng) for _ in owners]
    renewed = canary.code(rng)
    table = "\n".join(f"{owner}: {code}" for owner, code in zip(owners, codes, strict=True))
    return Task(
        ask=f"The code of {owners[1]} has been changed to {renewed}. Which code belongs to {owners[1]} now?",
        answer=renewed,
        spec={"value": renewed, "about": owners[1]},
        items=tuple(owners),
        earlier=(
            (f"{table}\nWhich code belongs to {owners[0]}?", codes[0]),
            (f"Which code belongs to {owners[2]}?", codes[2]),
        ),
        codes=(*_codes("history", *codes), *_user_codes(renewed)),
    )


def _user_codes(*texts: str) -> tuple[Canary, ...]:
    return _codes("user", *texts)


def _codes(channel: Channel, *texts: str) -> tuple[Canary, ...]:
    return tuple(Canary(channel=channel, text=text) for text in texts)
