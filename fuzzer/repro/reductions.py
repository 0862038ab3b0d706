"""What can be made smaller or simpler about a cohort; each function gives candidates, the boldest first."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from fuzzer.finding import Finding
from fuzzer.history.records import Level, Prompt, Received
from fuzzer.history.schedule import AS_PLANNED, Release, Send
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families import FAMILIES
from fuzzer.repro.cohort import Cohort, as_victim
from fuzzer.traffic.lengths import CHARACTERS

SIMPLE = ("echo", "code-word")  # families whose easy form most models can do
_OTHERS: tuple[tuple[str, Level], ...] = (("echo", "easy"), ("code-word", "hard"))  # what neighbours ask instead
WINDOWS_MS = (10.0, 50.0, 200.0)
LEAD_MS = 5.0  # by which one long neighbour is sent before the others
_ROOM = 1.5  # times the tokens of the longest right reply
_LEAST_TOKENS = 16


def earlier_releases(cohort: Cohort) -> Iterator[Cohort | None]:
    """Fewer of the releases before the last one: none, one, two, four ..."""
    rounds = cohort.rounds
    last = next(number for number, places in enumerate(rounds) if cohort.victim in places)
    keep = 1
    while keep < len(rounds):
        first = max(0, last - keep + 1)
        yield cohort.only({place for places in rounds[first : last + 1] for place in places})
        keep = keep * 2 if keep > 1 else 2


def with_donor(cohort: Cohort, finding: Finding) -> Cohort | None:
    """The victim and the donor alone, with what their slots sent before; None where no donor is known."""
    donor = finding.donor.prompt if finding.donor else None
    if donor is None:
        return None
    places = {place for place, send in enumerate(cohort.sends) if send.prompt == donor}
    chains = [chain for chain in cohort.chains if cohort.victim in chain or places.intersection(chain)]
    return cohort.only({place for chain in chains for place in chain})


def fillable(cohort: Cohort) -> list[int]:
    """Whom a neighbour that fills the engine's memory could harm: the victim, and the one with the longest answer."""
    lengths = {place: use[1] for place, use in _lengths(cohort).items() if place in cohort.judged}
    return list(
        dict.fromkeys(
            place for place in (cohort.victim, max(lengths, default=-1, key=lengths.__getitem__)) if place in lengths
        )
    )


def filling(
    cohort: Cohort, victim: int, pool: int | None, context: int | None, measured: tuple[int, int] | None = None
) -> Cohort | None:
    """One victim, and one neighbour that leaves it room for its prompt and half its answer in a pool of so many tokens.

    None where nobody has padding, the pool or the lengths are not known, or the pool is larger than the ``context``.
    ``measured`` is a padding of the neighbour's and the tokens that it made. An engine that throws out who came last
    throws out the victim, which comes after the neighbour.
    """
    sends, lengths = cohort.sends, _lengths(cohort)
    long = [place for place in lengths if sends[place].role == "neighbour" and sends[place].overrides.pad]
    if pool is None or not long or victim not in lengths:
        return None
    neighbour = max(long, key=lambda place: sends[place].overrides.pad)
    padded, tokens = measured or (sends[neighbour].overrides.pad, lengths[neighbour][0])
    own = len(cohort.asked[sends[neighbour].prompt].text) // CHARACTERS
    prompt, answer = lengths[victim]
    wanted, limit = pool - prompt - answer, max(2 * answer, _LEAST_TOKENS)
    pad = padded + round((wanted - tokens) * padded / max(tokens - own, 1))
    if pad < 1 or (context is not None and wanted + limit > context):
        return None
    overrides = sends[neighbour].overrides.model_copy(update={"pad": pad, "max_tokens": limit, "ignore_eos": True})
    change = {
        neighbour: sends[neighbour].model_copy(update={"overrides": overrides, "at_ms": 0.0}),
        victim: sends[victim].model_copy(update={"at_ms": LEAD_MS}),
    }
    moved = cohort.model_copy(update={"victim": victim}).changed(change, right=_without(cohort.right, neighbour))
    return moved.only({neighbour, victim}) if moved is not None else None


def _lengths(cohort: Cohort) -> dict[int, tuple[int, int]]:
    """Tokens of the prompt and of the reference's reply, where both are known."""
    told = {place: right.usage for place, right in enumerate(cohort.right) if right is not None and right.usage}
    return {
        place: (usage.prompt_tokens, usage.completion_tokens)
        for place, usage in told.items()
        if usage.prompt_tokens and usage.completion_tokens
    }


