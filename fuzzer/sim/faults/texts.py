"""Faults that show in the text itself, whatever the traffic: noise, foreign letters, loops, nothing at all."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fuzzer.sim.answer import compile_answer
from fuzzer.sim.faults.answers import content_places, own, saying, with_slot
from fuzzer.sim.faults.base import Fault, Plant

if TYPE_CHECKING:
    from fuzzer.sim.engine import Request
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Script

_LOOK_ALIKES = str.maketrans("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ")
_LEAKED = "<|im_end|>"
_LOOPS = (("!",), (" and", " the"), (" of", " of"), ("\n", " I", " will"))
_SYLLABLE = 3  # letters
_LATE = 48  # output tokens after which a long answer collapses


class TokenNoise(Plant):
    """One content word is damaged: look-alike letters, a doubled syllable or a leaked special token."""

    def begins(self, request: Request, script: Script) -> Script:
        """Damage a word."""
        places = content_places(request.reading.slots)
        if not (places and self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        place = places[request.draw.choose(len(places), 1)]
        text = _damage(request.reading.slots[place].text, request.draw.choose(3, 2))
        return saying(request, with_slot(request.reading.slots, place, text), script)


class LookAlikes(Plant):
    """Tokens of another alphabet win: letters of one content word are replaced by ones that look the same."""

    def begins(self, request: Request, script: Script) -> Script:
        """Replace the letters of a word that has such letters."""
        slots = request.reading.slots
        places = [
            place for place in content_places(slots) if slots[place].text.translate(_LOOK_ALIKES).isascii() is False
        ]
        if not (places and self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        place = places[request.draw.choose(len(places), 1)]
        return saying(request, with_slot(slots, place, slots[place].text.translate(_LOOK_ALIKES)), script)


class DoubledSyllables(Plant):
    """When all drafts of a step are accepted, the position is one off: the end of a word comes twice."""

    def drafted(self, step: Step) -> None:
        """Double the end of the first word of a step that was accepted whole."""
        for sequence, fresh in zip(step.rows, step.fresh, strict=True):
            whole = len(fresh) == self.engine.config.k + 1
            if not (whole and self.strikes(self.engine.in_flight[sequence])):
                continue
            for emission in fresh:
                if (
                    emission.content
                    and len(emission.token.strip()) > _SYLLABLE
                    and emission.token[-_SYLLABLE:].isalnum()
                ):
                    self.acted(self.engine.in_flight[sequence])
                    emission.replace(emission.token + emission.token[-_SYLLABLE:])
                    break


class Collapse(Plant):
    """Falls into a repetition loop that runs to the limit."""

    def begins(self, request: Request, script: Script) -> Script:
        """Keep the first half of the answer, then repeat a phrase."""
        if not (self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        slots, key = request.reading.slots, request.reading.key
        loop = _LOOPS[request.draw.choose(len(_LOOPS), 3)]
        return dataclasses.replace(script, nodes=compile_answer(slots[: len(slots) // 2], key), key=key, loop=loop)


class LateCollapse(Plant):
    """Long answers fall into a loop: what is recurrent in the model's state has gone stale by then."""

    def drafted(self, step: Step) -> None:
        """Turn a long answer into a loop."""
        for sequence in step.rows:
            request = self.engine.in_flight[sequence]
            if len(sequence.emitted) >= _LATE and not sequence.script.loop and self.strikes(request):
                self.acted(request)
                loop = _LOOPS[request.draw.choose(len(_LOOPS), 3)]
                sequence.divert(dataclasses.replace(sequence.script, nodes=(), loop=loop))


class Empty(Plant):
    """A well-formed reply without content."""

    def begins(self, request: Request, script: Script) -> Script:
        """Say nothing."""
        if not (self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        return dataclasses.replace(script, nodes=())


def _damage(text: str, how: int) -> str:
    look_alike = text.translate(_LOOK_ALIKES)
    if how == 0 and look_alike != text:
        return look_alike
    if how == 1 and text[-1].isalnum():
        return text + text[-3:].strip()
    return text + _LEAKED


FAULTS = {
    "collapse": Fault(
        "falls into a repetition loop that runs to max_tokens",
        0.05,
        symptom="COLLAPSE",
        report="https://github.com/sgl-project/sglang/issues/32666",
        kinds=("corruption", "wrong-answer"),
        plant=Collapse,
    ),
    "late-collapse": Fault(
        f"an answer of more than {_LATE} tokens falls into a repetition loop",
        0.5,
        symptom="COLLAPSE",
        report="https://github.com/vllm-project/vllm/issues/10559",
        kinds=("corruption", "wrong-answer"),
        plant=LateCollapse,
        trigger=f"an answer of more than {_LATE} tokens",
    ),
    "empty-200": Fault(
        "a well-formed HTTP 200 without content",
        0.05,
        symptom="EMPTY",
        report="https://github.com/vllm-project/vllm/issues/45425",
        kinds=("wrong-answer/empty",),
        plant=Empty,
    ),
    "token-noise": Fault(
        "look-alike letters, a doubled syllable or a leaked special token inside sound text",
        0.05,
        symptom="TOKEN_NOISE",
        report="https://github.com/sgl-project/sglang/issues/34959",
        kinds=("corruption", "wrong-answer"),
        plant=TokenNoise,
    ),
    "look-alikes": Fault(
        "one word comes in letters of another alphabet that look the same",
        0.05,
        symptom="TOKEN_NOISE",
        report="https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/pull/3",
        kinds=("corruption/look-alike", "corruption/script-switch"),
        plant=LookAlikes,
    ),
    "doubled-syllables": Fault(
        "the end of a word comes twice where all drafts of a step were accepted",
        0.1,
        symptom="TOKEN_NOISE",
        report="https://github.com/antirez/ds4/issues/1001",
        kinds=("corruption/doubled-syllable", "self-consistency/argmax", "wrong-answer"),
        plant=DoubledSyllables,
        trigger="a step whose drafts are all accepted",
    ),
}
