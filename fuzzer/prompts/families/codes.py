"""Questions whose answer is a code: code-word, lookup and last-message-wins."""

from __future__ import annotations

from fuzzer.history.records import Canary, Channel, Level, Prompt
from fuzzer.prompts import canary
from fuzzer.prompts.checks import listing, single
from fuzzer.prompts.checks.found import Found
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task
from fuzzer.prompts.reply import Reply

_ASK_CODE_WORD = "What is the code word? Reply with the code word only."


def code_word(rng: Draws, level: Level) -> Task:
    """A code word is given once (easy), or changed twice so that the last one holds (hard)."""
    return _code_word_easy(rng) if level == "easy" else _code_word_hard(rng)


def _code_word_easy(rng: Draws) -> Task:
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


def _code_word_hard(rng: Draws) -> Task:
    first, second, last = (canary.code(rng) for _ in range(3))
    ask = (
        f"At first the code word was {first}. Then it was changed to {second}. Now it has been changed to {last}. "
        "What is the code word now?"
    )
    return Task(ask=ask, answer=last, spec={"value": last}, codes=_user_codes(first, second, last))


def lookup(rng: Draws, level: Level) -> Task:
    """Which code belongs to a name: of two (easy), or the town and code of one row of a table of ten (hard)."""
    return _lookup_easy(rng) if level == "easy" else _lookup_hard(rng)


def _lookup_easy(rng: Draws) -> Task:
    owners = rng.names(2)
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


def _lookup_hard(rng: Draws) -> Task:
    people, towns = rng.names(10), rng.names(10)
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


def last_message_wins(rng: Draws, level: Level) -> Task:
    """Earlier turns ask other questions, each answered; the last message's question is the one to answer."""
    return _last_easy(rng) if level == "easy" else _last_hard(rng)


def _last_easy(rng: Draws) -> Task:
    owners = rng.names(3)
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


def _last_hard(rng: Draws) -> Task:
    owners = rng.names(3)
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


def _check_lookup(prompt: Prompt, reply: Reply) -> Found:
    return (listing.pair if prompt.level == "hard" else single.code)(prompt, reply)


FAMILIES = (
    Family(
        "code-word", "say a code word that was given", "another request's code, miscopied tokens",
        code_word, single.code, {"easy": 16, "hard": 5},
    ),
    Family(
        "lookup", "find one entry among several", "the wrong row, another request's table",
        lookup, _check_lookup, {"easy": 6, "hard": 4},
    ),
    Family(
        "last-message-wins", "answer the last of several questions", "an earlier turn's answer",
        last_message_wins, single.code, {"easy": 12, "hard": 8},
    ),
)  # fmt: skip
