"""Texts and lengths at the edges of what tokenizers, templates and block tables see, and prompts set amid them.

A prompt that is wrapped keeps its question, its answer, its family and its level: it is checked as before.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fuzzer.history.records import PLAIN, Canary, Message, Prompt
from fuzzer.prompts import canary

Place = Literal["message", "turn", "system"]

PIECES: dict[str, tuple[str, ...]] = {
    "emoji": ("😀", "🔥", "✅", "❤️", "1️⃣", "©️", "☎", "🫠", "🧪", "🕳️"),
    "zwj": ("👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👩🏽‍🚀", "🧑🏿‍🤝‍🧑🏻", "❤️‍🔥", "🐻‍❄️"),
    "flags": ("🇩🇪", "🇯🇵", "🇧🇷", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🇺🇳", "🏁"),
    "rtl": ("שלום", "עולם", "مرحبا", "بالعالم", "\u200fאבג\u200e", "فارسی", "٣٤٥"),
    "combining": ("e\u0301", "n\u0303o", "Z\u0351\u036b\u0343a\u0338l\u0321g\u0327o", "a\u030a\u0327", "ö", "o\u0308"),
    "cjk": ("你好", "世界", "東京", "こんにちは", "カタカナ", "안녕하세요", "𠮷野家", "，。"),
    "unspaced": ("สวัสดีชาวโลก", "ကမ္ဘာ", "ភាសាខ្មែរ", "नमस्ते", "தமிழ்"),
    "look-alike": ("раураl", "Ωmega", "ﬁne", "ｆｕｌｌ", "𝒸𝓊𝓇𝓈𝒾𝓋𝑒", "Ⅷ", "ß", "İ", "ſ"),
    "invisible": ("a\u200bb", "c\u00add", "e\u2060f", "\ufeffg", "h\u00a0i", "j\u3000k", "l\u2028m"),
    "marks": ('"', "'", "`", "\\", "{}", "[]", "<>", "&amp;", "%s", "\\n", "\\u0041", "$", "|", "~~~", "---"),
    "blank": (" ", "  ", "\t", "\n", "\n\n", "\r\n", " \n "),
}
"""Pieces of edge texts, by the name of the edge."""

SIZED = ("words", "long word", "repeated")
"""Edges whose text is made to a length in place of being put together from pieces."""

BLOCKS = (16, 32, 64, 128, 256, 512, 1024)
LENGTHS = (1, 2, *(block + off for block in BLOCKS for off in (-1, 0, 1)))
"""Lengths in tokens around the sizes of the blocks that caches and batches are cut into."""

_WORDS = (
    "the of and to in that it was for on as with they at be this from had by but some we can out other were all when "
    "up use how said each which their time if will way about many then them would like so these her long make thing "
    "see him has more day could go come did my most who over than people may down been"
)
_COMMON = _WORDS.split()
_PLAIN_SYSTEM = re.compile(rf"Be brief\. Session tag: {canary.MARK.pattern}\.")
_FIRST = "my first message"
_READY = "Are you ready?"
_AFTER_READY = 3  # the place after the system message, that question and its answer
_NOTED = "Noted."


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge text: ``pieces`` for those of PIECES, ``length`` in tokens for those of SIZED."""

    name: str
    pieces: tuple[str, ...] = ()
    length: int = 0


def text_of(edge: Edge, rng: random.Random) -> str:
    """The text itself; a sized one is of common English words or of letters, about ``length`` tokens long."""
    if edge.name == "words":
        return " ".join(rng.choice(_COMMON) for _ in range(edge.length))
    if edge.name == "long word":
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(2 * edge.length))
    if edge.name == "repeated":
        return " ".join([rng.choice(_COMMON)] * edge.length)
    return rng.choice(("", " ")).join(edge.pieces)


