"""Runs a plan for a person at a terminal: files and console listen, the exit status comes out."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from fuzzer.compare import compare
from fuzzer.estimate import describe
from fuzzer.events import Event, Listener
from fuzzer.merge import merge
from fuzzer.options import header_table
from fuzzer.plan import Plan
from fuzzer.prompts.pool import PromptPool
from fuzzer.report.compared import show as show_comparison
from fuzzer.report.console import Console, open_screen, render
from fuzzer.report.files import ReportFiles, load_summary, summary_json, write_reports
from fuzzer.run import Run, resume, run_gate
from fuzzer.run import rejudge as judge_again
from fuzzer.summary import Summary


def gate_and_report(plan: Plan, *, out: Path, as_json: bool) -> int:
    """Run, write the reports, print; returns the exit status."""
    return _run(lambda listeners: run_gate(plan, out=out, listeners=listeners), as_json=as_json)


def resume_and_report(directory: Path, headers: Sequence[str], *, as_json: bool) -> int:
    """Resume, write the reports, print; returns the exit status."""
    table = header_table(headers)
    return _run(lambda listeners: resume(directory, headers=table, listeners=listeners), as_json=as_json)


def judge_and_report(directory: Path, *, as_json: bool) -> int:
    """Judge again, write the reports, print; returns the exit status."""
    summary = judge_again(directory)
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json)
    return summary.exit_status


def merge_and_report(directories: Sequence[Path], out: Path, *, as_json: bool) -> int:
    """Put runs together, write their reports into a directory of their own, print; returns the exit status."""
    summary = merge(directories)
    directory = out / f"merged-{hashlib.sha256(summary.run_id.encode()).hexdigest()[:12]}"
    directory.mkdir(parents=True, exist_ok=True)
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json)
    return summary.exit_status


def compare_and_report(old: Path, new: Path, *, as_json: bool) -> int:
    """Compare two runs and print; returns the exit status."""
    compared = compare(old, new)
    with _output():
        if as_json:
            sys.stdout.write(compared.model_dump_json(indent=2) + "\n")
        else:
            show_comparison(compared, open_screen())
    return compared.exit_status


def show(directory: Path, *, as_json: bool) -> None:
    """Print a finished run and write its reports anew from summary.json."""
    summary = load_summary(directory / "summary.json")
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json)


def dry(plan: Plan, *, as_json: bool) -> None:
    """Say what would be sent; the families and corpora are checked."""
    pool = PromptPool.of(plan)
    if as_json:
        typer.echo(plan.model_dump_json(indent=2))
        return
    typer.echo(f"would send {describe(plan, None)}")
    for note in dict.fromkeys((*(corpus.note for corpus in pool.corpora), *pool.notes)):
        typer.echo(f"  {note}")
    for cell in plan.cells():
        typer.echo(f"  {cell.role:8} {cell.key}")


@contextmanager
def listening(*, as_json: bool) -> Iterator[list[Listener]]:
    """Files first, then the console: whatever happens to the terminal, the reports are written."""
    with Console(json=as_json) as console:
        yield [ReportFiles(), _forgiving(console)]


def _forgiving(listener: Listener) -> Listener:
    """A listener whose terminal or pipe may go away: the run and its exit status do not depend on it."""

    def take(event: Event) -> None:
        with _output():
            listener(event)

    return take


@contextmanager
def _output() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit):  # rich leaves the process when its pipe breaks
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(start: Callable[[list[Listener]], Run], *, as_json: bool) -> int:
    with listening(as_json=as_json) as listeners:
        run = start(listeners)
    if as_json:
        _print(run.summary, run.directory, as_json=True)
    return run.summary.exit_status


def _print(summary: Summary, directory: Path, *, as_json: bool) -> None:
    with _output():
        if as_json:
            sys.stdout.write(summary_json(summary))
        else:
            render(summary, open_screen(), directory)
