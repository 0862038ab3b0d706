"""The reference pages, made from the code they describe, and the examples on other pages, made from their files.

``python -m docs.generate`` writes them anew. They are kept in the repository, so that they can be read there and a
change of them is seen; a test fails where one is stale. Nothing in them depends on the versions of other packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from docs.commands import cli, configuration
from docs.markdown import prose, table
from docs.schema import history, night, python, summary
from docs.words import CELL_STATUSES, CERTAINTIES, OTHER_EXITS, REASONS, VERDICTS
from fuzzer.alerts.metrics import METRICS, OTHER
from fuzzer.decisions import VACUOUS
from fuzzer.finding import Certainty, Kind
from fuzzer.history.records import Arm, Outcome
from fuzzer.night import Purpose
from fuzzer.oracles import ORACLES
from fuzzer.plan import Engine
from fuzzer.prompts import describe
from fuzzer.report.sentences import FAILING
from fuzzer.shapes import SHAPES
from fuzzer.sim.faults import FAULTS, SYMPTOMS
from fuzzer.sim.gateway_faults import GATEWAY_FAULTS
from fuzzer.summarise import EXIT
from fuzzer.summary import CellStatus, ReasonCode, VerdictName
from fuzzer.traffic.schedules import SCHEDULES
from fuzzer.wire.dialects import dialect_for

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference"
NOTE = "<!-- Made by `python -m docs.generate`; change the code that it tells of, not this page. -->"
AT = 8  # the concurrency for which numbers that depend on it are given


def families() -> Iterator[str]:
    """All prompt families."""
    yield from prose(
        "# Prompt families",
        "What a gate asks where nothing else is wanted, chosen with `--family NAME,...`. Every prompt has one right "
        "answer, which rules find in a reply. Calibration goes on with the hardest level that the model passes "
        "reliably. The shares are those of the default mix; a level of share 0 is asked only where its family is "
        "named.",
    )
    yield from table(
        ("family", "asks", "exposes", "levels, with their share"),
        (
            (
                f"`{row.name}`",
                row.summary,
                row.exposes,
                ", ".join(f"{level} {share:.1f} %" for level, share in row.shares.items()),
            )
            for row in describe()
        ),
    )


def oracles() -> Iterator[str]:
    """All oracles, and what their findings are called."""
    yield from prose(
        "# Oracles",
        "What looks at the recorded exchanges, block by block. A finding has a kind (the oracle's name), a sub-kind, a "
        "certainty and a key, `kind/sub-kind[/detail]@endpoint`, by which reports group it and waivers name it.",
    )
    yield from table(("oracle", "flags"), ((f"`{one.name}`", one.summary) for one in ORACLES.values()))
    yield from prose("## Certainty")
    yield from table(("certainty", "means"), ((f"`{name}`", CERTAINTIES[name]) for name in get_args(Certainty)))


def schedules() -> Iterator[str]:
    """All traffic schedules, with the numbers that counting goes by."""
    yield from prose(
        "# Traffic schedules",
        "When requests are sent, and what is done to them: `--schedule NAME,...`, or `all`. N is the concurrency. A "
        "gate without this option runs `closed-loop` and `burst-solo`. *Steady*: N are in flight all the time; "
        "otherwise each release drains before the next one. *Sent*: requests for each judged one, filler apart. "
        f"*Copies*: how often one prompt is judged in a block, at N = {AT}; its copies count once towards the bound.",
    )
    yield from table(
        ("schedule", "traffic", "in flight", "sent", "copies"),
        (
            (
                f"`{name}`",
                schedule.summary,
                "steady" if SHAPES[name].steady else "drains",
                f"{SHAPES[name].load:g}",
                str(SHAPES[name].copies(AT)),
            )
            for name, schedule in SCHEDULES.items()
        ),
    )


def faults() -> Iterator[str]:
    """All faults that can be planted."""
    yield from prose(
        "# Faults",
        "What can be planted to see whether the gate finds it; `specfuzz faults` lists the same, `specfuzz faults "
        "--json` for machines. How surely each is found under its own traffic was measured for [the whole "
        "zoo](../../reports/power.md); for [the first twelve](../../reports/detection/README.md) also under the "
        "default gate, together with how often that failed without a fault.",
        "## In the simulated engine",
        "`specfuzz demo --fault NAME` gates a pair with it, `specfuzz serve-sim --fault NAME` serves it. *Rate*: how "
        "much is drawn for it unless `--rate` says otherwise, and of what; what is drawn is hit where the trigger "
        "holds. *Trigger*: what must happen before it shows, and the requests that this takes. *Found by*: the "
        "[traffic schedule](schedules.md) and the concurrency under which it is found.",
    )
    yield from table(
        ("fault", "what it does", "symptom", "rate", "trigger", "found by", "modelled on"),
        (
            (
                f"`{name}`",
                fault.summary,
                f"`{fault.symptom}`",
                fault.rate,
                fault.condition,
                fault.traffic,
                _report(fault.report),
            )
            for name, fault in FAULTS.items()
        ),
    )
    yield from prose("## Symptoms", "What the users saw who wrote the reports.")
    yield from table(("symptom", "means"), ((f"`{code}`", meaning) for code, meaning in SYMPTOMS.items()))
    yield from prose(
        "## Before a real engine",
        "`specfuzz gateway --upstream URL --fault NAME` stands between specfuzz and your own engine. The rate is the "
        "share of requests that are drawn.",
    )
    yield from table(
        ("fault", "what it does", "rate"),
        ((f"`{name}`", fault.summary, f"{fault.rate:.0%}") for name, fault in GATEWAY_FAULTS.items()),
    )


def _report(text: str) -> str:
    return f"[report]({text})" if text.startswith("https://") and " " not in text else text


def verdicts() -> Iterator[str]:
    """Exit statuses, verdicts, reasons and what a cell can come to."""
    yield from prose(
        "# Exit statuses and verdicts",
        "Of `gate`, `resume`, `judge`, `merge` and `demo --fault`; other commands say theirs in `--help`.",
    )
    rows = [
        (status, f"`{verdict}`", VERDICTS[verdict]) for verdict in get_args(VerdictName) for status in (EXIT[verdict],)
    ]
    rows += [(status, "-", when) for status, when in OTHER_EXITS.items()]
    yield from table(("exit", "verdict", "when"), ((str(status), *rest) for status, *rest in sorted(rows)))
    yield from prose(
        "## Reasons",
        "`reasons[].code` in `summary.json`. A reason that fails wins over all others; the rest make a run "
        "inconclusive, unless the table says otherwise.",
    )
    yield from table(
        ("code", "fails?", "when"),
        ((f"`{code}`", "yes" if code in FAILING else "no", REASONS.get(code, "")) for code in get_args(ReasonCode)),
    )
    yield from prose("## Cells", "`cells[].status` in `summary.json`.")
    yield from table(("status", "means"), ((f"`{name}`", CELL_STATUSES[name]) for name in get_args(CellStatus)))
    listed = ", ".join(f"`{code}`" for code in get_args(ReasonCode) if code in VACUOUS)
    yield from prose(f"A cell is vacuous for one of: {listed}.")


def counters() -> Iterator[str]:
    """The Prometheus samples that are read from each engine."""
    yield from prose(
        "# Metrics read from engines",
        "specfuzz reads these Prometheus samples before and after every stage, and the gauges while it runs. They show "
        "that the candidate drafts, that its batch fills and that it did not restart. An engine without them can still "
        "be gated; what it does not tell is then said to be unknown.",
    )
    for engine in get_args(Engine):
        if engine in ("auto", "openai"):
            continue
        dialect = dialect_for(engine)
        named = dialect.counters.mapping()
        yield from prose(f"## {engine}", f"From `{dialect.metrics}`." if named else "None.")
        if named:
            yield from table(("sample", "read as"), ((f"`{name}`", f"`{field}`") for name, field in named.items()))


def metrics() -> Iterator[str]:
    """The metrics that a soak exposes."""
    yield from prose(
        "# Metrics of a soak",
        "What `--metrics-port` serves and `--textfile` writes while a soak goes on; [running every "
        "night](../soak-schedule.md) says how to collect it. `lm_head` is `unstated` where nobody stated it, and a "
        f"name that is not known is `{OTHER}`. Counters begin at 0 with each process: `rate()` and `increase()` allow "
        "for that.",
    )
    yield from table(
        ("metric", "type", "labels", "what"),
        (
            (f"`{each.name}`", each.kind, ", ".join(f"`{label}`" for label in each.labels) or "-", each.help)
            for each in METRICS.values()
        ),
    )
    named: tuple[tuple[str, Iterable[str]], ...] = (
        ("arm", get_args(Arm)),
        ("certainty", get_args(Certainty)),
        ("kind", get_args(Kind)),
        ("purpose", get_args(Purpose)),
        ("outcome` of `specfuzz_exchanges_total", get_args(Outcome)),
        ("outcome` of `specfuzz_legs_total` and `specfuzz_verdict", get_args(VerdictName)),
    )
    yield from prose("## Values of labels")
    yield from table(
        ("label", "values"),
        ((f"`{label}`", ", ".join(f"`{value}`" for value in values)) for label, values in named),
    )


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "cli.md": cli,
    "configuration.md": configuration,
    "verdicts.md": verdicts,
    "summary.md": summary,
    "night.md": night,
    "history.md": history,
    "python.md": python,
    "families.md": families,
    "oracles.md": oracles,
    "schedules.md": schedules,
    "faults.md": faults,
    "counters.md": counters,
    "metrics.md": metrics,
}


_EXAMPLE = re.compile(r'^```python title="([^"]+)"\n.*?^```$', re.DOTALL | re.MULTILINE)


def text(name: str) -> str:
    """A reference page; the note stands below the title, which the site takes from the first line."""
    title, *rest = PAGES[name]()
    return "\n".join((title, "", NOTE, *rest)).rstrip("\n") + "\n"


def with_examples(page: str) -> str:
    """A page whose code blocks with the path of a file as their title hold that file."""

    def filled(block: re.Match[str]) -> str:
        code = (DOCS.parent / block[1]).read_text(encoding="utf-8")
        return f'```python title="{block[1]}"\n{code}```'

    return _EXAMPLE.sub(filled, page)


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is made here, and what it should hold."""
    yield from ((FOLDER / name, text(name)) for name in PAGES)
    for path in sorted((DOCS / "howto").glob("*.md")):
        yield path, with_examples(path.read_text(encoding="utf-8"))


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for path, content in list(files()):
        path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
