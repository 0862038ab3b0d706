"""Small cohorts and bundles without a server; what is not said is plain."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzer.finding import Donor, Finding
from fuzzer.history.records import Done, Exchange, Prompt, Received, Sent
from fuzzer.history.schedule import Overrides, Release, Send
from fuzzer.prompts.strategies import make
from fuzzer.repro.bundle import Bundle, Environment, Tally
from fuzzer.repro.cohort import Cohort
from fuzzer.repro.writing import bodies
from fuzzer.summary import EndpointSummary

HOT = Overrides(temperature=1.0)


def prompts(count: int) -> tuple[Prompt, ...]:
    """So many easy prompts, ``a``, ``b``, ``c`` ..."""
    return tuple(
        make("code-word", "easy", number).model_copy(update={"id": "abcdefghijklmnop"[number]})
        for number in range(count)
    )


def cohort(
    releases: Sequence[Sequence[Sequence[Send]]], *, victim: int = 0, judged: Sequence[int] | None = None
) -> Cohort:
    """A cohort of these releases, slots and requests; every request that can be judged is."""
    made = tuple(Release(width=len(chains), chains=tuple(map(tuple, chains))) for chains in releases)
    sends = [send for release in made for send in release.sends]
    known = {prompt.id: prompt for prompt in prompts(16)}
    return Cohort(
        releases=made,
        prompts=tuple(known[name] for name in dict.fromkeys(send.prompt for send in sends)),
        victim=victim,
        judged=tuple(judged or (place for place, send in enumerate(sends) if send.role == "victim")),
        right=(None,) * len(sends),
    )


def pair() -> Cohort:
    """Two requests at one moment."""
    return cohort([[[Send(prompt="a")], [Send(prompt="b")]]])


def received(text: str) -> Received:
    """A whole reply."""
    return Received(outcome="ok", http_status=200, text=text, finish_reason="stop", end_ns=2_000_000)


def bundle(of: Cohort | None = None, *, reply: str = "", url: str = "http://127.0.0.1:9", note: str = "") -> Bundle:
    """A bundle about a reply to the victim that holds the code of the last prompt; all else right."""
    of = of or pair()
    asked, own = of.asked, of.sends[of.victim].prompt
    donor = asked[of.sends[-1].prompt]
    seen = Exchange(
        sent=Sent(
            key="x/0", arm="candidate", endpoint="candidate", cell="x", phase="measure", block=0, index=of.victim,
            prompt=own, concurrency=2, exposure=0, max_tokens=64, sent_ns=1, in_flight=2,
        ),
        done=Done(key="x/0", min_in_flight=2, max_in_flight=2, received=received(reply or donor.answer)),
    )  # fmt: skip
    finding = Finding(
        key="bleed/concurrent/user@candidate", kind="bleed", sub_kind="concurrent", certainty="certain",
        arm="candidate", endpoint="candidate", cell="x", phase="measure", exchange="x/0", prompt=own,
        summary=f"the reply holds another's {note}",
        donor=Donor(prompt=donor.id, channel="user", span=donor.answer, when="concurrent"),
    )  # fmt: skip
    end = EndpointSummary(name="candidate", role="candidate", url=url, engine="vllm", model="m")
    right = tuple(received(asked[send.prompt].answer) for send in of.sends)
    of = of.model_copy(update={"right": right})
    return Bundle(
        run="run", started="2026-01-01", finding=finding, schedule="rounds", concurrency=2,
        rate=Tally.of(7, 100, "answers in this cell"), cohort=of, bodies=bodies(of, end), seen=(seen,),
        environment=Environment(specfuzz="0", python="3", endpoints=(end,)), scope="one pair",
    )  # fmt: skip
