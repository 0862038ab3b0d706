"""``ISSUE.md``: the bundle as a bug report, under the headings that an engine's tracker asks for.

Headings follow the trackers' own forms (vLLM: .github/ISSUE_TEMPLATE/400-bug-report.yml; SGLang: 1-bug-report.yml;
llama.cpp: 011-bug-results.yml). All text of a server or a prompt is shown in code, where nothing in it works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, get_args

from fuzzer.history.records import Arm, Counters, Exchange
from fuzzer.report.mdtext import code, line, prose
from fuzzer.report.text import clean
from fuzzer.report.words import percent, plural
from fuzzer.repro.bundle import Bundle, Tally
from fuzzer.repro.script import expected, rounds_wanted
from fuzzer.summary import EndpointSummary

Tracker = Literal["vllm", "sglang", "llamacpp"]
TRACKERS: tuple[Tracker, ...] = get_args(Tracker)

_LINES, _WIDTH = 40, 300  # of a reply as it is shown
_SENDS = 24  # requests of the cohort in the table
_WHERE: dict[Arm, str] = {"candidate": "speculation on", "reference": "speculation off"}


def tracker_for(bundle: Bundle) -> Tracker:
    """The tracker of the engine that was asked; vLLM's form where the engine has none here."""
    engines = [end.engine for end in bundle.environment.endpoints if end.role == bundle.arm]
    return next((tracker for tracker in TRACKERS if tracker in engines), "vllm")


def issue(bundle: Bundle, tracker: Tracker, script: bool) -> str:
    """The report as Markdown; ``script`` says whether the bundle has a reproduce.py."""
    sections = _FORMS[tracker](bundle, script)
    title = f"# {_title(bundle, tracker)}\n"
    return "\n".join([title, *(f"## {head}\n\n{body}\n" for head, body in sections)])


def _title(bundle: Bundle, tracker: Tracker) -> str:
    prefix = {"vllm": "[Bug]: ", "sglang": "[Bug] ", "llamacpp": "Eval bug: "}[tracker]
    what = {
        "bleed": "reply holds another request's content",
        "wrong-answer": "wrong answer that is right without load",
        "divergence": "greedy output differs from the target's beyond rounding",
        "corruption": "corrupted output",
        "service": "request fails or hangs",
        "self-consistency": "reply contradicts its own tokens or usage",
    }.get(bundle.finding.kind, bundle.finding.kind)
    width = bundle.cohort.width if bundle.shrunk else bundle.concurrency
    where = f"at concurrency {width} with speculative decoding"
    return f"{prefix}{what} {where} ({prose(bundle.finding.sub_kind)})"


def _vllm(bundle: Bundle, script: bool) -> Iterator[tuple[str, str]]:
    yield (
        "Your current environment",
        f"{_environment(bundle)}\n\n<details><summary>The output of <code>python collect_env.py</code></summary>\n\n"
        "(please add)\n\n</details>",
    )
    yield "🐛 Describe the bug", _description(bundle, script)


def _sglang(bundle: Bundle, script: bool) -> Iterator[tuple[str, str]]:
    yield "Describe the bug", _description(bundle, script)
    yield "Reproduction", _reproduction(bundle, script)
    yield "Environment", f"{_environment(bundle)}\n\nOutput of `python3 -m sglang.check_env`: (please add)"


def _llamacpp(bundle: Bundle, script: bool) -> Iterator[tuple[str, str]]:
    own = next((end for end in bundle.environment.endpoints if end.role == bundle.arm), None)
    yield "Name and Version", code(own.fingerprint or "not told") if own else "not told"
    yield "Operating systems", "(please add)"
    yield "GGML backends", "(please add)"
    yield "Hardware", "(please add)"
    yield "Models", code(own.model or "not told") if own else "not told"
    yield "Problem description & steps to reproduce", f"{_description(bundle, script)}\n\n{_environment(bundle)}"
    yield "First Bad Commit", "Not known."
    yield "Relevant log output", _replies(bundle)


