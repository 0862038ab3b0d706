"""From a bundle in memory to its files: secrets out first, then ``bundle.json``, ``ISSUE.md`` and ``reproduce.py``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from fuzzer.history.records import Prompt
from fuzzer.history.schedule import Send
from fuzzer.repro.bundle import BUNDLE, Bundle, encoded, name_of, write_files
from fuzzer.repro.cohort import Cohort
from fuzzer.repro.issue import Tracker, issue, tracker_for
from fuzzer.repro.script import reproduce
from fuzzer.repro.secrets import Scrubber
from fuzzer.summary import EndpointSummary
from fuzzer.traffic.ledger import TOP_LOGPROBS, asked, said
from fuzzer.wire.dialects import Dialect, dialect_for

ISSUE, SCRIPT = "ISSUE.md", "reproduce.py"


def bodies(cohort: Cohort, end: EndpointSummary | None) -> tuple[dict[str, JsonValue], ...]:
    """The requests of a cohort as they go over the wire to this endpoint."""
    dialect = _dialect(end)
    model = end.model if end is not None else None
    prompts = cohort.asked
    sends = [send for release in cohort.salted("replay") for send in release.sends]
    return tuple(
        _body(dialect, model, send, prompts[send.prompt], cohort, f"{place}-{send.prompt}")
        for place, send in enumerate(sends)
    )


def _dialect(end: EndpointSummary | None) -> Dialect:
    engines = {"vllm", "sglang", "llamacpp", "mlx", "trtllm", "lmdeploy"}
    if end is None or end.engine not in engines:
        return dialect_for("openai")
    return next(
        dialect_for(name).without(*end.dropped_parameters)
        for name in ("vllm", "sglang", "llamacpp", "mlx", "trtllm", "lmdeploy")
        if name == end.engine
    )


def _body(
    dialect: Dialect, model: str | None, send: Send, prompt: Prompt, cohort: Cohort, key: str
) -> dict[str, JsonValue]:
    top = TOP_LOGPROBS if cohort.logprobs else 0
    return dialect.body(model, said(send, prompt), asked(send, prompt, cohort.sampling, key, logprobs=top))


def relaunched(bundle: Bundle, launch_command: str | None) -> Bundle:
    """The bundle with the user's words on how the server was started, where there are any."""
    if launch_command is None:
        return bundle
    environment = bundle.environment.model_copy(update={"launch_command": launch_command})
    return bundle.model_copy(update={"environment": environment})


def scrubbed(bundle: Bundle, secrets: Iterable[str]) -> Bundle:
    """The bundle without secrets, and with a count of what was taken out."""
    scrubber = Scrubber(secrets)
    clean = scrubber.record(bundle)
    struck = {item.what: item for item in (*bundle.struck, *scrubber.struck)}
    return clean.model_copy(update={"struck": tuple(struck.values())})


def write(
    bundle: Bundle, into: Path, *, secrets: Iterable[str] = (), tracker: Tracker | None = None, name: str = ""
) -> Path:
    """Write the bundle below ``into``, as a directory and a zip file; the directory."""
    bundle = scrubbed(bundle, secrets)
    script = reproduce(bundle)
    files = {
        BUNDLE: encoded(bundle),
        ISSUE: issue(bundle, tracker or tracker_for(bundle), script is not None).encode("utf-8", "replace"),
    }
    if script is not None:
        files[SCRIPT] = script.encode("utf-8", "replace")
    return write_files(into / (name or name_of(bundle)), files)
