"""Unequal lengths: long prefills among short decodes, long requests before pairs of short ones, a full KV pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.messages import Wants
from fuzzer.history.schedule import Overrides, Release, Send, padding
from fuzzer.prompts.questions import GO_ON
from fuzzer.traffic.loops import groups
from fuzzer.traffic.mixture import Chain, among, neighbour_slots
from fuzzer.traffic.setting import Setting

STAGGER_MS = 25.0
LONG_WORDS = 2_000  # of padding, at most: more only costs time
ROOM = 512  # tokens of a context that are left for the prompt itself and for its answer
FILL = (0.92, 0.985)  # of the pool that the neighbours' prompts take, so that all are let in
OUTGROW = 0.06  # of the pool that their replies add, so that it is full while all of them decode
GROWTH = (96, 1024)  # tokens of such a reply, at least and at most
LONG_REPLY = 192  # tokens of the long request before a pair
CHARACTERS = 4  # a token, about
LISTS = 24  # of words in all, after the slots' long requests
MOST_LISTS = 8  # of them on one slot
LIST_SHARE = 0.6  # of the long request: longer than what preflight and calibration ask, mostly
LIST_CYCLE = 6  # words that come again and again: what follows is easy to draft
LIST_REPLY = 32  # tokens


def mixed_lengths(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Victims decode while neighbours join: long prompts with short replies, in turn with requests of random length."""
    longest = min(LONG_WORDS, max(setting.context // 2 - ROOM, 64))

    def neighbours(slot: int, turn: int) -> Chain:
        rng = setting.rng
        if (slot + turn) % 2:
            pad, limit = rng.randint(longest // 2, longest), rng.randint(2, 16)
        else:
            pad, limit = rng.randint(1, 256), rng.randint(8, 192)
        return (_padded(setting, min(pad, longest), limit),)

    yield among([(Send(prompt=prompt),) for prompt in prompts], neighbours, setting, stagger_ms=STAGGER_MS)


def long_pairs(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """On every slot a long request, and after it one victim twice: the first may differ from the second, or both fail.

    Where the engine has slots to pin requests to, each chain stays on one of its own. There the first release begins
    with a list of words that is easy to draft, and ends with others like it: a slot whose drafts outlive its requests
    drafts the first well, and badly those after its long request (ggml-org/llama.cpp#27852).
    """
    usual = min(LONG_WORDS // 4, max(setting.context // 4, 64))
    most = max(usual, min(LONG_WORDS, setting.context - ROOM))
    pins = setting.traits.pins
    for place, group in enumerate(groups(prompts, setting.concurrency)):
        probed = pins and place == setting.before == 0
        words = most if probed else usual
        count = 1 + min(max(-(-LISTS // setting.concurrency), 2), MOST_LISTS) if probed else 0
        chains: list[Chain] = []
        for slot, prompt in enumerate(group):
            pinned = slot if pins else None
            lists = [_list(setting, words, slot) for _ in range(count)]
            long = _padded(setting, words, LONG_REPLY, ignore_eos=True)
            first = long.model_copy(update={"overrides": long.overrides.model_copy(update={"slot": pinned})})
            pair = Send(prompt=prompt, overrides=Overrides(slot=pinned))
            chains.append((*lists[:1], first, pair, pair, *lists[1:]))
        yield Release(width=setting.concurrency, chains=tuple(chains))


def pool_pressure(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Neighbours whose prompts fill the engine's KV pool and whose replies outgrow it, while victims pass.

    An engine that runs out of room in mid-decoding has to throw somebody out, and who came last is a victim, mostly.
    Prompts that did not fit from the start would only wait. The size of the pool is the engine's word, or a stated
    guess where it gives none; what was reached is recorded.
    """
    slots = neighbour_slots(setting.concurrency)
    share = setting.pool / slots
    growth = min(max(round(OUTGROW * share), GROWTH[0]), GROWTH[1], setting.context // 4)

    def neighbours(_: int, __: int) -> Chain:
        prompt = setting.neighbour()
        wanted = round(setting.rng.uniform(*FILL) * share) - len(prompt.text) // CHARACTERS
        words = max(min(wanted, setting.context - growth - ROOM), 16)
        return (_padded(setting, words, growth, ignore_eos=True, prompt=prompt.id),)

    yield among([(Send(prompt=prompt),) for prompt in prompts], neighbours, setting)


def _list(setting: Setting, long: int, slot: int) -> Send:
    """A list on a slot whose long request has so many words of padding.

    How it goes on is forced by a schema, or a model that would rather talk left nothing to draft.
    """
    key, words = _key(setting), round(LIST_SHARE * (long + LONG_REPLY))
    rest = padding(key, words + LIST_REPLY, LIST_CYCLE).split()[words:]
    overrides = Overrides(
        pad=words,
        pad_key=key,
        pad_cycle=LIST_CYCLE,
        max_tokens=LIST_REPLY,
        wants=Wants(json_schema={"type": "string", "enum": [" ".join(rest)]}),
        slot=slot,
    )
    return Send(prompt=GO_ON.id, role="neighbour", overrides=overrides)


def _key(setting: Setting) -> str:
    return f"{setting.rng.getrandbits(48):012x}"


def _padded(setting: Setting, words: int, limit: int, *, ignore_eos: bool = False, prompt: str = "") -> Send:
    overrides = Overrides(pad=words, pad_key=_key(setting), max_tokens=limit, ignore_eos=ignore_eos)
    return Send(prompt=prompt or setting.neighbour().id, role="neighbour", overrides=overrides)
