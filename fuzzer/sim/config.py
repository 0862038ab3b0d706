"""How a simulated engine is launched."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.errors import UsageError
from fuzzer.sim.faults import FAULTS
from fuzzer.sim.logits import HEADS

KV_BLOCKS = 4096  # pages of the KV pool, unless another size is asked for
IGNORABLE = ("temperature", "max_tokens", "stop", "seed")
DEFAULTABLE = ("temperature", "presence_penalty", "frequency_penalty", "repetition_penalty")


@dataclass(frozen=True, slots=True)
class SimConfig:
    """One simulated engine.

    ``k`` is the draft length, ``acceptance`` the chance (0 to 1) that a draft token is accepted, ``lm_head`` one of
    fp32, bf16, w4a16, fp8, nvfp4. ``faults`` maps names of FAULTS to rates (0 to 1). ``step_seconds`` is the time of
    one speculative step or three plain ones (0 = as fast as it goes); a sequence that joins costs one more, and so does
    every further ``prefill_chunk`` tokens of its prompt. At most ``max_num_seqs`` run together, the others wait. The KV
    pool holds ``kv_blocks`` pages of ``block_size`` tokens; when it is full, who joined last is preempted. Port 0 takes
    a free one. With ``api_key``, requests under /v1 must bear it.
    """

    speculative: bool = False
    k: int = 4
    acceptance: float = 0.75
    lm_head: str = "bf16"
    seed: int = 0
    model: str = "sim-model"
    faults: Mapping[str, float] = field(default_factory=dict)
    step_seconds: float = 0.001
    max_num_seqs: int = 64
    max_model_len: int = 32768
    kv_blocks: int = KV_BLOCKS
    block_size: int = 16
    prefill_chunk: int = 1024
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = field(default=None, repr=False)
    ignores: Sequence[str] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    template: str = ""
    stale_metrics: bool = False

    def __post_init__(self) -> None:
        if self.lm_head not in HEADS:
            raise UsageError(f"lm_head {self.lm_head!r} is unknown; use one of {', '.join(HEADS)}")
        for name, rate in self.faults.items():
            if name not in FAULTS:
                raise UsageError(f"fault {name!r} is unknown; use one of {', '.join(FAULTS)}")
            _within(f"the rate of fault {name}", rate, 0, 1)
        for known, names in ((IGNORABLE, self.ignores), (DEFAULTABLE, self.defaults)):
            for name in names:
                if name not in known:
                    raise UsageError(f"parameter {name!r} cannot be chosen here; use one of {', '.join(known)}")
        _within("acceptance", self.acceptance, 0, 1)
        _within("k", self.k, 1, 32)
        _within("step_seconds", self.step_seconds, 0, 10)
        _within("max_num_seqs", self.max_num_seqs, 1, 4096)
        _within("max_model_len", self.max_model_len, 16, 10**7)
        _within("kv_blocks", self.kv_blocks, 4, 10**7)
        _within("block_size", self.block_size, 1, 4096)
        _within("prefill_chunk", self.prefill_chunk, 16, 10**6)
        _within("port", self.port, 0, 65535)

    @classmethod
    def from_json(cls, text: str) -> SimConfig:
        """The configuration that ``to_json`` wrote."""
        fields = json.loads(text)
        return cls(**fields | {"ignores": tuple(fields["ignores"])})

    def to_json(self) -> str:
        """All fields, the key included: for a private pipe, never for a file."""
        return json.dumps(dataclasses.asdict(self))

    @property
    def version(self) -> str:
        """What the engine calls itself."""
        return "0.26.0+sim"


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}; it must lie between {low} and {high}")
