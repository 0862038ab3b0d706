from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process

from fuzzer.errors import UnavailableError
from fuzzer.sim.child import ChildServer

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes in Linux's way")

CONFIG = json.dumps({"upstream": "http://127.0.0.1:9"})
PARENT = """
import anyio
from fuzzer.sim.child import ChildServer

async def main():
    async with ChildServer("fuzzer.sim.gateway", '{"upstream": "http://127.0.0.1:9"}', boot_timeout=60) as child:
        print(child.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def _gateway(boot_timeout: float = 60) -> ChildServer:
    return ChildServer("fuzzer.sim.gateway", CONFIG, boot_timeout=boot_timeout)


class Births:
    """The processes that were started, and what to do at each birth."""

    def __init__(self) -> None:
        self.pids: list[int] = []
        self.then: Callable[[], object] = lambda: None


@pytest.fixture
def births(monkeypatch: pytest.MonkeyPatch) -> Births:
    births, open_process = Births(), anyio.open_process

    async def recorded(*arguments: Any, **options: Any) -> Process:
        process = await open_process(*arguments, **options)
        births.pids.append(process.pid)
        births.then()
        return process

    monkeypatch.setattr(anyio, "open_process", recorded)
    return births


@pytest.mark.anyio
async def test_a_child_has_an_address_and_ends_with_the_context() -> None:
    async with _gateway() as child:
        assert child.url.startswith("http://127.0.0.1:")
        pid = child.pid
        assert pid is not None
        watch = os.pidfd_open(pid)
        assert not _ended(watch, 0)
    assert _ended(watch, 0)
    os.close(watch)
    assert child.pid is None
    await child.close()


@pytest.mark.anyio
async def test_an_error_in_the_body_passes_through_and_ends_the_child(births: Births) -> None:
    child = _gateway()

    async def fail() -> None:
        async with child:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()
    assert _none_lives(births)


@pytest.mark.anyio
async def test_a_failing_boot_shows_its_last_words() -> None:
    child = ChildServer("fuzzer.sim.gateway", '{"upstream": "nowhere"}', boot_timeout=60)
    with pytest.raises(UnavailableError, match=r"gateway ended with status 2(.|\n)*'nowhere' is no URL"):
        await child.__aenter__()


@pytest.mark.anyio
async def test_a_child_that_ends_before_it_reads_shows_its_last_words() -> None:
    child = ChildServer("fuzzer.sim.nothing", "x" * 10_000_000, boot_timeout=60)
    with pytest.raises(UnavailableError, match=r"nothing ended with status 1(.|\n)*No module named"):
        await child.__aenter__()


@pytest.mark.anyio
async def test_a_child_that_says_something_else_than_its_address_is_unavailable(births: Births) -> None:
    child = ChildServer("this", "", boot_timeout=60)
    with pytest.raises(UnavailableError, match="something else"):
        await child.__aenter__()
    assert _none_lives(births)


@pytest.mark.anyio
async def test_a_boot_that_takes_too_long_is_given_up(births: Births) -> None:
    child = _gateway(boot_timeout=0)
    with pytest.raises(UnavailableError, match="not up after 0 s"):
        await child.__aenter__()
    assert _none_lives(births)


@pytest.mark.anyio
async def test_a_start_in_a_cancelled_scope_leaves_no_child(births: Births) -> None:
    with anyio.CancelScope() as scope:
        births.then = scope.cancel
        await _gateway().__aenter__()
    assert scope.cancelled_caught
    assert _none_lives(births)


@pytest.mark.anyio
async def test_a_start_in_a_cancelled_task_leaves_no_child(births: Births) -> None:
    task = asyncio.ensure_future(_gateway().__aenter__())
    births.then = task.cancel
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _none_lives(births)


@pytest.mark.anyio
async def test_a_child_has_a_session_of_its_own_that_no_interrupt_of_the_terminal_reaches() -> None:
    async with _gateway() as child:
        assert child.pid is not None
        assert os.getsid(child.pid) == child.pid


@pytest.mark.anyio
async def test_no_list_of_processes_shows_the_configuration() -> None:
    async with _gateway() as child:
        shown = [await (anyio.Path("/proc") / str(child.pid) / name).read_bytes() for name in ("cmdline", "environ")]
    assert b"fuzzer.sim.gateway" in shown[0]
    assert not [text for text in shown if b"127.0.0.1:9" in text]


def test_a_killed_parent_leaves_no_child() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        watch = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    assert _ended(watch, 60)
    os.close(watch)


def _none_lives(births: Births) -> bool:
    """Whether a child was started, and all that were have ended and been reaped."""
    return bool(births.pids) and not any(Path(f"/proc/{pid}").exists() for pid in births.pids)


def _ended(watch: int, patience: float) -> bool:
    return bool(select.select([watch], [], [], patience)[0])
