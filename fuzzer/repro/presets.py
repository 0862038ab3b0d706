"""The presets of ``specfuzz repro``: traffic that public reports were made with, one leg after another."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.errors import UsageError
from fuzzer.plan import ScheduleName


@dataclass(frozen=True, slots=True)
class Leg:
    """One part of a preset: a schedule at a concurrency, and how many requests are judged an arm.

    Copies of one prompt are counted by round: 304 requests are 38 rounds of 8.
    """

    title: str
    schedule: ScheduleName
    concurrency: int
    requests: int


@dataclass(frozen=True, slots=True)
class Told:
    """One line of a public report: what was asked, and how many answers were wrong."""

    what: str
    wrong: int
    of: int


@dataclass(frozen=True, slots=True)
class Preset:
    """What is asked, in which order; ``serial`` requests one at a time come first. ``told`` is the public report's."""

    name: str
    summary: str
    legs: tuple[Leg, ...]
    families: tuple[str, ...] = ()
    serial: int = 60
    report: str = ""
    told: tuple[Told, ...] = ()


_ALL = (
    Preset(
        "c8-wrong-answer",
        "closed-answer ordering prompts: 100 one at a time, then 38 rounds of 8, distinct ones and copies of one",
        (
            Leg("distinct prompts, rounds of 8", "rounds", 8, 304),
            Leg("one prompt 8 times a round, counted in rounds", "replicas", 8, 304),
        ),
        families=("ordering",),
        serial=100,
        report="https://github.com/MiaAI-Lab/Qwen3.8-27B-SGLang-DGX-Spark/issues/11",
        told=(
            Told("speculation on, one at a time", 0, 100),
            Told("speculation off, concurrency 8", 0, 304),
            Told("speculation on, concurrency 8, packed-FP4 lm_head", 111, 304),
            Told("speculation on, concurrency 8, BF16 lm_head", 1, 304),
        ),
    ),
    Preset(
        "wrong-context",
        "talks of several turns beside calls of functions, which have no word in common",
        (
            Leg("whole conversations", "multi-turn", 8, 192),
            Leg("a closed loop", "closed-loop", 8, 304),
        ),
        families=("conversation", "tool-call"),
        report="https://github.com/sgl-project/sglang/issues/36548",
    ),
    Preset(
        "burst-then-solo",
        "a burst, drained, then a lone request",
        (Leg("bursts of 8 and lone requests", "burst-solo", 8, 306),),
        report="https://github.com/tenstorrent/tt-metal/issues/56680",
    ),
    Preset(
        "cancel-retry",
        "requests on a shared prefix, broken off and sent again beside bystanders",
        (Leg("cancel and retry", "shared-prefix-cancel", 8, 304),),
    ),
    Preset(
        "hot-neighbours",
        "greedy requests beside sampled, penalised and constrained ones",
        (Leg("hot neighbours", "hot-neighbours", 8, 304),),
        report="https://github.com/vllm-project/vllm/issues/9441",
    ),
    Preset(
        "acceptance-collapse",
        "does drafting pay at 8 and at 16 in flight?",
        (Leg("8 in flight", "closed-loop", 8, 96), Leg("16 in flight", "closed-loop", 16, 96)),
        report="https://github.com/vllm-project/vllm/pull/42728",
    ),
    Preset(
        "greedy-parity",
        "long outputs, one stream, against the reference: where do they part?",
        (Leg("one at a time", "closed-loop", 1, 96),),
        families=("long-count", "alphabet-cycle", "echo-ids"),
        report="https://github.com/vllm-project/vllm/issues/41758",
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def preset(name: str) -> Preset:
    """A preset by name; UsageError for an unknown one."""
    if name not in PRESETS:
        raise UsageError(f"--preset: unknown preset {name!r}; known are {', '.join(PRESETS)}")
    return PRESETS[name]