def wrap(prompt: Prompt, edge: Edge, place: Place, rng: random.Random) -> Prompt:
    """The prompt with an edge text in its last message, in a turn before it, or in its system message.

    Where a place does not suit the prompt, the text goes into its last message.
    """
    text = text_of(edge, rng)
    wrapped = prompt
    if place == "system" and prompt.messages[0].role == "system":
        first = prompt.messages[0]
        wrapped = _with(
            prompt, (_said(first, f"{first.content} Pay no attention to this: {text}"), *prompt.messages[1:])
        )
    elif place == "turn" and (at := _gap(prompt)) is not None:
        asked = Message(role="user", content=f"Keep this in mind, but do not use it: {text}")
        wrapped = _inserted(prompt, at, [(asked, _NOTED)])
    else:
        at, last = _question(prompt)
        amid = _said(last, f"Pay no attention to this: {text}\n\n{last.content}")
        wrapped = _with(prompt, (*prompt.messages[:at], amid, *prompt.messages[at + 1 :]))
    return _marked(wrapped, f"{edge.name} in {place}")


def silenced(prompt: Prompt) -> Prompt:
    """The prompt with an empty system message, where the answer needs nothing from it; else as it was."""
    first, *rest = prompt.messages
    if not _PLAIN_SYSTEM.fullmatch(first.content) or "system" in prompt.elicits:
        return prompt
    kept = tuple(each for each in prompt.canaries if each.channel != "system")
    return _marked(_with(prompt, (_said(first, ""), *rest)).model_copy(update={"canaries": kept}), "empty system")


def preceded(prompt: Prompt, earlier: Sequence[Prompt]) -> Prompt:
    """The prompt after turns that asked ``earlier`` prompts' last questions, each answered right; else as it was.

    It stays as it was where its question speaks of the conversation's first message.
    """
    at = _gap(prompt)
    if at is None or not earlier:
        return prompt
    turned = _inserted(prompt, at, [(_question(each)[1], each.answer) for each in earlier])
    moved = [
        Canary(channel="history", text=mark.text)
        for each in earlier
        for mark in each.canaries
        if not mark.cohort and canary.occurs(mark.text, _question(each)[1].content)
    ]
    items = (item for each in earlier for item in each.items if item in _question(each)[1].content)
    return _marked(
        turned.model_copy(update={"canaries": (*turned.canaries, *moved), "items": (*turned.items, *items)}),
        f"{len(earlier)} turns before",
    )


def _question(prompt: Prompt) -> tuple[int, Message]:
    """The last message of the user's, and its place: what comes after it are results of tools."""
    at = max(place for place, message in enumerate(prompt.messages) if message.role == "user")
    return at, prompt.messages[at]


def may_precede(prompt: Prompt) -> bool:
    """Whether the last question of a prompt, with its answer, can stand in another one's history."""
    return set(prompt.elicits) <= {"user"} and prompt.wants == PLAIN and prompt.messages[-1].role == "user"


def _gap(prompt: Prompt) -> int | None:
    """Where turns can be put in without changing what the last message speaks of; None where nowhere."""
    if _FIRST not in _question(prompt)[1].content:
        return 1 if prompt.messages[0].role == "system" else 0
    ready = len(prompt.messages) > _AFTER_READY and prompt.messages[1].content.endswith(_READY)
    return _AFTER_READY if ready else None


def _inserted(prompt: Prompt, at: int, turns: Sequence[tuple[Message, str]]) -> Prompt:
    new = [each for asked, answer in turns for each in (asked, Message(role="assistant", content=answer))]
    decoys = prompt.spec.get("decoys")
    known = decoys if isinstance(decoys, list) else []
    spec = {**prompt.spec, "decoys": [*known, *(answer for _, answer in turns)]}
    return _with(prompt, (*prompt.messages[:at], *new, *prompt.messages[at:])).model_copy(update={"spec": spec})


def _with(prompt: Prompt, messages: tuple[Message, ...]) -> Prompt:
    return prompt.model_copy(update={"messages": messages})


def _said(message: Message, content: str) -> Message:
    return message.model_copy(update={"content": content})


def _marked(prompt: Prompt, edge: str) -> Prompt:
    """The prompt with a word in its spec on how it was set."""
    before = prompt.spec.get("edge")
    return prompt.model_copy(update={"spec": {**prompt.spec, "edge": f"{before}, {edge}" if before else edge}})