_FORMS: dict[Tracker, Callable[[Bundle, bool], Iterator[tuple[str, str]]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "llamacpp": _llamacpp,
}


def _environment(bundle: Bundle) -> str:
    known = bundle.environment
    lines = [_endpoint(end) for end in known.endpoints]
    if known.launch_command:
        lines.append(f"- launch command, as given by the user: {code(known.launch_command, 2000)}")
    else:
        lines.append("- launch command and speculation config: not given (please add)")
    lines.append(f"- client: specfuzz {prose(known.specfuzz)}, {prose(known.python)}")
    return "\n".join(lines)


def _endpoint(end: EndpointSummary) -> str:
    facts = {
        "engine": end.engine,
        "version": end.fingerprint,
        "model": end.model,
        "lm_head": end.lm_head,
        "speculation, by its own word": None if end.speculation is None else "on" if end.speculation else "off",
        "context length": end.context_length,
        "slots": end.slots,
        "parameters that it refuses": ", ".join(end.dropped_parameters) or None,
    }
    told = "; ".join(f"{name} {code(str(value), 200)}" for name, value in facts.items() if value is not None)
    return f"- {end.role} ({_WHERE[end.role]}): {told}"


def _description(bundle: Bundle, script: bool) -> str:
    parts = [
        line(bundle.finding.summary, 600),
        _counts(bundle),
        *([f"**What it needs:** {line(bundle.shrunk.sentence.removeprefix('needs '))}"] if bundle.shrunk else []),
        _reproduction(bundle, script),
        f"**What came back**\n\n{_replies(bundle)}",
        f"**The requests** (exact bodies in `bundle.json`)\n\n{_table(bundle)}",
        _controls(bundle),
        _counters(bundle),
        f"**Scope.** {line(bundle.scope, 1500)}",
        *([f"**Notes.** {line('; '.join(bundle.notes), 1500)}"] if bundle.notes else []),
        _redaction(bundle),
    ]
    return "\n\n".join(filter(None, parts))


def _counts(bundle: Bundle) -> str:
    rate = bundle.rate
    found = (
        f"Seen in {_tally(rate)} at concurrency {bundle.concurrency}, traffic {code(bundle.schedule)}. "
        f"Example: {code(bundle.finding.exchange or '-')}, certainty {bundle.finding.certainty}."
    )
    if bundle.shrunk is None:
        return found
    shrunk = bundle.shrunk
    return (
        f"{found}\n\nReduced from {plural(shrunk.was, 'request')} to {bundle.cohort.size} in "
        f"{plural(shrunk.replays, 'replay')}; then, on fresh replays: {_tally(shrunk.final)}."
    )


def _tally(tally: Tally) -> str:
    share = percent(tally.k / tally.n) if tally.n else "unknown"
    return f"{tally.k} of {tally.n} {prose(tally.unit)} ({share}; 95 % {percent(tally.low)} to {percent(tally.high)})"


def _reproduction(bundle: Bundle, script: bool) -> str:
    again = "`specfuzz replay BUNDLE --candidate URL` judges a new build with all checks."
    if not script:
        return f"**To reproduce:** what is wrong here cannot be told without specfuzz; {again}"
    return (
        "**To reproduce**, with nothing but Python (the script is in the bundle, and holds the requests):\n\n"
        f"```sh\npython3 -I -S reproduce.py http://127.0.0.1:8000\n```\n\n"
        f"It sends {rounds_wanted(bundle)} rounds and exits 1 if any fails. By what was recorded, about "
        f"{percent(expected(bundle))} of the rounds should fail. {again}"
    )


def _replies(bundle: Bundle) -> str:
    """The victim's reply and what the other arm said to the same."""
    victim = next((item for item in bundle.seen if item.key == bundle.finding.exchange), None)
    if victim is None:
        return "The victim's reply is not recorded."
    pair = next((item for item in bundle.seen if _pairs(item, victim)), None)
    parts = [f"The victim, prompt {code(victim.sent.prompt)}, {_WHERE[victim.sent.arm]}:\n\n{_reply(victim)}"]
    if pair is not None:
        parts.append(f"The same request, {_WHERE[pair.sent.arm]}:\n\n{_reply(pair)}")
    prompt = bundle.cohort.asked.get(victim.sent.prompt)
    if prompt is not None:
        parts.append(f"Asked (last message):\n\n{block(prompt.messages[-1].content)}")
        if prompt.checkable:
            parts.append(f"Right answer:\n\n{block(prompt.answer)}")
    donor = bundle.finding.donor
    if donor is not None:
        whose = f"prompt {code(donor.prompt)}" if donor.prompt else "nobody's prompt"
        parts.append(f"Donor: {whose}, {prose(donor.when)}, {prose(donor.channel)}; span {code(donor.span)}")
    return "\n\n".join(parts)


def _pairs(item: Exchange, victim: Exchange) -> bool:
    ours, theirs = victim.sent, item.sent
    return ours.arm != theirs.arm and (ours.index, ours.prompt) == (theirs.index, theirs.prompt)


def _reply(item: Exchange) -> str:
    received = item.received
    if received is None:
        return block("(no reply was recorded)")
    calls = [f"{call.name}({call.arguments})" for call in received.tool_calls]
    told = "\n".join(filter(None, (received.reasoning, received.text, *calls)))
    if received.outcome != "ok":
        told = f"{told}\n({received.outcome}: {received.detail})".strip()
    return block(told or "(empty)")


def block(text: str) -> str:
    """Text of several lines as a fenced block: every line cleaned, the fence longer than any in it."""
    lines = [clean(part, _WIDTH) for part in text.split("\n")[:_LINES]]
    left = text.count("\n") + 1 - len(lines)
    lines += [f"... ({plural(left, 'more line')})"] if left > 0 else []
    longest = max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n" + "\n".join(lines) + f"\n{fence}"


def _table(bundle: Bundle) -> str:
    rows = ["|request|prompt|release|sent|slot|judged|remarks|", "|---|---|---|---|---|---|---|"]
    place = 0
    for number, release in enumerate(bundle.cohort.releases):
        for slot, chain in enumerate(release.chains):
            for order, send in enumerate(chain):
                when = (
                    f"{send.at_ms:g} ms"
                    if not order
                    else f"after the one before{f' + {send.at_ms:g} ms' if send.at_ms else ''}"
                )
                judged = (
                    "**victim**" if place == bundle.cohort.victim else "yes" if place in bundle.cohort.judged else ""
                )
                marks = [
                    f"broken off after {send.cancel_ms:g} ms" if send.cancel_ms is not None else "",
                    f"broken off after {send.cancel_tokens} tokens" if send.cancel_tokens is not None else "",
                    "" if send.overrides.greedy else "not greedy",
                ]
                told = ", ".join(filter(None, marks))
                rows.append(f"|{place}|{code(send.prompt)}|{number}|{when}|{slot}|{judged}|{told}|")
                place += 1
    left = len(rows) - 2 - _SENDS
    shown = rows[: _SENDS + 2] + ([f"\n... and {left} more"] if left > 0 else [])
    return "\n".join(shown)


def _controls(bundle: Bundle) -> str:
    finding = bundle.finding
    names = {
        "alone": "the same endpoint, one at a time",
        "other-order": "the same endpoint at this concurrency, in another order",
        "reference": "speculation off, same place and neighbours",
        "reference-itself": "speculation off against itself",
    }
    lines = [f"- {names[control]}: shows it too" for control in finding.also]
    lines += [f"- {names[control]}: does not show it" for control in finding.spared]
    return "**Controls on the same prompt**\n\n" + "\n".join(lines) if lines else ""


def _counters(bundle: Bundle) -> str:
    lines = []
    for stage in bundle.stages:
        lines.append(
            f"- {stage.arm}: {stage.min_in_flight} to {stage.max_in_flight} in flight at the client, "
            f"{percent(stage.share_at_n)} of the time as many as planned (of barriers: so many of them met)"
        )
        if stage.before is not None and stage.after is not None:
            lines[-1] += f"; the engine's own counters: {_moved(stage.before, stage.after)}"
    return "**Overlap and speculation**\n\n" + "\n".join(lines) if lines else ""


def _moved(before: Counters, after: Counters) -> str:
    names = {
        "drafts": "drafts",
        "draft_tokens": "draft tokens",
        "accepted_tokens": "accepted",
        "generated_tokens": "generated",
        "preemptions": "preemptions",
        "prefix_hits": "prefix hits",
    }
    told = []
    for name, words in names.items():
        was, now = getattr(before, name), getattr(after, name)
        if was is not None and now is not None:
            told.append(f"{words} {was:g} -> {now:g}")
    return ", ".join(told) or "none told"


def _redaction(bundle: Bundle) -> str:
    if not bundle.struck:
        return "**Redaction.** Nothing that looks like a key, token or secret header was found in this bundle."
    told = ", ".join(f"{prose(struck.what)} ({struck.count})" for struck in bundle.struck)
    return (
        f"**Redaction.** Replaced by `***`: {told}. Where that was in a request, its body is not exactly what was sent."
    )
