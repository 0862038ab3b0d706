"""Pairs of simulated servers inside the test's own event loop, and what preflight says of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from anyio.abc import ByteStream

from fuzzer.inspecting import Inspection, inspect
from fuzzer.plan import Endpoint, Engine, Plan, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving
from fuzzer.summary import Check
from tests.wire.servers import Request, http
from tests.wire.servers import serving as serving_raw

DRAFTS: dict[str, Any] = {"speculative": True, "step_seconds": 0.0}
PLAIN: dict[str, Any] = {"step_seconds": 0.0}


@asynccontextmanager
async def pair(candidate: SimConfig, reference: SimConfig | None) -> AsyncIterator[tuple[str, str]]:
    async with serving(candidate) as ours:
        if reference is None:
            yield ours, ""
            return
        async with serving(reference) as theirs:
            yield ours, theirs


def plan(ours: str, theirs: str, *, engine: Engine = "auto", **fields: Any) -> Plan:
    ends = {
        name: (Endpoint(name=name, url=url, engine=engine),)
        for name, url in (("candidate", ours), ("reference", theirs))
        if url
    }
    known: dict[str, Any] = {
        "candidates": ends["candidate"],
        "references": ends.get("reference", ()),
        "families": ("echo",),
        "sampling": Sampling(timeout=60),
    }
    return Plan.model_validate(known | fields)


async def look(candidate: SimConfig, reference: SimConfig | None, **fields: Any) -> Inspection:
    async with pair(candidate, reference) as (ours, theirs):
        return await inspect(plan(ours, theirs, **fields))


def codes(found: Inspection, severity: str) -> list[str]:
    """The codes of the checks of this severity, each once, in order."""
    return list(dict.fromkeys(check.code for check in found.preflight.checks if check.severity == severity))


def check(found: Inspection, code: str) -> Check:
    return next(check for check in found.preflight.checks if check.code == code)


@asynccontextmanager
async def fronted(upstream: str, pages: Mapping[str, object], refused: str = "") -> AsyncIterator[str]:
    """A gateway that hands on all but some pages of its own, and refuses requests with one parameter."""

    async def handler(request: Request, stream: ByteStream) -> None:
        if request.path in pages:
            await stream.send(http(json.dumps(pages[request.path]).encode()))
        elif refused and refused in request.body:
            await stream.send(http(json.dumps({"error": f"'{refused}' is not supported"}).encode(), status=400))
        else:
            method = "POST" if request.body else "GET"
            reply = await client.request(method, request.path, json=request.body or None)
            await stream.send(http(reply.content, status=reply.status_code, kind=reply.headers.get("content-type", "")))

    async with httpx.AsyncClient(base_url=upstream, timeout=60) as client, serving_raw(handler) as url:
        yield url
