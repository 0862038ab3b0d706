"""The examples that start a soak every night: their commands exist, and a night started again keeps its name."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.words import OTHER_EXITS
from fuzzer.summarise import EXIT
from tests.docs.test_pages import commands, unknown

EXAMPLES = Path(__file__).parents[2] / "examples"
SYSTEMD = sorted((EXAMPLES / "systemd").iterdir())
CRON = (EXAMPLES / "cron" / "specfuzz").read_text(encoding="utf-8")
CRONJOB: dict[str, Any] = yaml.safe_load((EXAMPLES / "kubernetes" / "cronjob.yaml").read_text(encoding="utf-8"))
WORKFLOW: dict[Any, Any] = yaml.safe_load((EXAMPLES / "github" / "nightly.yml").read_text(encoding="utf-8"))
HOURS = 8  # of `--duration 8h` in all of them


def unit(name: str) -> configparser.ConfigParser:
    """A unit file; a key that systemd allows several times keeps its last value."""
    parsed = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None, strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # keys are told apart by case
    parsed.read_string((EXAMPLES / "systemd" / name).read_text(encoding="utf-8"))
    return parsed


def exec_script(name: str, key: str) -> str:
    """The shell script of an ``Exec...=`` line, as systemd hands it over."""
    shell, flag, script = shlex.split(unit(name)["Service"][key])
    assert (shell, flag) == ("/bin/sh", "-c")
    assert not re.search(r"(?<!%)%(?!%)(?:%%)*|(?<!\$)\$(?!\$)(?:\$\$)*", script), "systemd would fill this in itself"
    return script.replace("%%", "%").replace("$$", "$")


def crontab() -> list[tuple[str, str]]:
    """When, and the script that the shell gets, of each line of the crontab."""
    lines = [line for line in CRON.splitlines() if line and line[0] in "@*0123456789"]
    found = []
    for line in lines:
        when, user, script = re.fullmatch(r"(@\w+|(?:\S+ ){4}\S+) (\w+) (.+)", line).groups()  # type: ignore[union-attr]  # an AttributeError says as much
        assert user == "specfuzz"
        assert not re.search(r"(?<!\\)%", script), "cron would take this for the end of the line"
        found.append((when, script.replace("\\%", "%")))
    return found


def given(script: str) -> list[list[str]]:
    """The words of every specfuzz command in a script; what other commands fill in is one word."""
    return list(commands(re.sub(r"\$\([^)]*\)", "FILLED", script)))


def container() -> dict[str, Any]:
    (only,) = CRONJOB["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = WORKFLOW["jobs"]["soak"]["steps"]
    return found


def every_command() -> Iterator[list[str]]:
    yield from given(exec_script("specfuzz-soak.service", "ExecStart"))
    yield from given(exec_script("specfuzz-soak-resume.service", "ExecStart"))
    for _, script in crontab():
        yield from given(script)
    yield container()["args"]
    for step in steps():
        yield from given(step.get("run", ""))


# --- commands


def test_there_is_a_soak_in_each() -> None:
    kinds = [words[0] for words in every_command()]
    assert kinds.count("soak") == 6
    assert kinds.count("prune") == 1


@pytest.mark.parametrize("words", list(every_command()), ids=lambda words: f"{words[0]} {len(words)}")
def test_every_command_and_option_exists(words: list[str]) -> None:
    assert unknown(words) == []


@pytest.mark.parametrize("words", [words for words in every_command() if words[0] == "soak"], ids=len)
def test_every_night_has_an_end_a_name_and_a_limit(words: list[str]) -> None:
    line = " ".join(words).replace("=", " ")
    assert f"--duration {HOURS}h" in line
    assert re.search(r"--max-disk \d+g", line)
    assert "--name" in line
    assert "--out" in line
    assert not re.search(r"--webhook (?!env:)", line), "a URL among the arguments is read by everybody"


# --- what the shell makes of them


class Machine:
    """A folder with programs that write down what they are called with, and a clock that stands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        (self.home / "environment").write_text("KEY=abc\n", encoding="utf-8")
        self._program("specfuzz", f'{{ pwd; printf "%s\\n" "$@" "key $KEY"; }} > {folder}/called')
        date = shutil.which("date") or "date"
        self._program("date", f'exec {date} --utc --date="$NOW ${{1#--date=}}" "$2"')

    def _program(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def run(self, script: str, now: str) -> list[str]:
        """Where specfuzz was called and with what, if it was called."""
        called = self.folder / "called"
        called.unlink(missing_ok=True)
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "NOW": now}
        local = script.replace("/var/lib/specfuzz", str(self.home))
        subprocess.run(["sh", "-c", local], cwd=self.home, env=env, check=False, timeout=60)
        return called.read_text(encoding="utf-8").splitlines() if called.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if subprocess.run(["date", "--date", "now"], capture_output=True, check=False).returncode:
        pytest.skip("the examples take GNU's date")
    return Machine(tmp_path)


