"""Hot neighbours: sampled, penalised, constrained and observed requests beside greedy ones.

They take a whole batch down other code paths of an engine, which a batch of greedy requests never sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from fuzzer.history.messages import Tool, Wants
from fuzzer.history.schedule import Overrides, Release, Send
from fuzzer.traffic.mixture import Chain, among
from fuzzer.traffic.setting import Setting

TOKENS = 96  # a sampled reply may run on; so long is enough to share many batches with others

_OBJECT: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}
_ARGUMENTS: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"topic": {"type": "string"}},
    "required": ["topic"],
}
_TOOL = Tool(name="look_up", description="Look a topic up in the manual.", parameters=_ARGUMENTS)

KINDS: tuple[Overrides, ...] = (
    Overrides(temperature=1.0),
    Overrides(temperature="absent"),
    Overrides(temperature=0.8, seed="absent"),
    Overrides(temperature=0.7, presence_penalty=0.6, frequency_penalty=0.6),
    Overrides(repetition_penalty=1.2, frequency_penalty=0.4),
    Overrides(temperature=0.9, logit_bias={"11": -2.0, "13": 2.0, "198": 1.0}),
    Overrides(logprobs=5),
    Overrides(temperature=0.6, logprobs=3),
    Overrides(wants=Wants(json_schema=_OBJECT)),
    Overrides(wants=Wants(tools=(_TOOL,))),
    Overrides(temperature=1.2, wants=Wants(json_schema=_OBJECT)),
    Overrides(temperature=1.0, n=2),
)
"""What neighbours ask for, in turn."""


def hot_neighbours(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Greedy victims; half of the slots send hot neighbours of every kind, in a shuffled order."""
    kinds = list(KINDS)
    setting.rng.shuffle(kinds)

    def neighbours(slot: int, turn: int) -> Chain:
        kind = kinds[(slot * 5 + turn) % len(kinds)]  # 5 and 12 have no common factor: the slots go out of step
        overrides = kind.model_copy(update={"max_tokens": TOKENS})
        return (Send(prompt=setting.neighbour().id, role="neighbour", overrides=overrides),)

    yield among([(Send(prompt=prompt),) for prompt in prompts], neighbours, setting)
