"""The tables of the index, and the statements that fill and read them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from fuzzer.trend.nights import TrendNight

VERSION: Final = 1
"""Kept in ``PRAGMA user_version``: an index of another one is made anew."""

_TABLES: Final = {
    "nights": """CREATE TABLE nights (
        run_id TEXT PRIMARY KEY, sort TEXT NOT NULL, directory TEXT NOT NULL, started TEXT NOT NULL,
        verdict TEXT NOT NULL, exit_status INTEGER NOT NULL, setup TEXT NOT NULL, seed INTEGER NOT NULL,
        tool_version TEXT NOT NULL, stamp TEXT NOT NULL) STRICT""",
    "cells": """CREATE TABLE cells (
        run_id TEXT NOT NULL REFERENCES nights ON DELETE CASCADE, candidate TEXT NOT NULL, lm_head TEXT,
        concurrency INTEGER NOT NULL, schedule TEXT NOT NULL, counted INTEGER NOT NULL, looks INTEGER NOT NULL,
        k INTEGER NOT NULL, n INTEGER NOT NULL, reference_k INTEGER NOT NULL, reference_n INTEGER NOT NULL,
        acceptance REAL, tokens_per_second REAL, reference_tokens_per_second REAL) STRICT""",
    "findings": """CREATE TABLE findings (
        run_id TEXT NOT NULL REFERENCES nights ON DELETE CASCADE, key TEXT NOT NULL, schedule TEXT NOT NULL,
        kind TEXT NOT NULL, certainty TEXT NOT NULL, count INTEGER NOT NULL, breaks INTEGER NOT NULL) STRICT""",
    "boots": """CREATE TABLE boots (
        run_id TEXT NOT NULL REFERENCES nights ON DELETE CASCADE, number INTEGER NOT NULL, k INTEGER NOT NULL,
        n INTEGER NOT NULL, bad INTEGER NOT NULL) STRICT""",
}
_INDEXES: Final = (
    "CREATE INDEX cells_of ON cells (run_id)",
    "CREATE INDEX findings_of ON findings (run_id)",
    "CREATE INDEX boots_of ON boots (run_id)",
)
_PUT_NIGHT: Final = """INSERT INTO nights VALUES (:run_id, :sort, :directory, :started, :verdict, :exit_status, :setup,
    :seed, :tool_version, :stamp)"""
_PUT: Final = {
    "cells": """INSERT INTO cells VALUES (:run_id, :candidate, :lm_head, :concurrency, :schedule, :counted, :looks, :k,
        :n, :reference_k, :reference_n, :acceptance, :tokens_per_second, :reference_tokens_per_second)""",
    "findings": "INSERT INTO findings VALUES (:run_id, :key, :schedule, :kind, :certainty, :count, :breaks)",
    "boots": "INSERT INTO boots VALUES (:run_id, :number, :k, :n, :bad)",
}
_ALL: Final = {
    "cells": "SELECT * FROM cells ORDER BY rowid",
    "findings": "SELECT * FROM findings ORDER BY rowid",
    "boots": "SELECT * FROM boots ORDER BY rowid",
}


def whole(db: sqlite3.Connection) -> bool:
    """Whether the tables are there, as this version makes them."""
    found = {row["name"]: row["sql"] for row in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")}
    return found == _TABLES


def make(db: sqlite3.Connection) -> None:
    """Make the tables, empty; whatever stood there before is gone."""
    db.execute("BEGIN IMMEDIATE")
    for row in db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall():
        name = row["name"].replace('"', '""')
        db.execute(f'DROP TABLE "{name}"')
    for statement in (*_TABLES.values(), *_INDEXES):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def empty(db: sqlite3.Connection) -> None:
    """Forget every night."""
    db.execute("DELETE FROM nights")


def known(db: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Run id and stamp of each night by its directory, where there still is one."""
    rows = db.execute("SELECT directory, run_id, stamp FROM nights WHERE directory != ''")
    return {row["directory"]: (row["run_id"], row["stamp"]) for row in rows}


def put(db: sqlite3.Connection, night: TrendNight, stamp: str, directory: str) -> None:
    """Write a night's rows in place of those of the same run."""
    db.execute("DELETE FROM nights WHERE run_id = ?", (night.run_id,))
    db.execute("UPDATE nights SET directory = '' WHERE directory = ?", (directory,))
    told = night.model_dump()
    db.execute(_PUT_NIGHT, {**told, "stamp": stamp, "directory": directory})
    for table, statement in _PUT.items():
        db.executemany(statement, ({**row, "run_id": night.run_id} for row in told[table]))


def forget_directories(db: sqlite3.Connection, directories: Iterable[str]) -> None:
    """Keep the rows of directories that are gone, without naming these."""
    db.executemany("UPDATE nights SET directory = '' WHERE directory = ?", [(name,) for name in directories])


def gone(db: sqlite3.Connection) -> int:
    """How many nights have no directory any more."""
    (count,) = db.execute("SELECT count(*) FROM nights WHERE directory = ''").fetchone()
    return int(count)


def nights(db: sqlite3.Connection) -> list[TrendNight]:
    """All nights, the oldest first, as of one moment."""
    db.execute("BEGIN")
    try:
        parts = {table: _by_run(db.execute(statement)) for table, statement in _ALL.items()}
        rows = [dict(row) for row in db.execute("SELECT * FROM nights ORDER BY started, run_id")]
    finally:
        db.execute("COMMIT")
    for row in rows:
        del row["stamp"]
        row.update({table: parts[table].get(row["run_id"], []) for table in _ALL})
    return [TrendNight.model_validate(row) for row in rows]


def _by_run(rows: Iterable[sqlite3.Row]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        columns = dict(row)
        found[columns.pop("run_id")].append(columns)
    return found