def _padded(send: Send) -> bool:
    """Whether it is a neighbour made long; lists of words that repeat are there to be drafted."""
    return send.role == "neighbour" and send.overrides.pad > 0 and not send.overrides.pad_cycle


def as_one(cohort: Cohort) -> Cohort | None:
    """One neighbour as long as all those with padding beside the victim; None where there are fewer than two.

    What fills an engine's memory takes many tokens, not many requests. It goes first: who comes last is thrown out.
    """
    sends, asked = cohort.sends, cohort.asked
    release = next(places for places in cohort.rounds if cohort.victim in places)
    slots = [chain for chain in cohort.chains if chain[0] in release and cohort.victim not in chain]
    padded = [[place for place in chain if _padded(sends[place])] for chain in slots]
    slots = [chain for chain, places in zip(slots, padded, strict=True) if places]
    long = [max(places, key=lambda place: sends[place].overrides.pad) for places in padded if places]
    if len(long) < 2:
        return None
    first, *others = long
    words = sum(len(asked[sends[place].prompt].text) // CHARACTERS for place in others)
    longest = sends[first].overrides.model_copy(
        update={
            "pad": words + sum(sends[place].overrides.pad for place in long),
            "max_tokens": sum(sends[place].overrides.max_tokens or cohort.sampling.tokens for place in long),
        }
    )
    change = {
        chain[0]: sends[chain[0]].model_copy(update={"at_ms": LEAD_MS})
        for chain in cohort.chains
        if chain[0] in release
    }
    change[first] = sends[first].model_copy(update={"overrides": longest, "at_ms": 0.0})
    whole = cohort.changed(change, right=_without(cohort.right, first))
    dropped = {place for chain in slots for place in chain} - {first}
    left = whole.only(set(range(cohort.size)) - dropped) if whole is not None else None
    return _all_judged(left) if left is not None else None


def _without(right: Sequence[Received | None], place: int) -> tuple[Received | None, ...]:
    """The reference's replies but for a request that asks for something else now."""
    return (*right[:place], None, *right[place + 1 :])


def _all_judged(cohort: Cohort) -> Cohort:
    """Everyone's answer counts who can be judged: it may strike others than before, as often as it did those."""
    known = dict(zip(cohort.judged, cohort.shares, strict=False))
    mean = sum(known.values()) / max(1, len(known))
    judged = tuple(place for place, send in enumerate(cohort.sends) if send.role == "victim")
    shares = tuple(known.get(place, mean) for place in judged) if known else ()
    return cohort.model_copy(update={"judged": judged, "shares": shares})


def groups(cohort: Cohort) -> list[tuple[int, ...]]:
    """What neighbours are dropped by first: whole slots other than the victim's."""
    return [chain for chain in cohort.chains if cohort.victim not in chain]


def singles(cohort: Cohort) -> list[tuple[int, ...]]:
    """Then single requests."""
    return [(place,) for place in range(cohort.size) if place != cohort.victim]


def serial(cohort: Cohort) -> Cohort | None:
    """One request at a time, the victim last."""
    if cohort.width == 1:
        return None
    order = [place for place in range(cohort.size) if place != cohort.victim] + [cohort.victim]
    sends = [as_victim(cohort.sends[place].model_copy(update={"at_ms": 0.0})) for place in order]
    if any(send.role != "victim" for send in sends):
        return None
    new = {old: place for place, old in enumerate(order)}
    known = dict(zip(cohort.judged, cohort.shares, strict=False))
    judged = sorted(cohort.judged, key=new.__getitem__)
    return cohort.model_copy(
        update={
            "releases": tuple(Release(width=1, chains=((send,),)) for send in sends),
            "victim": new[cohort.victim],
            "judged": tuple(new[place] for place in judged),
            "shares": tuple(known[place] for place in judged) if known else (),
            "right": tuple(cohort.right[place] for place in order),
        }
    )


def simultaneous(cohort: Cohort) -> Cohort | None:
    """All of a release at one moment."""
    change = {place: send.model_copy(update={"at_ms": 0.0}) for place, send in enumerate(cohort.sends) if send.at_ms}
    return cohort.changed(change) if change else None


def neutral(cohort: Cohort) -> Iterator[Cohort | None]:
    """Requests as plain as the run's own: all of them, then one by one."""
    plain = {place: simpler for place, send in enumerate(cohort.sends) if (simpler := _plain(send)) != send}
    if len(plain) > 1:
        yield cohort.changed(plain)
    for place, send in plain.items():
        yield cohort.changed({place: send})


def _plain(send: Send) -> Send:
    return send.model_copy(
        update={"overrides": AS_PLANNED, "cancel_ms": None, "cancel_tokens": None, "tag": None, "turn": None}
    )


def any_content(cohort: Cohort, seed: str) -> Iterator[Cohort | None]:
    """Other prompts in place of all neighbours': the simplest kind, then one with longer answers.

    Only the victim's answer is judged then. Copies of one prompt stay copies. None where the victim's own prompt is
    what the others send too.
    """
    own = cohort.sends[cohort.victim].prompt
    others = dict.fromkeys(send.prompt for send in cohort.sends if send.prompt != own)
    for family, level in _OTHERS if others else ():
        fresh = {
            name: simple(f"{seed}/{name}", f"n{number}-{family}", family, level) for number, name in enumerate(others)
        }
        yield swapped(cohort, fresh)


def swapped(cohort: Cohort, fresh: dict[str, Prompt]) -> Cohort | None:
    """The cohort with other prompts in place of those named; requests that change are judged no more but the victim."""
    change: dict[int, Send] = {}
    for place, send in enumerate(cohort.sends):
        if send.prompt in fresh:
            change[place] = send.model_copy(update={"prompt": fresh[send.prompt].id})
    kept = {prompt.id: prompt for prompt in cohort.prompts} | {prompt.id: prompt for prompt in fresh.values()}
    return cohort.changed(
        change,
        prompts=tuple(kept.values()),
        judged=tuple(place for place in cohort.judged if place not in change or place == cohort.victim),
        right=tuple(None if place in change else right for place, right in enumerate(cohort.right)),
    )


def simple(seed: str, prompt_id: str, family: str = SIMPLE[0], level: Level = "easy") -> Prompt:
    """A prompt that depends on its seed alone."""
    number = random.Random(f"{seed}/{family}").getrandbits(60)
    return FAMILIES[family].generate(Draws(number, "z", 0), prompt_id, level)


def simpler_victim(cohort: Cohort, seed: str) -> Iterator[Cohort | None]:
    """The victim asks something simpler: each of the simplest kinds, and its own kind in its easiest form."""
    own = cohort.asked[cohort.sends[cohort.victim].prompt]
    families = [*SIMPLE, own.family] if own.family in FAMILIES else list(SIMPLE)
    for family in dict.fromkeys(families):
        if (family, "easy") != (own.family, own.level) and "easy" in FAMILIES[family].levels:
            yield swapped(cohort, {own.id: simple(seed, f"v-{family}", family)})


def fewer_tokens(cohort: Cohort) -> Cohort | None:
    """A limit that leaves room for the longest right reply, where that is known, and no more."""
    counts = [right.usage.completion_tokens for right in cohort.right if right is not None and right.usage is not None]
    told = [count for count in counts if count]
    if not told or len(told) < len(cohort.judged):
        return None
    limit = _LEAST_TOKENS
    while limit < _ROOM * max(told):
        limit *= 2
    if limit >= cohort.sampling.tokens:
        return None
    return cohort.changed({}, sampling=cohort.sampling.model_copy(update={"max_tokens": limit}))


def spread(cohort: Cohort, window_ms: float) -> Cohort | None:
    """The victim so much later than the others of its release."""
    release = next(places for places in cohort.rounds if cohort.victim in places)
    heads = {chain[0] for chain in cohort.chains if chain[0] in release}
    if len(heads) == 1 or cohort.victim not in heads:
        return None
    sends = cohort.sends
    late = sends[cohort.victim].model_copy(update={"at_ms": window_ms})
    return cohort.changed(
        {place: sends[place].model_copy(update={"at_ms": 0.0}) for place in heads} | {cohort.victim: late}
    )


def parts(items: Sequence[tuple[int, ...]], count: int) -> list[set[int]]:
    """The items in ``count`` nearly equal runs, each as the places in it."""
    size, rest = divmod(len(items), count)
    found: list[set[int]] = []
    start = 0
    for number in range(count):
        end = start + size + (number < rest)
        found.append({place for item in items[start:end] for place in item})
        start = end
    return [part for part in found if part]
