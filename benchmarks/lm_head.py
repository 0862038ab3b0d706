"""The lm_head axis on a real engine: SmolLM2 with heads of several precisions, served by llama.cpp on the CPU.

    python -m benchmarks.lm_head [--prompts 60] [--heads F32,BF16,Q8_0,Q4_0] [--levels 1,3,8] [--out reports/lm_head]

For each head two servers run one after the other, without speculation and with n-gram drafts, and answer the same
prompts at every concurrency: half of them open (text to go on with), half with a known answer that the F32 head gets
right alone. Told are the outputs that differ, exact ties, margins, wrong answers and drafting, by head and concurrency.
Prompt caches are off, and every request asks for the two best log-probabilities.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import anyio

from benchmarks.heads import HEADS, variant
from benchmarks.regret import exchange
from fuzzer.checkpoint import inspect
from fuzzer.demo import LLAMA_FAMILIES
from fuzzer.history.records import Message, Prompt, Received
from fuzzer.oracles.divergence import Divergence, calibrate, first_divergence, triage
from fuzzer.plan import Endpoint
from fuzzer.prompts import PromptPool, check
from fuzzer.sim.gguf_model import ensure_model
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer, Speculation
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params

SLOTS = 8
TOKENS = 64
_TIMEOUT = 600.0
_SPECULATIONS: tuple[Speculation | None, ...] = (None, "ngram")
_SUBJECTS = ("a harbour", "an old mill", "the night train", "a lost letter", "the first snow", "a clock maker")
_FORMS = ("Write three sentences about {}.", "Tell a short story about {}.", "Explain {} to a child.", "Describe {}.")
_PARAMS = Params(max_tokens=TOKENS, stream=False, logprobs=2, cache="cold")

Answers = dict[str, Received]
"""Replies by prompt."""


@dataclass(frozen=True, slots=True)
class Row:
    """One head, with or without drafts, at one concurrency.

    ``differ_alone`` and ``differ_reference`` are open outputs that differ from the same head's reference at
    concurrency 1 and at this one, ``differ_finest`` from the first head's reference at this one; ``material`` are those
    of ``differ_reference`` that the head's default band calls so. ``ties`` are exact ones in 1000 positions,
    ``margins`` the 10 %, 50 % and 90 % quantiles in nats: of references only, accepted drafts have none.
    """

    head: str
    stored: str
    speculation: str
    concurrency: int
    open: int = 0
    differ_alone: int = 0
    differ_reference: int = 0
    differ_finest: int = 0
    material: int = 0
    ties: float | None = None
    margins: tuple[float, float, float] | None = None
    judged: int = 0
    wrong: int = 0
    drafted: int = 0
    accepted: int = 0
    tokens_per_second: float = 0.0


def open_prompts(count: int) -> list[Prompt]:
    """Prompts without a right answer, on which outputs are long enough to diverge."""
    texts = [form.format(subject) for subject, form in itertools.product(_SUBJECTS, _FORMS)]
    asked = itertools.islice(itertools.cycle(enumerate(texts)), count)
    return [
        Prompt(
            id=f"open{place}", family="open", level="easy", answer="", checkable=False,
            messages=(Message(role="user", content=f"{text} Begin with the number {place}."),),
        )
        for place, (_, text) in enumerate(asked)
    ]  # fmt: skip


async def ask_all(client: Client, prompts: Sequence[Prompt], concurrency: int) -> tuple[Answers, float]:
    """All answers with so many in flight, and the seconds it took."""
    answers: Answers = {}
    waiting, before = iter(prompts), time.monotonic()

    async def work() -> None:
        for prompt in waiting:
            answers[prompt.id] = await client.ask(prompt.messages, _PARAMS)

    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(work)
    return answers, time.monotonic() - before


async def served(stack: AsyncExitStack, model: Path, speculation: Speculation | None) -> Client:
    """A client of a freshly booted server."""
    config = LlamaConfig(model, slots=SLOTS, ctx=SLOTS * 1024, speculation=speculation)
    server = await stack.enter_async_context(LlamaServer(config))
    endpoint = Endpoint(name=speculation or "none", url=server.url, engine="llamacpp")
    return await stack.enter_async_context(Client(endpoint, dialect_for("llamacpp"), timeout=_TIMEOUT))


async def answerable(client: Client, count: int) -> list[Prompt]:
    """Prompts that this server gets right alone."""
    pool, kept = PromptPool(0, LLAMA_FAMILIES), list[Prompt]()
    for index in range(4 * count):
        prompt = pool.prompt(index)
        if not wrong(prompt, await client.ask(prompt.messages, _PARAMS)):
            kept.append(prompt)
        if len(kept) == count:
            break
    return kept


def wrong(prompt: Prompt, received: Received) -> bool:
    """Whether an answer is not right, however verbose."""
    grade = check(prompt, received.text, finish_reason=received.finish_reason)
    return received.outcome != "ok" or grade.value not in ("right", "verbose")


async def experiment(source: Path, heads: Sequence[str], levels: Sequence[int], count: int, folder: Path) -> list[Row]:
    """Run it all, and print each row as it is done; the first head is the one that others are compared with."""
    rows: list[Row] = []
    finest: dict[int, Answers] = {}
    asked, judged = open_prompts(count // 2), list[Prompt]()
    for head in heads:
        model = variant(source, head, folder)
        references: dict[int, Answers] = {}
        for speculation in _SPECULATIONS:
            async with AsyncExitStack() as stack:
                client = await served(stack, model, speculation)
                judged = judged or await answerable(client, count - len(asked))
                for level in levels:
                    answers, seconds = await ask_all(client, [*asked, *judged], level)
                    if speculation is None:
                        references[level] = answers
                        finest.setdefault(level, answers)
                    against = (references[levels[0]], references[level], finest[level])
                    base = Row(head, inspect(model).precision, speculation or "none", level)
                    rows.append(_filled(base, answers, seconds, asked, judged, against))
                    print(_line(rows[-1]), flush=True)
    return rows


def _filled(
    row: Row,
    answers: Answers,
    seconds: float,
    asked: Sequence[Prompt],
    judged: Sequence[Prompt],
    against: tuple[Answers, Answers, Answers],
) -> Row:
    alone, reference, finest = ([_parted(answers, other, prompt.id) for prompt in asked] for other in against)
    band = calibrate([], row.stored)
    margins = _margins(answers.values()) if row.speculation == "none" else []
    drafts = [reply.draft for reply in answers.values() if reply.draft is not None]
    return dataclasses.replace(
        row,
        open=len(asked),
        differ_alone=sum(map(bool, alone)),
        differ_reference=sum(map(bool, reference)),
        differ_finest=sum(map(bool, finest)),
        material=sum(found is not None and triage(found, band) == "material" for found in reference),
        ties=1000 * margins.count(0.0) / len(margins) if margins else None,
        margins=_quantiles(margins),
        judged=len(judged),
        wrong=sum(wrong(prompt, answers[prompt.id]) for prompt in judged),
        drafted=sum(draft.drafted for draft in drafts),
        accepted=sum(draft.accepted for draft in drafts),
        tokens_per_second=sum(len(reply.token_ids or ()) for reply in answers.values()) / seconds,
    )


def _parted(left: Answers, right: Answers, prompt: str) -> Divergence | None:
    return first_divergence(exchange(prompt, left[prompt]), exchange(prompt, right[prompt]))


def _margins(replies: Iterable[Received]) -> list[float]:
    entries = itertools.chain.from_iterable(reply.logprobs or () for reply in replies)
    return [entry.margin for entry in entries if entry.margin is not None]


def _quantiles(margins: Sequence[float]) -> tuple[float, float, float] | None:
    if len(margins) < 2:
        return None
    tenths = statistics.quantiles(margins, n=10)
    return tenths[0], tenths[4], tenths[8]


_HEADER = (
    "| lm_head | drafts | N | differs from alone | from reference@N (material) | from F32@N | ties / 1000 "
    "| margin 10 / 50 / 90 % | wrong | accepted | tokens/s |"
)


def _line(row: Row) -> str:
    """The row of a Markdown table."""
    quantiles = " / ".join(f"{value:.2f}" for value in row.margins) if row.margins else "-"
    accepted = f"{row.accepted}/{row.drafted}" if row.drafted else "-"
    cells = (
        row.stored, row.speculation, row.concurrency, f"{row.differ_alone}/{row.open}",
        f"{row.differ_reference}/{row.open} ({row.material})", f"{row.differ_finest}/{row.open}",
        "-" if row.ties is None else f"{row.ties:.2f}", quantiles, f"{row.wrong}/{row.judged}", accepted,
        f"{row.tokens_per_second:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def write(rows: Sequence[Row], folder: Path) -> None:
    """The rows as JSON lines, and the table."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(asdict(row)) + "\n" for row in rows)
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    rule = "|---" * _HEADER.count(" | ") + "|---|"
    lines = [
        "# lm_head precision on a real engine",
        "",
        (__doc__ or "").strip(),
        "",
        _HEADER,
        rule,
        *map(_line, rows),
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    """Parse the arguments, run and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=60)
    parser.add_argument("--heads", default=",".join(HEADS))
    parser.add_argument("--levels", default="1,3,8")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    heads = [head for head in HEADS if head in arguments.heads.split(",")]
    levels = sorted({1, *map(int, arguments.levels.split(","))})
    with tempfile.TemporaryDirectory() as folder:
        print(_HEADER)
        run = partial(experiment, ensure_model(None, print), heads, levels, arguments.prompts, Path(folder))
        rows = anyio.run(run)
    if arguments.out is not None:
        write(rows, arguments.out)


if __name__ == "__main__":
    main()
