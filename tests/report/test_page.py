"""The HTML page: nothing in it can start, load or hide, and it shows what the history holds."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

import pytest

from fuzzer.finding import Donor, Finding
from fuzzer.history.journal import Journal
from fuzzer.history.records import Done, Message, Opened, Prompt, Received, Sent, TokenLogprob
from fuzzer.history.scores import Scored, Scores, TokenScore
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.report.page import html as page
from fuzzer.report.page.evidence import evidence, pair_key
from fuzzer.summary import Summary

from . import factory

BASE = 1_000_000_000


class Outline(html.parser.HTMLParser):
    """The tags of a page, and what its scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts.append(data)


def inert(text: str) -> None:
    outline = Outline(text)
    assert sum(tag == "script" for tag, _ in outline.tags) == 1
    assert {tag for tag, _ in outline.tags}.isdisjoint({"iframe", "object", "embed", "img", "base", "form", "video"})
    for tag, attributes in outline.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href", "action"):
            target = attributes.get(name)
            assert target is None or target.startswith("#") or target == "data:,", (tag, target)


@pytest.mark.parametrize("summary", factory.everything(), ids=lambda summary: summary.verdict)
def test_the_page_loads_nothing_and_starts_nothing(summary: Summary) -> None:
    text = page(summary)
    inert(text)
    assert "default-src 'none'" in text
    assert summary.verdict.upper() in text


def run(folder: Path, *, said: str = "the other answer", asked: str = "What is it?") -> Summary:
    """A run directory with one finding: a victim and its donor in flight together, and the reference's pair."""
    victim, donor = "c/c8/closed-loop#0/measure0/candidate/0", "c/c8/closed-loop#0/measure0/candidate/1"
    with Journal(folder / HISTORY) as journal:
        journal.append(Opened(run_id="r", at_ns=BASE))
        for name, answer in (("p000000", "my own answer"), ("p000001", "the other answer")):
            journal.append(
                Prompt(
                    id=name, family="echo", level="easy", messages=(Message(role="user", content=asked),), answer=answer
                )
            )
        for place, (key, prompt, _) in enumerate(
            (
                (victim, "p000000", said),
                (donor, "p000001", "the other answer"),
                (pair_key(victim), "p000000", "my own answer"),
            )
        ):
            arm = "reference" if "/reference/" in key else "candidate"
            sent = Sent.model_validate(
                {
                    "key": key, "arm": arm, "endpoint": arm, "cell": "c/c8/closed-loop", "phase": "measure", "block": 0,
                    "index": place, "prompt": prompt, "concurrency": 8, "exposure": 0, "max_tokens": 9,
                    "sent_ns": BASE + place * 1_000_000, "in_flight": 2,
                }
            )  # fmt: skip
            journal.append(sent)
        for key, text in ((victim, said), (donor, "the other answer"), (pair_key(victim), "my own answer")):
            tops = TokenLogprob(token="my", logprob=-0.1, top=(("my", -0.1), ("the", -0.15)))
            received = Received(
                outcome="ok",
                text=text,
                finish_reason="stop",
                logprobs=(tops,),
                first_ns=BASE + 2_000_000,
                end_ns=BASE + 9_000_000,
            )
            journal.append(Done(key=key, min_in_flight=2, max_in_flight=2, received=received))
    span = Donor(prompt="p000001", exchange=donor, channel="answer", span="the other answer", when="concurrent")
    finding = Finding(
        key="bleed/concurrent/answer@candidate", kind="bleed", sub_kind="concurrent", certainty="certain",
        arm="candidate",
        endpoint="candidate", cell="c/c8/closed-loop", phase="measure", exchange=victim, prompt="p000000",
        summary="the reply holds another's answer", donor=span,
    )  # fmt: skip
    (folder / FINDINGS).write_text(finding.model_dump_json() + "\n", encoding="utf-8")
    return factory.failing().model_copy(update={"findings": (factory.group(finding, 1, breaks_gate=True),)})


