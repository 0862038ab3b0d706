"""The reports of a fixed recorded history, made anew and freed of what may differ from place to place.

After a change that is meant, write the expected files anew and read the difference before it is committed:

    python -m tests.report.golden && git diff tests/data/recorded
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
from pathlib import Path

from fuzzer.manifest import HISTORY
from fuzzer.report.files import write_reports
from fuzzer.run import rejudge

RECORDED = Path(__file__).parents[1] / "data" / "recorded"
NAMES = ("report.html", "report.md", "junit.xml", "summary.json", "findings.jsonl")
PLOT = re.compile(r'(<svg role="img" aria-label="[^"]*") [^>]*viewBox="0 0 [\d.]+ [\d.]+" version.*?</svg>', re.DOTALL)
UPDATE = "python -m tests.report.golden && git diff tests/data/recorded"


def unpack(folder: Path) -> Path:
    """The recorded run as a run directory."""
    shutil.copy(RECORDED / "run.json", folder)
    (folder / HISTORY).write_bytes(gzip.decompress((RECORDED / f"{HISTORY}.gz").read_bytes()))
    return folder


def reports(folder: Path) -> dict[str, str]:
    """Every report of the recorded run, judged by today's oracles, with the volatile parts taken out."""
    write_reports(folder, rejudge(unpack(folder)))
    return {name: settled((folder / name).read_text(encoding="utf-8"), folder) for name in NAMES}


def settled(text: str, folder: Path) -> str:
    """No directory, no version of ours; of the page no plot (matplotlib's versions differ), style or script."""
    text = text.replace(str(folder), "RUN").replace(f"specfuzz {version(folder)}", "specfuzz VERSION")
    text = PLOT.sub(r"\1/>", text)
    return re.sub(r"<(style|script)>.*?</\1>", r"<\1/>", text, flags=re.DOTALL)


def version(folder: Path) -> str:
    """The version that recorded the run."""
    found = re.search(r'"tool_version": ?"([^"]+)"', (folder / "run.json").read_text(encoding="utf-8"))
    return found.group(1) if found else ""


def main() -> None:
    """Write the expected files anew."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in reports(Path(folder)).items():
            (RECORDED / name).write_text(text, encoding="utf-8", newline="\n")
            sys.stdout.write(f"{RECORDED / name}: {len(text):,} characters\n")


if __name__ == "__main__":
    main()
