"""``findings.jsonl`` of a soak: every finding of every leg, seconds after it was seen, each once."""

from __future__ import annotations

import json
from pathlib import Path

from fuzzer.events import Event, FindingSeen
from fuzzer.finding import Finding
from fuzzer.history.appending import Appending, parsed
from fuzzer.inert import inert_json
from fuzzer.manifest import FINDINGS
from fuzzer.report.redact import redacted_finding


class FindingLog:
    """Listens to all legs. A leg that is resumed tells its earlier findings again; they are not written twice."""

    def __init__(self, directory: Path, *, redacted: bool = False) -> None:
        self._redacted = redacted
        path = directory / FINDINGS
        self._file = Appending(path, "soak's findings")
        self._leg = ""
        self._known: set[str] = set()
        self._path = path

    def begin(self, run_id: str, *, again: bool) -> None:
        """The next findings are this leg's; ``again`` if it was begun before."""
        self._leg, self._known = run_id, self._told(run_id) if again else set()

    def tells(self, run_id: str) -> bool:
        """Whether something was found in this leg."""
        return bool(self._told(run_id))

    def _told(self, run_id: str) -> set[str]:
        with self._path.open("rb") as lines:
            found = [parsed(line) for line in lines if run_id.encode() in line]
        return {_identity(told) for told in found if isinstance(told, dict) and told.get("leg") == run_id}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, FindingSeen):
            self._write(redacted_finding(event.finding) if self._redacted else event.finding)

    def _write(self, finding: Finding) -> None:
        told = {"leg": self._leg, **json.loads(finding.model_dump_json())}
        if _identity(told) not in self._known:
            self._known.add(_identity(told))
            self._file.append(inert_json(json.dumps(told, separators=(",", ":"))).encode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _identity(told: dict[str, object]) -> str:
    return "\n".join(str(told.get(name)) for name in ("key", "cell", "exchange", "phase", "summary"))
