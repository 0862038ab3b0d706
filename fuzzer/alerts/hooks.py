"""What a way out for alerts is, and one of them: a command of the user's that is run for each finding."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from fuzzer.alerts.alert import Alert
from fuzzer.errors import UsageError
from fuzzer.inert import inert_json
from fuzzer.report.text import clean

COMMAND_SECONDS: Final = 30.0
_TAIL: Final = 2_000  # bytes of a command's output that are kept
_FREELY: Final = 1 << 20  # bytes of it that are read as fast as they come; who floods must not take the run's time
_PAUSE: Final = 0.02  # seconds between two reads from then on
_SHOWN: Final = 300  # characters of it that are told
_LINGER: Final = 0.2  # seconds for the rest of its output, once it has ended


class UndeliveredError(Exception):
    """An alert that did not reach anybody, and why, in a few words without secrets."""


class Channel(Protocol):
    """One way out for alerts; ``name`` holds no secret."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def wants(self, alert: Alert) -> bool:
        """Whether alerts of this kind go this way."""

    async def deliver(self, alert: Alert) -> None:
        """Deliver one alert; UndeliveredError says why it could not be."""


@dataclass(slots=True)
class Command:
    """``--on-finding``: a command that is run for a finding, with the finding as JSON on its standard input.

    No shell is involved. After ``seconds`` it is killed together with the children of its process group. What it
    prints goes nowhere, but for the end of it if it fails. UsageError if there is no such command.
    """

    words: tuple[str, ...]
    seconds: float = COMMAND_SECONDS

    @classmethod
    def parse(cls, text: str, seconds: float = COMMAND_SECONDS) -> Command:
        """From a command line as a shell would split it; UsageError if it cannot be split or found."""
        example = "for example --on-finding 'notify.sh --team serving'"
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--on-finding: {clean(text)}: {error}; {example}") from error
        if not words:
            raise UsageError(f"--on-finding: no command is given; {example}")
        if shutil.which(words[0]) is None:
            raise UsageError(f"--on-finding: there is no command {clean(words[0])}, or it may not be run; {example}")
        return cls(tuple(words), seconds)

    @property
    def name(self) -> str:
        """The program's name."""
        return f"--on-finding {clean(os.path.basename(self.words[0]))}"

    def wants(self, alert: Alert) -> bool:
        """Findings only."""
        return alert.finding is not None

    async def deliver(self, alert: Alert) -> None:
        """Run the command for one finding; UndeliveredError if it cannot be run, fails or takes too long."""
        tail = bytearray()
        try:
            process = await anyio.open_process(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                start_new_session=True, env={**os.environ, **_variables(alert)},
            )  # fmt: skip
        except OSError as error:
            raise UndeliveredError(f"cannot be run: {error.strerror or error}") from error
        try:
            with anyio.move_on_after(self.seconds) as limit:
                await _talk(process, _told(alert), tail)
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
        if limit.cancelled_caught:
            raise UndeliveredError(f"was killed after {self.seconds:g} s{_said(tail)}")
        if process.returncode:
            raise UndeliveredError(f"ended with status {process.returncode}{_said(tail)}")


def _told(alert: Alert) -> bytes:
    found = alert.finding
    return f"{inert_json(found.model_dump_json())}\n".encode() if found is not None else b""


def _variables(alert: Alert) -> Mapping[str, str]:
    found = alert.finding
    named = {
        "NIGHT": alert.night,
        "LEG": "" if alert.leg is None else str(alert.leg),
        "SEVERITY": alert.severity,
        "TITLE": alert.title,
        "KEY": alert.key,
        "KIND": found.kind if found else "",
        "CERTAINTY": found.certainty if found else "",
        "ARM": found.arm if found else "",
        "MORE": str(alert.more),
    }
    return {f"SPECFUZZ_{name}": value for name, value in named.items()}


async def _talk(process: Process, told: bytes, tail: bytearray) -> None:
    """Write to the process and keep the end of what it says, until it has ended.

    Children that it leaves in the background may hold its output open: they are not waited for.
    """
    read = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_listen, process.stdout, tail, read)
        group.start_soon(_write, process.stdin, told)
        await process.wait()
        with anyio.move_on_after(_LINGER):
            await read.wait()
        group.cancel_scope.cancel()


async def _write(stdin: ByteSendStream | None, told: bytes) -> None:
    if stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):  # it need not read it
            await stdin.send(told)
            await stdin.aclose()


async def _listen(stdout: ByteReceiveStream | None, tail: bytearray, read: anyio.Event) -> None:
    if stdout is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            heard = 0
            async for piece in stdout:
                tail += piece
                del tail[:-_TAIL]
                heard += len(piece)
                if heard > _FREELY:
                    await anyio.sleep(_PAUSE)
    read.set()


async def _end(process: Process) -> None:
    """Kill the process and its group, if it has not ended."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()


def _said(tail: bytearray) -> str:
    text = bytes(tail).decode("utf-8", "replace").strip()
    return f"; it said: {clean(text[-_SHOWN:], 2 * _SHOWN)}" if text else ""
