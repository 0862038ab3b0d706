"""Parameter fuzzing: requests that differ in how they are asked, not in what, among requests cut short in odd ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.schedule import AS_PLANNED, Overrides, Release, Send
from fuzzer.traffic.mixture import Chain, among
from fuzzer.traffic.setting import Setting

LIMITS = (1, 2, 3, 5, 8)  # tokens
STOPS = (" ", "\n", "e", ".", "-", ": ")  # strings that stand in nearly every reply
NEVER = "\u2603\u2603"  # in no right answer: a stop string that ends so is held back for, and then not found
PENALTY = 2.0  # the most that engines allow
TWIN_TOKENS = 48
TWIN_CHOICE = 3  # prompts of which the one with the longest answer is asked twice: a short reply repeats nothing


def param_fuzz(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Victims streamed or not, at a block edge, with a stop string that nearly occurs; neighbours of every odd kind."""
    odd = _Neighbours(setting, prompts)
    yield among([(_victim(place, prompt, setting),) for place, prompt in enumerate(prompts)], odd.chain, setting)


def _victim(place: int, prompt: str, setting: Setting) -> Send:
    turn = setting.before + place
    kind = turn % 4
    if kind == 1:
        return Send(prompt=prompt, overrides=Overrides(stream=bool(turn // 4 % 2)))
    if kind == 2:
        return Send(prompt=prompt, overrides=_at_edge(prompt, turn // 4, setting))
    if kind == 3:
        tail = setting.prompt(prompt).answer.rstrip()[-4:]
        return Send(prompt=prompt, overrides=Overrides(stop=(tail + NEVER,)))
    return Send(prompt=prompt)


def _at_edge(prompt: str, turn: int, setting: Setting) -> Overrides:
    """Padding that brings the prompt one token before, to, or one past the edge of a KV block, as far as that is known.

    A word and the line break after the padding count as a token each. Where the engine did not tell how long the prompt
    is, the padding goes through all lengths of a block.
    """
    edge = setting.kv_block * (1, 2, 4)[turn // 3 % 3]
    known = setting.tokens.get(prompt)
    pad = 1 + turn % edge if known is None else (turn % 3 - 1 - known - 1) % edge or edge
    return Overrides(pad=pad, pad_key=f"{setting.rng.getrandbits(48):012x}")


class _Neighbours:
    """What the neighbours' slots send: cut short, stopped, several choices, observed, twins."""

    def __init__(self, setting: Setting, victims: Sequence[str]) -> None:
        self._setting = setting
        self._victims = victims
        self._turn = 0

    def chain(self, _: int, __: int) -> Chain:
        """The next request, or pair of requests."""
        rng, kind = self._setting.rng, self._turn % 6
        self._turn += 1
        if kind == 0:
            return self._twins()
        if kind == 1:
            flipped = Overrides(stream=rng.random() < 0.5)
            return (Send(prompt=rng.choice(self._victims), role="neighbour", overrides=flipped),)
        overrides = (
            Overrides(max_tokens=rng.choice(LIMITS), stop=(rng.choice(STOPS),), stream=rng.random() < 0.5),
            Overrides(stop=tuple(rng.sample(STOPS, 2))),
            Overrides(temperature=0.8, n=rng.randint(2, 3), max_tokens=32, stop=(rng.choice(STOPS),)),
            Overrides(max_tokens=rng.choice(LIMITS), logprobs=rng.randint(1, 5)),
        )[kind - 2]
        return (Send(prompt=self._setting.neighbour().id, role="neighbour", overrides=overrides),)

    def _twins(self) -> Chain:
        """One prompt plain, and again with the strongest penalties, which must change many a reply."""
        offered = [self._setting.neighbour() for _ in range(TWIN_CHOICE)]
        prompt = max(offered, key=lambda prompt: len(prompt.answer)).id
        plain = AS_PLANNED.model_copy(update={"max_tokens": TWIN_TOKENS})
        penalised = plain.model_copy(update={"presence_penalty": PENALTY, "frequency_penalty": PENALTY})
        return tuple(Send(prompt=prompt, role="neighbour", overrides=overrides) for overrides in (plain, penalised))