def night_starts() -> list[str]:
    return [
        exec_script("specfuzz-soak.service", "ExecStart"),
        next(script for when, script in crontab() if when == "0 22 * * *"),
    ]


def interrupted() -> list[str]:
    service = "specfuzz-soak-resume.service"
    return [
        f"{exec_script(service, 'ExecCondition')} && {exec_script(service, 'ExecStart')}",
        next(script for when, script in crontab() if when == "@reboot"),
    ]


@pytest.mark.parametrize("script", night_starts(), ids=["systemd", "cron"])
def test_a_night_that_is_started_again_after_midnight_keeps_its_name(machine: Machine, script: str) -> None:
    if "flock" in script and not shutil.which("flock"):
        pytest.skip("flock is not installed")
    evening, morning, next_evening = (
        machine.run(script, now) for now in ("2026-11-30 22:00", "2026-12-01 05:59", "2026-12-01 22:00")
    )
    assert evening[evening.index("--name") + 1] == "night-2026-11-30"
    assert morning == evening
    assert next_evening[next_evening.index("--name") + 1] == "night-2026-12-01"
    assert evening[:2] == [str(machine.home), "soak"]


@pytest.mark.parametrize(
    ("script", "start"), list(zip(interrupted(), night_starts(), strict=True)), ids=["systemd", "cron"]
)
def test_a_boot_goes_on_with_the_night_that_was_interrupted_and_with_no_other(
    machine: Machine, script: str, start: str
) -> None:
    if "flock" in script and not shutil.which("flock"):
        pytest.skip("flock is not installed")
    assert machine.run(script, "2026-12-01 02:00") == []
    (machine.home / "nights" / "night-2026-11-30").mkdir(parents=True)
    assert machine.run(script, "2026-12-01 02:00") == machine.run(start, "2026-11-30 22:00") != []
    assert machine.run(script, "2026-12-01 14:00") == []


def test_keys_reach_a_soak_that_cron_starts(machine: Machine) -> None:
    if not shutil.which("flock"):
        pytest.skip("flock is not installed")
    assert machine.run(night_starts()[1], "2026-11-30 22:00")[-1] == "key abc"


# --- systemd


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_units() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, SYSTEMD)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "specfuzz" in line]) == (
        0,
        "",
        [],
    )


@pytest.mark.parametrize("name", ["specfuzz-soak.service", "specfuzz-soak-resume.service"])
def test_a_service_is_started_again_if_it_was_killed_and_only_then(name: str) -> None:
    service = unit(name)["Service"]
    assert service["Restart"] == "on-abnormal"
    assert service["Type"] == "exec"
    assert int(service["TimeoutStopSec"]) > 10, "a soak that is told to end takes up to 10 s"
    assert "RuntimeMaxSec" not in service, "its end would count as abnormal"
    assert service.get("SuccessExitStatus", "2") == "2", "a night that failed is a unit that failed"
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"


