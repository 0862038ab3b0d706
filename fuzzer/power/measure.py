"""One measurement: gate a pair of simulated servers, and compare what was found with what was planted."""

from __future__ import annotations

import dataclasses
import re
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx

from fuzzer.finding import Finding, read_findings
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Exchange
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.power.jobs import DEFAULT_GATE, PLAIN_REQUESTS, Job, Row
from fuzzer.power.program import program_state
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.faults import FAULTS
from fuzzer.sim.process import SimServer

TIMEOUT = 10.0  # seconds for one exchange
HANG_TIMEOUT = 1.0  # where the fault is a hang, which need not be waited for longer
CONTROL = 8  # requests one at a time
HEALTH = (24, 48)  # those, and judged answers at N, where only the engine's counters tell
KV_BLOCKS = 512  # a pool that twelve usual requests do not fill
INTERRUPTED = 130
# what the policy says without a finding
REASON_KINDS = dict.fromkeys(("acceptance-collapse", "stale-drafts", "no-speculation"), "speculation-health")
_CPU = re.compile(r"^process_cpu_seconds_total (\S+)", re.MULTILINE)


class Bench:
    """A pair of simulated servers that is launched anew for every job; an async context manager."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._servers: list[SimServer] = []

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the servers; the next launch boots others."""
        self._servers = []
        await self._stack.aclose()

    async def launch(self, configs: Iterable[SimConfig]) -> list[SimServer]:
        """Servers with these configurations, in the processes of the last ones where there are any."""
        for place, config in enumerate(configs):
            if place < len(self._servers):
                await self._servers[place].relaunch(config)
            else:
                self._servers.append(await self._stack.enter_async_context(SimServer(config)))
        return self._servers


async def measure(job: Job, bench: Bench, out: Path) -> Row | None:
    """Gate a pair that has the job's fault; None if the run was interrupted. The run directory stays in ``out``."""
    started, cpu = time.monotonic(), time.process_time()
    servers = await bench.launch(_configs(job))
    before = sum([await _cpu(server) for server in servers])
    run = await gate(_plan(job, servers), out=out, run_id=f"{job.purpose}-{job.fault}-{job.schedule}-{job.seed}")
    if run.summary.exit_status == INTERRUPTED:
        return None
    planted = await _planted(servers[0])
    used = sum([await _cpu(server) for server in servers]) - before
    return _row(job, run, planted, seconds=time.monotonic() - started, cpu=time.process_time() - cpu + used)


def _configs(job: Job) -> tuple[SimConfig, SimConfig]:
    fault = FAULTS.get(job.fault)
    head = fault.lm_head if fault else "bf16"
    pool = (fault.kv_blocks if fault else None) or KV_BLOCKS
    faults = {job.fault: job.rate} if fault else {}
    candidate = SimConfig(speculative=True, lm_head=head, seed=job.seed, kv_blocks=pool, faults=faults)
    return candidate, dataclasses.replace(candidate, speculative=False, faults={})


def _plan(job: Job, servers: list[SimServer]) -> Plan:
    """The default gate, or one schedule at one concurrency with a small control."""
    candidate, reference = servers[:2]
    fault = FAULTS.get(job.fault)
    hangs = fault is not None and fault.symptom == "HANG"
    given: dict[str, Any] = {
        "candidates": (Endpoint(name="candidate", url=candidate.url, lm_head=candidate.config.lm_head),),
        "references": (Endpoint(name="reference", url=reference.url, lm_head=reference.config.lm_head),),
        "seed": job.seed,
        "sampling": Sampling(timeout=HANG_TIMEOUT if hangs else TIMEOUT),
    }
    if job.schedule == DEFAULT_GATE:
        return Plan.model_validate(given)
    fixed = PLAIN_REQUESTS if job.purpose == "plain" else None
    control = CONTROL
    if fault is not None and fault.kinds == ("speculation-health",):
        control, fixed = HEALTH
    given |= {
        "families": fault.families if fault else (),
        "concurrency": (job.concurrency,),
        "schedules": (job.schedule,),
        "policy": Policy(control_requests=control, requests=fixed),
    }
    return Plan.model_validate(given)