def test_a_finding_shows_both_answers_the_donor_and_who_was_in_flight(tmp_path: Path) -> None:
    text = page(run(tmp_path), tmp_path)
    assert '<mark class="differs">my</mark>' in text
    assert '<mark class="span">the other answer</mark>' in text.replace('</mark><mark class="span">', "")
    assert "the donor&#39;s prompt" in text
    assert "victim, its donor, and 0 more in flight with it" in text
    assert "p000000 victim" in text
    assert 'class="narrow"' in text or 'class="thin"' in text


def test_all_that_is_the_donor_s_is_marked_not_only_the_span(tmp_path: Path) -> None:
    summary = run(tmp_path, said="KITE-7, mine, the other answer, OWL-22")
    example = summary.findings[0].example
    assert example.donor is not None
    narrow = example.donor.model_copy(update={"span": "KITE-7"})
    told = example.model_copy(
        update={"donor": narrow, "evidence": {"spans": [["user", "KITE-7"], ["items", "OWL-22"]]}}
    )
    (tmp_path / FINDINGS).write_text(told.model_dump_json() + "\n", encoding="utf-8")
    (group,) = summary.findings
    text = page(summary.model_copy(update={"findings": (group.model_copy(update={"example": told}),)}), tmp_path)
    said = text[text.index("candidate said") : text.index("the reference said")]
    assert "".join(re.findall('<mark class="span">([^<]*)</mark>', said)) == "KITE-7the other answer, OWL-22"


def test_the_first_failure_stands_first_in_its_finding_with_its_own_donor(tmp_path: Path) -> None:
    summary = run(tmp_path)
    first = summary.findings[0].example
    late = first.model_copy(update={"exchange": "c/c8/closed-loop#0/measure0/candidate/1", "prompt": "p000001"})
    early = first.model_copy(update={"phase": "warmup", "summary": "this came first"})
    both = f"{late.model_dump_json()}\n{early.model_dump_json()}\n"
    (tmp_path / FINDINGS).write_text(both, encoding="utf-8")
    group = summary.findings[0].model_copy(update={"example": late, "count": 2})
    text = page(summary.model_copy(update={"findings": (group,)}), tmp_path)
    finding = text[text.index('id="f-1"') :]
    assert finding.index("first failure") < finding.index("1 more of this kind")
    assert finding.index("this came first") < finding.index("<b>Donor</b>") < finding.index("first failure")
    assert finding.count("<b>Donor</b>") == 2


def test_where_the_reference_scored_an_answer_its_tokens_show_their_regret(tmp_path: Path) -> None:
    summary = run(tmp_path)
    tokens = (
        TokenScore(id=1, token="the ", logprob=-0.1, best=-0.1),
        TokenScore(id=2, token="<other>", logprob=-6.1, best=-0.1),
    )
    key = summary.findings[0].example.exchange or ""
    with Journal(tmp_path / HISTORY) as journal:
        scores = Scores(tokens=tokens)
        journal.append(
            Scored(key=key, cell="c", block=0, endpoint="reference", sent_ns=BASE, end_ns=BASE, scores=scores)
        )
    text = page(summary, tmp_path)
    inert(text)
    assert '<span class="wide" title="the reference&#39;s best">the </span>' in text
    assert '<span class="thin" title="6.00 nats below the reference&#39;s best">&lt;other&gt;</span>' in text


def test_a_megabyte_of_answer_does_not_make_a_megabyte_of_page(tmp_path: Path) -> None:
    assert len(page(run(tmp_path, said="x" * 1_000_000), tmp_path)) < 300_000


def test_cases_that_do_not_fit_the_page_are_left_out(tmp_path: Path) -> None:
    summary = run(tmp_path, said="<" * 5_000)
    (case,) = evidence([tmp_path], summary).cases["bleed/concurrent/answer@candidate"]
    assert 20_000 < case.weight < 25_000  # an angle bracket takes four characters
    assert evidence([tmp_path], summary, case.weight).cases
    assert not evidence([tmp_path], summary, case.weight - 1).cases


def test_a_redacted_run_shows_no_text(tmp_path: Path) -> None:
    summary = run(tmp_path, said=factory.PRIVATE).model_copy(update={"redacted": True})
    assert factory.PRIVATE not in page(summary, tmp_path)