def test_the_timer_starts_the_service_every_evening() -> None:
    timer = unit("specfuzz-soak.timer")
    assert timer["Timer"]["OnCalendar"] == "*-*-* 22:00:00"
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert "Install" not in unit("specfuzz-soak.service"), "the timer alone starts it"


# --- cron


def test_no_two_nights_run_at_once_under_cron() -> None:
    locked = [script for _, script in crontab() if "specfuzz soak" in script]
    assert len(locked) == 2
    assert all("flock --nonblock" in script for script in locked)


def test_the_times_of_the_crontab_are_times() -> None:
    bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    for when, _ in crontab():
        if when != "@reboot":
            for field, (low, high) in zip(when.split(), bounds, strict=True):
                assert field == "*" or low <= int(field) <= high
    assert CRON.endswith("\n"), "cron does not read a last line without an end"


# --- Kubernetes


def test_a_pod_that_is_replaced_goes_on_with_its_jobs_night_on_the_volume() -> None:
    assert CRONJOB["kind"] == "CronJob"
    args = container()["args"]
    (name,) = [argument.removeprefix("--name=") for argument in args if argument.startswith("--name=")]
    env = {each["name"]: each["valueFrom"] for each in container()["env"]}
    assert env[name.strip("$()")] == {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}}
    mounts = {each["mountPath"]: each["name"] for each in container()["volumeMounts"]}
    pod = CRONJOB["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert set(mounts.values()) == set(volumes)
    (out,) = [argument.removeprefix("--out=") for argument in args if argument.startswith("--out=")]
    assert "persistentVolumeClaim" in volumes[mounts[out]]
    (variable,) = [argument.partition("env:")[2] for argument in args if argument.startswith("--webhook=")]
    assert "secretKeyRef" in env[variable]


def test_a_verdict_is_not_tried_again_and_a_kill_is() -> None:
    job = CRONJOB["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    assert pod["restartPolicy"] == "Never", "a policy for failed pods needs it"
    ignored, failing = job["podFailurePolicy"]["rules"]
    assert (ignored["action"], ignored["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")
    verdicts = {*EXIT.values(), *OTHER_EXITS} - {EXIT["pass"], EXIT["interrupted"]}
    assert (failing["action"], set(failing["onExitCodes"]["values"])) == ("FailJob", verdicts)
    assert failing["onExitCodes"]["containerName"] == container()["name"]
    assert job["backoffLimit"] > 0
    assert job["activeDeadlineSeconds"] > HOURS * 3600
    assert pod["terminationGracePeriodSeconds"] > 10
    assert CRONJOB["spec"]["concurrencyPolicy"] == "Forbid"


# --- GitHub Actions


def test_the_workflow_keeps_the_night_whatever_its_verdict() -> None:
    soak = next(at for at, step in enumerate(steps()) if "specfuzz soak" in step.get("run", ""))
    after = steps()[soak + 1 :]
    assert all(step["if"] == "always()" for step in after)
    (upload,) = [step for step in after if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert upload["with"]["path"] == "nights/${{ env.NIGHT }}/"
    assert '--out nights --name "$NIGHT"' in steps()[soak]["run"]
    assert "github.run_id" in WORKFLOW["jobs"]["soak"]["env"]["NIGHT"]
    assert "run_attempt" not in json.dumps(WORKFLOW["jobs"])


def test_the_workflow_runs_alone_in_the_evening_and_long_enough() -> None:
    triggers = WORKFLOW[True]  # YAML 1.1 reads the key `on` so
    assert set(triggers) == {"schedule", "workflow_dispatch"}
    assert triggers["schedule"] == [{"cron": "0 22 * * *"}]
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is False
    assert WORKFLOW["jobs"]["soak"]["timeout-minutes"] > HOURS * 60
    assert "self-hosted" in WORKFLOW["jobs"]["soak"]["runs-on"]


def test_secrets_of_the_workflow_reach_scripts_as_variables_and_never_as_code() -> None:
    scripts = [step["run"] for step in steps() if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)
