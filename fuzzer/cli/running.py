"""Runs a plan for a person at a terminal: files and console listen, the exit status comes out."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from fuzzer.compare import compare
from fuzzer.estimate import describe
from fuzzer.events import Listener
from fuzzer.merge import merge
from fuzzer.options import header_table
from fuzzer.plan import Plan
from fuzzer.prompts.pool import PromptPool
from fuzzer.report.compared import show as show_comparison
from fuzzer.report.files import load_summary, summary_json, write_reports
from fuzzer.report.listeners import Manner, listening
from fuzzer.report.page.compared import write_comparison
from fuzzer.report.pipes import forgiving
from fuzzer.report.render import open_screen, render, render_verdict
from fuzzer.repro.collect import BundleFiles
from fuzzer.run import Run, resume, run_gate
from fuzzer.run import rejudge as judge_again
from fuzzer.summary import Summary
from fuzzer.traffic.pauses import shorten_pauses


def gate_and_report(plan: Plan, *, out: Path, manner: Manner) -> int:
    """Run, write the reports, print; returns the exit status."""
    return _run(lambda listeners: run_gate(plan, out=out, listeners=[BundleFiles(), *listeners]), manner)


def resume_and_report(directory: Path, headers: Sequence[str], manner: Manner) -> int:
    """Resume, write the reports, print; returns the exit status."""
    table = header_table(headers)
    return _run(lambda listeners: resume(directory, headers=table, listeners=[BundleFiles(), *listeners]), manner)


def judge_and_report(directory: Path, *, as_json: bool, quiet: bool = False) -> int:
    """Judge again, write the reports, print; returns the exit status."""
    summary = judge_again(directory)
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json, quiet=quiet)
    return summary.exit_status


def merge_and_report(
    directories: Sequence[Path], out: Path, *, as_json: bool, quiet: bool = False, command: str = "merge"
) -> int:
    """Put runs together, write their reports into a directory of their own, print; returns the exit status."""
    summary = merge(directories, command)
    directory = out / f"merged-{hashlib.sha256(summary.run_id.encode()).hexdigest()[:12]}"
    directory.mkdir(parents=True, exist_ok=True)
    write_reports(directory, summary, directories)
    _print(summary, directory, as_json=as_json, quiet=quiet)
    return summary.exit_status


def compare_and_report(old: Path, new: Path, page: Path | None, *, as_json: bool) -> int:
    """Compare two runs, write the page if one is asked for, and print; returns the exit status."""
    compared = compare(old, new)
    if page is not None:
        write_comparison(page, compared)
    with forgiving():
        if as_json:
            sys.stdout.write(compared.model_dump_json(indent=2) + "\n")
        else:
            show_comparison(compared, open_screen())
    return compared.exit_status


def show(directory: Path, *, as_json: bool, quiet: bool = False) -> None:
    """Print a finished run and write its reports anew from summary.json."""
    summary = load_summary(directory / "summary.json")
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json, quiet=quiet)


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


def _run(start: Callable[[list[Listener]], Run], manner: Manner) -> int:
    shorten_pauses()
    with listening(manner) as listeners:
        run = start(listeners)
    if manner.json:
        _print(run.summary, run.directory, as_json=True)
    return run.summary.exit_status


def _print(summary: Summary, directory: Path, *, as_json: bool, quiet: bool = False) -> None:
    with forgiving():
        if as_json:
            sys.stdout.write(summary_json(summary))
        elif quiet:
            render_verdict(summary, open_screen())
        else:
            render(summary, open_screen(), directory)
