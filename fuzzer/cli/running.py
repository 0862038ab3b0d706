"""Runs a plan for a person at a terminal: console and files listen, the exit status comes out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from fuzzer.estimate import describe
from fuzzer.options import header_table
from fuzzer.plan import Plan
from fuzzer.prompts.pool import PromptPool
from fuzzer.report.console import Console, open_screen, render
from fuzzer.report.files import load_summary, summary_json, write_reports
from fuzzer.run import Run, rejudge, resume, run_gate
from fuzzer.summary import Summary


def gate_and_report(plan: Plan, *, out: Path, as_json: bool) -> int:
    """Run, write the reports, print; returns the exit status."""
    with Console(json=as_json) as console:
        return _finish(run_gate(plan, out=out, listeners=[console]), as_json=as_json)


def resume_and_report(directory: Path, headers: Sequence[str], *, as_json: bool) -> int:
    """Resume, write the reports, print; returns the exit status."""
    with Console(json=as_json) as console:
        return _finish(resume(directory, headers=header_table(headers), listeners=[console]), as_json=as_json)


def judge_and_report(directory: Path, *, as_json: bool) -> int:
    """Judge again, write the reports, print; returns the exit status."""
    summary = rejudge(directory)
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json)
    return summary.exit_status


def show(directory: Path, *, as_json: bool) -> None:
    """Print a finished run and write its reports anew from summary.json."""
    summary = load_summary(directory / "summary.json")
    write_reports(directory, summary)
    _print(summary, directory, as_json=as_json)


def dry(plan: Plan) -> None:
    """Say what would be sent; the families and corpora are checked."""
    PromptPool(plan.seed, plan.families, plan.corpora)
    typer.echo(f"would send {describe(plan, None)}")
    for cell in plan.cells():
        typer.echo(f"  {cell.role:8} {cell.key}")


def _finish(run: Run, *, as_json: bool) -> int:
    write_reports(run.directory, run.summary)
    if as_json:
        _print(run.summary, run.directory, as_json=True)
    return run.summary.exit_status


def _print(summary: Summary, directory: Path, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(summary_json(summary))
    else:
        render(summary, open_screen(), directory)
