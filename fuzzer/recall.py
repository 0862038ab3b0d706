"""Calibration that is not asked for twice: what the same endpoint said, alone, to the same request not long ago.

A cache that has gone stale would calibrate prompts that the model cannot do, or compare with what it no longer says. So
it is keyed by all that the endpoint tells of itself and by the whole request, it forgets after a day, and it is used
only after a few of its answers were asked for again in this run and came out the same, word for word.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from fuzzer.history.records import Exchange, Prompt, Recalled, Received, Sent
from fuzzer.plan import Plan
from fuzzer.preflight import End

FILE = "calibration.sqlite"
KEEP_SECONDS = 24 * 3600
PROOFS = 4  # so many remembered answers must come out the same before the others are believed

_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, at REAL NOT NULL, sent TEXT, received TEXT)"


def remembering(directory: Path, plan: Plan, end: End) -> Recall | None:
    """The cache for the end that calibrates, kept beside the runs.

    None where the engine does not tell its version (nobody could say whether it is still the same), or where texts are
    to stay out of files.
    """
    if end.identity.fingerprint is None or plan.redact_content:
        return None
    known = {
        "endpoint": end.identity.model_dump(mode="json", exclude={"name", "warnings"}),
        "lm_head": end.endpoint.lm_head,
        "sampling": plan.sampling.model_dump(mode="json", exclude={"timeout"}),
        "dropped": sorted(end.dropped),
    }
    return Recall(directory / FILE, json.dumps(known, sort_keys=True))


class Recall:
    """The cache for one endpoint in one run. ``identity`` is all that is known of the endpoint and of the parameters.

    A file that cannot be read or written is as good as none: a run does not depend on it.
    """

    def __init__(self, path: Path, identity: str, clock: Callable[[], float] = time.time) -> None:
        self._identity = identity
        self._clock = clock
        self._proofs = 0
        self._refuted = False
        self._base = _open(path, clock() - KEEP_SECONDS)

    def close(self) -> None:
        """Close the file."""
        if self._base is not None:
            self._base.close()

    @property
    def trusted(self) -> bool:
        """Whether enough remembered answers came out the same in this run, and none came out otherwise."""
        return self._proofs >= PROOFS and not self._refuted

    def recalled(self, prompts: Sequence[Prompt], sent: Callable[[int, Prompt, Sent], Sent]) -> list[Recalled]:
        """The answers that are remembered and may be believed; ``sent`` puts each at its place in the present run."""
        if not self.trusted:
            return []
        found = [(index, prompt, self._find(prompt)) for index, prompt in enumerate(prompts)]
        return [
            Recalled(sent=sent(index, prompt, known[0]), received=known[1])
            for index, prompt, known in found
            if known is not None
        ]

    def learn(self, answered: Iterable[tuple[Prompt, Exchange]]) -> None:
        """Compare fresh answers with the remembered ones, and remember the fresh ones."""
        fresh = [
            (prompt, exchange.sent, exchange.received)
            for prompt, exchange in answered
            if exchange.ok and exchange.received is not None and not exchange.sent.recalled
        ]
        for prompt, _, received in fresh:
            known = self._find(prompt)
            if known is not None:
                same = _said(known[1]) == _said(received)
                self._proofs += same
                self._refuted |= not same
        self._store(fresh)

    def _find(self, prompt: Prompt) -> tuple[Sent, Received] | None:
        if self._base is None:
            return None
        try:
            row = self._base.execute(
                "SELECT sent, received FROM answers WHERE key = ?", (self._key(prompt),)
            ).fetchone()
            return (Sent.model_validate_json(row[0]), Received.model_validate_json(row[1])) if row else None
        except (sqlite3.Error, ValidationError):
            return None

    def _store(self, fresh: Sequence[tuple[Prompt, Sent, Received]]) -> None:
        if self._base is None:
            return
        now = self._clock()
        rows = [(self._key(prompt), now, sent.model_dump_json(), got.model_dump_json()) for prompt, sent, got in fresh]
        try:
            with self._base:
                self._base.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error:
            self._base = None

    def _key(self, prompt: Prompt) -> str:
        asked = [[message.model_dump() for message in prompt.messages], prompt.wants.model_dump()]
        return hashlib.sha256(f"{self._identity}\n{json.dumps(asked, sort_keys=True)}".encode()).hexdigest()


def _said(received: Received) -> tuple[object, ...]:
    calls = [(call.name, call.arguments) for call in received.tool_calls]  # their ids are new every time
    return received.text, received.reasoning, calls, received.finish_reason


def _open(path: Path, oldest: float) -> sqlite3.Connection | None:
    try:
        base = sqlite3.connect(path, timeout=5)
        base.execute("PRAGMA synchronous=OFF")  # a cache need not survive a power cut
        base.execute(_TABLE)
        base.execute("DELETE FROM answers WHERE at < ?", (oldest,))
        base.commit()
    except (sqlite3.Error, OSError):
        return None
    return base