def _asking(server: SimServer) -> httpx.AsyncClient:
    """A client that loads no certificates, which would cost more than what it asks."""
    return httpx.AsyncClient(base_url=server.url, trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


async def _cpu(server: SimServer) -> float:
    """Processor seconds that a server has used since its process began."""
    async with _asking(server) as http:
        told = _CPU.search((await http.get("/metrics")).text)
    return float(told.group(1)) if told else 0.0


async def _planted(server: SimServer) -> dict[str, set[str]]:
    """The requests that the engine says it harmed, and whose content each got: nobody's, or that of several in turn."""
    harmed: dict[str, set[str]] = {}
    async with _asking(server) as http:
        for harm in (await http.get("/sim/planted")).json():
            harmed.setdefault(harm["victim"], set()).update({harm["donor"]} - {""})
    return harmed


def _row(job: Job, run: Run, planted: Mapping[str, set[str]], *, seconds: float, cpu: float) -> Row:
    summary = run.summary
    fault = FAULTS.get(job.fault)
    wanted = set(fault.kinds) if fault else set[str]()
    findings = [finding for finding in read_findings(run.directory / FINDINGS) if finding.arm == "candidate"]
    kinds = {name for finding in findings for name in names_of(finding)}
    kinds |= {REASON_KINDS[reason.code] for reason in summary.reasons if reason.code in REASON_KINDS}
    history = list(exchanges(read_history(run.directory / HISTORY)))
    right = [finding for finding in findings if wanted & set(names_of(finding))]
    gated = [cell for cell in summary.cells if cell.role == "gated"]
    return Row(
        **job._asdict(),
        exit=summary.exit_status,
        found=summary.exit_status == (fault.exit_status if fault else 0),
        kind_ok=bool(kinds & wanted) if fault else not kinds,
        kinds=tuple(sorted(kinds)),
        reasons=tuple(f"{reason.code}: {reason.message}" for reason in summary.reasons),
        donors=donors_of(findings, planted, history) if fault and fault.donors else {},
        struck=len(planted),
        first=_first(right, history),
        judged=sum(cell.rate.n for cell in gated),
        failed=sum(cell.rate.k for cell in gated),
        exchanges=summary.exchanges,
        seconds=round(seconds, 1),
        cpu=round(cpu, 2),
        program=program_state(),
    )


def names_of(finding: Finding) -> tuple[str, str]:
    """A finding's kind, and its kind with the sub-kind."""
    return finding.kind, f"{finding.kind}/{finding.sub_kind}"


def _first(right: Iterable[Finding], history: Iterable[Exchange]) -> int | None:
    """How many requests the candidate had got when the first one with a right finding was sent, itself counted."""
    keys = {finding.exchange for finding in right if finding.exchange}
    sent = sorted((item.sent.sent_ns, item.key) for item in history if item.sent.arm == "candidate")
    return next((place for place, (_, key) in enumerate(sent, 1) if key in keys), None)


def donors_of(
    findings: Iterable[Finding], planted: Mapping[str, set[str]], history: Iterable[Exchange]
) -> dict[str, int]:
    """How many certain bleeds name a donor that the engine says, of those where it says one."""
    prompts = {item.key: item.sent.prompt for item in history}
    sources = {key: {prompts.get(donor) for donor in _behind(key, planted)} for key in planted}
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for finding in findings:
        key = finding.exchange
        if finding.kind != "bleed" or finding.certainty != "certain" or finding.donor is None or key is None:
            continue
        if key in seen or not planted.get(key):
            continue
        seen.add(key)
        counts["right" if finding.donor.prompt in sources[key] - {None} else "wrong"] += 1
    return dict(counts)


def _behind(victim: str, planted: Mapping[str, set[str]]) -> set[str]:
    """The donors of a victim, the donors' own donors, and so on: what bled into a donor bleeds on."""
    found: set[str] = set()
    ahead = set(planted.get(victim, ()))
    while ahead:
        found |= ahead
        ahead = {donor for each in ahead for donor in planted.get(each, ())} - found
    return found
