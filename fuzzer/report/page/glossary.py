"""The words that a reader may not know: what they mean, and a link to that from where each is first used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from fuzzer.report.text import plain

if TYPE_CHECKING:
    from markupsafe import Markup

GLOSSARY: Final = {
    "candidate": "the endpoint that is tested: it serves the model with speculative decoding, a drafter that guesses "
    "tokens ahead and lets the model check them",
    "reference": "the same model served without speculation; what it answers is what the candidate should answer",
    "concurrency": "how many requests are in flight at once",
    "N": "the concurrency of a cell",
    "cell": "one thing that is decided: a candidate and its lm_head precision, at one concurrency, under one schedule",
    "lm_head": "the model's last layer, which scores every token; it may be stored in fewer bits than the rest",
    "schedule": "when requests are sent, and beside which others",
    "closed-loop": "the schedule that keeps N in flight: the next request leaves as soon as one ends",
    "burst-solo": "the schedule that sends a burst, waits until all have ended, then sends one request alone",
    "preflight": "the few requests before the run that ask whether the two ends can be compared",
    "calibration": "the passes before the cells: they find prompts that the control answers right, and how far each "
    "end strays from itself",
    "control": "what is known to be good: the reference, or the candidate asked one at a time",
    "bleed": "an answer that holds content of another request",
    "victim": "the request whose answer is judged; in a bleed, the one that got another's content",
    "donor": "the request whose content bled into the victim's answer",
    "neighbour": "a request that is in flight beside the victim",
    "filler": "a request that only keeps the load up: looked at for bleed, in no failure rate",
    "divergence": "the two ends' greedy answers part; material where they part farther than a near-tie explains",
    "noise floor": "how often the reference's answers differ from its own under the same load",
    "regret": "how far the reference puts a token of the candidate's below its own best, in nats",
    "margin": "how far the best token is ahead of the next best, in nats",
    "nats": "the unit of log-probability: 0.1 nats apart is a near-tie, 2.3 nats is ten times less likely",
}


def anchor(word: str) -> str:
    """The id of a word's entry."""
    return f"w-{word.replace(' ', '-')}"


class Glossary:
    """Escapes a text and links each word of the glossary where the page first uses it."""

    def __init__(self, meanings: Mapping[str, str] = GLOSSARY) -> None:
        self._meanings = meanings
        words = "|".join(sorted(map(re.escape, meanings), key=len, reverse=True))
        self._words = re.compile(rf"(?<![\w/#&@-])({words})(?![\w@=-])")
        self._linked: set[str] = set()

    def __call__(self, text: str) -> Markup:
        """The text as markup."""
        from markupsafe import Markup, escape

        return Markup(self._words.sub(self._link, str(escape(plain(text)))))  # noqa: S704  # escaped before; links are ours

    def _link(self, found: re.Match[str]) -> str:
        word = found.group(1)
        if word in self._linked:
            return word
        self._linked.add(word)
        return f'<a class="word" href="#{anchor(word)}" title="{self._meanings[word]}">{word}</a>'
