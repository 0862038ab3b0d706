"""What `--on-finding` runs, what that is told, and what becomes of one that fails or never ends."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import anyio
import pytest

from fuzzer.alerts.alert import finding_alert
from fuzzer.alerts.hooks import Command, UndeliveredError
from fuzzer.errors import UsageError
from fuzzer.finding import Finding
from tests.alerts.factory import alert
from tests.report import factory

pytestmark = pytest.mark.anyio
FOUND = finding_alert(factory.bleed("the answer holds\x1b[31m a canary"), "n1", 3)


def python(script: str, *arguments: str, seconds: float = 60) -> Command:
    """A command that runs this script."""
    return Command.parse(shlex.join([sys.executable, "-c", script, *arguments]), seconds)


async def failure(command: Command) -> str:
    with pytest.raises(UndeliveredError) as raised:
        await command.deliver(FOUND)
    return str(raised.value)


async def test_the_command_gets_the_finding_and_where_it_is_from(tmp_path: Path) -> None:
    script = (
        "import json, os, sys\n"
        "told = {name: text for name, text in os.environ.items() if name.startswith('SPECFUZZ_')}\n"
        "json.dump([sys.stdin.read(), told, sys.argv[2:]], open(sys.argv[1], 'w'))\n"
    )
    await python(script, str(tmp_path / "told"), "two words", "$HOME; touch hit").deliver(FOUND)
    finding, told, words = json.loads((tmp_path / "told").read_text(encoding="utf-8"))
    assert Finding.model_validate_json(finding) == FOUND.finding
    assert "\x1b" not in finding
    assert words == ["two words", "$HOME; touch hit"], "no shell"
    assert (
        told.items()
        >= {
            "SPECFUZZ_NIGHT": "n1",
            "SPECFUZZ_LEG": "3",
            "SPECFUZZ_KEY": FOUND.key,
            "SPECFUZZ_KIND": "bleed",
            "SPECFUZZ_CERTAINTY": "certain",
            "SPECFUZZ_SEVERITY": "critical",
        }.items()
    )


async def test_only_findings_are_for_the_command() -> None:
    command = python("")
    assert command.wants(FOUND)
    assert not command.wants(alert(kind="outage"))


async def test_a_command_that_fails_says_how_and_shows_the_end_of_what_it_said() -> None:
    script = "import sys\nprint('x' * 500_000)\nprint('no such \\x1b[31mroom', file=sys.stderr)\nsys.exit(3)"
    said = await failure(python(script))
    assert said.startswith("ended with status 3; it said: x")
    assert said.endswith("no such \\x1b[31mroom")
    assert len(said) < 1000


async def test_a_command_need_not_read_what_it_is_told() -> None:
    await Command.parse("true").deliver(FOUND)


async def test_a_command_that_takes_too_long_is_killed() -> None:
    assert await failure(Command.parse("sleep 3600", seconds=0.05)) == "was killed after 0.05 s"


async def test_a_soak_that_ends_takes_the_command_and_its_children_with_it(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    script = (
        "import os, subprocess, sys, time\n"
        "held = os.open(sys.argv[1], os.O_WRONLY)\n"
        "subprocess.Popen(['sh', '-c', f'echo up >&{held}; sleep 3600'], pass_fds=[held])\n"
        "time.sleep(3600)\n"
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(python(script, str(fifo)).deliver, FOUND)
            await anyio.wait_readable(reader)
            assert os.read(reader, 3) == b"up\n"
            group.cancel_scope.cancel()
        await anyio.wait_readable(reader)  # the end of the pipe: nobody is left who holds it open
        assert os.read(reader, 1) == b""
    os.close(reader)


async def test_a_child_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = "import subprocess, sys\nopen(sys.argv[1], 'w').write(str(subprocess.Popen(['sleep', '600']).pid))"
    with anyio.fail_after(60):
        await python(script, str(pid)).deliver(FOUND)
    os.kill(int(pid.read_text(encoding="utf-8")), 9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no command is given"),
        ("notify 'x", "No closing quotation"),
        ("no-such-program-here --now", "there is no command no-such-program-here"),
    ],
)
async def test_a_command_that_cannot_be_is_the_users_mistake(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=rf"^--on-finding: .*{said}.*; for example --on-finding '.*'$"):
        Command.parse(text)
