"""The demo: boots an embedded pair of servers, gates it, and says plainly whether the engine is simulated or real."""

from __future__ import annotations

import dataclasses
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.sim.config import KV_BLOCKS, SimConfig
from fuzzer.sim.faults import FAULTS, Fault
from fuzzer.sim.faults.base import USUAL
from fuzzer.sim.gateway import GatewayConfig, GatewayServer
from fuzzer.sim.gateway_faults import GATEWAY_FAULTS
from fuzzer.sim.gguf_model import ensure_model
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer, Speculation
from fuzzer.sim.process import SimServer

NONE = "none"
TIMEOUT = 2.0  # seconds; a simulated hang need not be waited for longer
LLAMA_SLOTS = 8
LLAMA_REQUESTS = 60
LLAMA_FAMILIES = ("echo", "last-message-wins")  # what a model of 135 million parameters does with some margin


@dataclass(frozen=True, slots=True)
class Pair:
    """What to boot: ``heads`` are the lm_head precisions, a pair of servers each (None: unstated, one pair)."""

    fault: str
    heads: tuple[str | None, ...] = (None,)


def sim_pair(fault: str) -> Pair:
    """The simulated pairs that show a fault: drift takes two precisions, since it is what they differ in."""
    if fault != NONE and fault not in FAULTS:
        raise UsageError(f"--fault: unknown fault {fault!r}; known are none, {', '.join(FAULTS)}")
    return Pair(fault, ("nvfp4", "bf16") if fault == "verify-drift" else ("bf16",))


async def boot_sim(stack: AsyncExitStack, pair: Pair, *, seed: int, requests: int | None = None) -> Plan:
    """Boot the simulated servers of a pair, alive until the stack closes, and return the plan that gates them.

    It is the default gate, but for a fault that needs other traffic.
    """
    fault = FAULTS.get(pair.fault)
    faults = {pair.fault: fault.default_rate} if fault else {}
    pool = (fault.kv_blocks if fault else None) or KV_BLOCKS
    candidates: list[Endpoint] = []
    references: list[Endpoint] = []
    for head in pair.heads:
        precision = head or "bf16"
        name = precision if len(pair.heads) > 1 else ""
        config = SimConfig(speculative=True, lm_head=precision, seed=seed, kv_blocks=pool, faults=faults)
        candidate = SimServer(config)
        reference = SimServer(dataclasses.replace(config, speculative=False, faults={}))
        for server, group, role in ((candidate, candidates, "candidate"), (reference, references, "reference")):
            await stack.enter_async_context(server)
            group.append(Endpoint(name=name or role, url=server.url, lm_head=precision))
    plan = Plan(
        candidates=tuple(candidates),
        references=tuple(references),
        seed=seed,
        sampling=Sampling(timeout=TIMEOUT),
        policy=Policy(requests=requests),
    )
    return plan if fault is None else Plan.model_validate(dict(plan) | _traffic(fault))


def _traffic(fault: Fault) -> dict[str, object]:
    """What of the default gate must be otherwise for a fault to show."""
    needs: dict[str, object] = {"families": fault.families} if fault.families else {}
    if fault.schedule:
        needs["schedules"] = (fault.schedule,)
    if fault.concurrency != USUAL:
        needs["concurrency"] = (1, fault.concurrency)
    return needs


async def boot_llama(
    stack: AsyncExitStack, model: Path, fault: str, *, seed: int, requests: int | None = None, speculation: bool = True
) -> Plan:
    """Boot llama.cpp twice (n-gram speculation, none), with a fault gateway before the candidate if asked."""
    kind: Speculation | None = "ngram" if speculation else None
    candidate = await stack.enter_async_context(
        LlamaServer(LlamaConfig(model=model, slots=LLAMA_SLOTS, speculation=kind))
    )
    reference = await stack.enter_async_context(LlamaServer(LlamaConfig(model=model, slots=LLAMA_SLOTS)))
    url = candidate.url
    if fault != NONE:
        gateway = await stack.enter_async_context(GatewayServer(GatewayConfig(upstream=url, fault=fault, seed=seed)))
        url = gateway.url
    count = requests or LLAMA_REQUESTS
    return Plan(
        candidates=(Endpoint(name="candidate", url=url),),
        references=(Endpoint(name="reference", url=reference.url),),
        schedules=("closed-loop",),
        families=LLAMA_FAMILIES,
        seed=seed,
        policy=Policy(requests=count, control_requests=min(count, LLAMA_REQUESTS), max_wrong_rate=0.05),
    )


def check_llama_fault(fault: str) -> None:
    """Refuse a fault that the gateway cannot plant."""
    if fault not in GATEWAY_FAULTS:
        raise UsageError(
            f"--fault: unknown fault {fault!r}; before a real engine there are {', '.join(GATEWAY_FAULTS)}"
        )


def llama_model(path: Path | None) -> Path:
    """The GGUF that the real pair runs: one's own, or SmolLM2 from the cache, fetched at first use."""
    import sys

    return ensure_model(path, lambda text: print(text, file=sys.stderr))
