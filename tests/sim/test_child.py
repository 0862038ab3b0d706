from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from fuzzer.errors import UnavailableError
from fuzzer.sim.child import ChildServer

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes in Linux's way")

CONFIG = {"upstream": "http://127.0.0.1:9"}
PARENT = """
import anyio
from fuzzer.sim.child import ChildServer

async def main():
    async with ChildServer("fuzzer.sim.gateway", {"upstream": "http://127.0.0.1:9"}, boot_timeout=60) as child:
        print(child.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def _gateway(boot_timeout: float = 60) -> ChildServer:
    return ChildServer("fuzzer.sim.gateway", CONFIG, boot_timeout=boot_timeout)


@pytest.mark.anyio
async def test_a_child_has_an_address_and_ends_with_the_context() -> None:
    async with _gateway() as child:
        assert child.url.startswith("http://127.0.0.1:")
        watch = os.pidfd_open(child.pid)
        assert not _ended(watch, 0)
    assert _ended(watch, 0)
    os.close(watch)


@pytest.mark.anyio
async def test_an_error_in_the_body_passes_through_and_ends_the_child() -> None:
    child = _gateway()

    async def fail() -> None:
        async with child:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


@pytest.mark.anyio
async def test_a_failing_boot_shows_its_last_words() -> None:
    child = ChildServer("json.tool", {}, boot_timeout=60)
    with pytest.raises(UnavailableError, match=r"json\.tool ended with status 2(.|\n)*No such file"):
        await child.__aenter__()


@pytest.mark.anyio
async def test_a_boot_that_takes_too_long_is_given_up() -> None:
    child = _gateway(boot_timeout=0)
    with pytest.raises(UnavailableError, match="not up after 0 s"):
        await child.__aenter__()
    assert child.pid
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_killed_parent_leaves_no_child() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        watch = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    assert _ended(watch, 60)
    os.close(watch)


def _ended(watch: int, patience: float) -> bool:
    return bool(select.select([watch], [], [], patience)[0])
