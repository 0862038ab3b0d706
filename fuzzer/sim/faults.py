"""The faults that can be planted, and which of them strike a request.

A fault is drawn from the server's seed, the prompt's text and how often that text was served before: never from the
order of arrival, so that shuffled traffic meets the same faults. Whether its condition holds (a neighbour in flight,
say) may depend on the traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fuzzer.sim.answer import Slot
from fuzzer.sim.draws import fingerprint, uniforms

_LOOK_ALIKES = str.maketrans("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ")
_LEAKED = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Fault:
    """A plantable fault: what it does, and the share of requests (0 to 1) that it strikes unless told otherwise."""

    summary: str
    default_rate: float


FAULTS: dict[str, Fault] = {
    "last-message-swap": Fault("the last user message is replaced by that of another request in flight", 0.05),
    "stale-answer": Fault("answers with the whole answer to a request that finished earlier", 0.05),
    "verify-drift": Fault("batched speculative verification drifts, more with more rows; thin margins flip", 1.0),
    "row-swap": Fault("one content token is replaced by what a neighbour's row emitted in the same step", 0.05),
    "token-noise": Fault("look-alike letters, a doubled syllable or a leaked special token inside sound text", 0.05),
    "collapse": Fault("falls into a repetition loop that runs to max_tokens", 0.05),
    "empty-200": Fault("a well-formed HTTP 200 without content", 0.05),
    "hang": Fault("accepts the request and stays silent until the client goes", 0.03),
    "server-error": Fault("HTTP 500; one streamed reply in three breaks off in the middle instead", 0.05),
    "acceptance-collapse": Fault("at 4 or more running sequences drafts are hardly ever accepted; text is right", 1.0),
    "spec-off": Fault("speculation is silently off although launched with it (drawn once, at the start)", 1.0),
    "truncate": Fault("the tail is cut: fewer tokens arrive than usage says, with finish_reason stop", 0.05),
}


@dataclass(frozen=True, slots=True)
class Draw:
    """The faults that strike one request, and a source of further choices for them."""

    names: frozenset[str]
    key: bytes

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def choose(self, count: int, purpose: int) -> int:
        """A choice from ``count`` possibilities; ``purpose`` tells independent choices apart."""
        return int(uniforms(self.key, purpose)[0] * count)


def draw_faults(rates: Mapping[str, float], seed: int, prompt: bytes, ordinal: int) -> Draw:
    """Which faults strike the ``ordinal``-th time (from 0) that the prompt of this fingerprint is served."""
    key = fingerprint(f"{seed}\x1f{ordinal}\x1f{prompt.hex()}") if rates else b""
    return Draw(frozenset(name for name, rate in rates.items() if _unit(key, name) < rate), key)


def strikes_server(rates: Mapping[str, float], name: str, seed: int) -> bool:
    """Whether a fault of the whole server is present in this one's life."""
    return name in rates and _unit(fingerprint(f"{seed}\x1fserver"), name) < rates[name]


def _unit(key: bytes, name: str) -> float:
    return uniforms(key + fingerprint(name))[0]


def with_token_noise(slots: tuple[Slot, ...], draw: Draw) -> tuple[Slot, ...]:
    """The answer with one content word damaged."""
    places = [place for place, slot in enumerate(slots) if slot.content and slot.text.strip()]
    if not places:
        return slots
    place = places[draw.choose(len(places), 1)]
    damaged = Slot(_damage(slots[place].text, draw.choose(3, 2)), content=True)
    return (*slots[:place], damaged, *slots[place + 1 :])


def _damage(text: str, how: int) -> str:
    look_alike = text.translate(_LOOK_ALIKES)
    if how == 0 and look_alike != text:
        return look_alike
    if how == 1 and text[-1].isalnum():
        return text + text[-3:].strip()
    return text + _LEAKED


def collapsed(slots: tuple[Slot, ...], draw: Draw) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """The beginning of the answer, and the tokens it then repeats without end."""
    phrase = (("!",), (" and", " the"), (" of", " of"), ("\n", " I", " will"))[draw.choose(4, 3)]
    return slots[: len(slots) // 2], phrase
