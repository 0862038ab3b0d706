"""Special tokens, control characters and broken encoding in a text: what a healthy engine never hands out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fuzzer.finding import Certainty
from fuzzer.oracles.flaws import Flaw, Reply

_SURE = re.compile(
    r"<\|[A-Za-z0-9_/:.-]{1,40}\|>"  # <|im_end|>, <|eot_id|>, <|endoftext|>
    r"|<｜[^｜<>\s]{1,40}｜>"
    r"|\[/?INST\]|<</?SYS>>"
    r"|<(?:pad|unk|bos|eos)>"
    r"|<(?:start|end)_of_(?:turn|image|text)>"
    r"|<unused\d{1,4}>|<extra_id_\d{1,4}>|<reserved_\d{1,4}>"
    r"|<0x[0-9A-F]{2}>"
    r"|<fim_(?:prefix|middle|suffix)>"
)
_UNSURE = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS)\]|<mask>")
_SENTENCE = re.compile(r"</?s>")
_PIECES = re.compile(r"[Ġ▁][A-Za-z]+[Ġ▁][A-Za-z]|Ċ[A-ZĠ]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SURROGATE = re.compile(r"[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_THINK = re.compile(r"</?think(?:ing)?>")
_NAMED = re.compile(
    r"<\|(?:im_start|im_end|eot_id|eom_id|endoftext|end|begin_of_text|end_of_text|start_header_id|end_header_id"
    r"|user|assistant|system)\|>|\[/?INST\]|<(?:pad|unk|bos|eos)>|<(?:start|end)_of_turn>"
)
_CALL = re.compile(r"</?tool_call>|<function=\w{1,64}>|\[TOOL_CALLS\]")
_SOUND_CALL = re.compile(
    r'<tool_call>\s{0,8}\{\s{0,8}"name"\s{0,8}:\s{0,8}"[^"\\]{1,64}"\s{0,8},\s{0,8}"arguments"\s{0,8}:'
)
_CALLED = "</tool_call>"
_MOST = 8  # different special tokens that are reported of one text
_HELD = 3  # bytes of one character that a cut may leave over


def special_tokens(reply: Reply) -> Iterator[Flaw]:
    """Control tokens of a chat template or tokenizer that came out as text."""
    seen: set[str] = set()
    kinds: tuple[tuple[re.Pattern[str], Certainty], ...] = ((_SURE, "certain"), (_UNSURE, "likely"))
    for pattern, certainty in kinds:
        for match in pattern.finditer(reply.text):
            token = match.group()
            if token not in seen and token not in reply.prompt:
                seen.add(token)
                if len(seen) > _MOST:
                    return
                detail = token if _NAMED.fullmatch(token) else ""
                yield Flaw("special-token", certainty, match.start(), len(token), "holds a special token", detail)
    yield from _sentence_marks(reply)
    if not seen and (piece := _PIECES.search(reply.text)) and piece.group() not in reply.prompt:
        yield Flaw("raw-token", "likely", piece.start(), len(piece.group()), "holds undecoded token text")


def reasoning_marks(reply: Reply) -> Iterator[Flaw]:
    """Reasoning markers where they cannot be: beside a reasoning channel, more than once, or in mid-reply."""
    if any(mark in reply.prompt for mark in ("<think", "</think")):
        return
    marks = list(_THINK.finditer(reply.text))
    for place, match in enumerate(marks):
        opening = not match.group().startswith("</")
        before = reply.text[: match.start()]
        lawful = place == 0 and not before.strip() if opening else place <= 1 and "</think" not in before
        if reply.parsed or not lawful:
            words = "holds a reasoning marker out of place"
            yield Flaw("special-token", "certain", match.start(), len(match.group()), words, match.group())
            return


def call_marks(reply: Reply) -> Iterator[Flaw]:
    """The markup of a call in the text; certain where the call is sound and the endpoint's parser took out others.

    A call that is cut off is not sound: no parser takes it out; where the limit or a stop string cut it, it is nothing.
    """
    mark = _CALL.search(reply.text)
    if mark is None or mark.group() in reply.prompt:
        return
    if not reply.stopped and _CALLED not in reply.text:
        return
    call = _SOUND_CALL.match(reply.text, mark.start())
    sound = reply.calls and call is not None and _CALLED in reply.text[call.end() :]
    words = "holds the markup of a call"
    yield Flaw("tool-markup", "certain" if sound else "likely", mark.start(), len(mark.group()), words, mark.group())


def control_characters(reply: Reply) -> Iterator[Flaw]:
    """Control characters other than tab and line ends."""
    for match in _CONTROL.finditer(reply.text):
        if match.group() not in reply.prompt:
            words = f"holds the control character U+{ord(match.group()):04X}"
            yield Flaw("control-character", "certain", match.start(), 1, words)
            return


def broken_encoding(reply: Reply) -> Iterator[Flaw]:
    """Replacement characters and lone surrogates: bytes that were no text; half a character at a cut is neither."""
    if (lone := _SURROGATE.search(reply.text)) and lone.group() not in reply.prompt:
        yield Flaw("invalid-encoding", "certain", lone.start(), 1, "holds half a surrogate pair")
    text = reply.text
    if not reply.whole:
        bare = text.rstrip("�")
        text = bare if len(text) - len(bare) <= _HELD else text
    place = text.find("�")
    if place >= 0 and "�" not in reply.prompt:
        yield Flaw("invalid-encoding", "certain", place, 1, "holds U+FFFD: bytes that were no text")


def _sentence_marks(reply: Reply) -> Iterator[Flaw]:
    """``<s>`` and ``</s>``, unless they open and close in turn (which is how HTML strikes text out)."""
    if "<s>" in reply.prompt or "</s>" in reply.prompt:
        return
    depth = 0
    last = None
    for match in _SENTENCE.finditer(reply.text):
        depth += 1 if match.group() == "<s>" else -1
        last = match
        if depth not in (0, 1):
            break
    if last is not None and depth != 0:
        words = "holds a special token"
        yield Flaw("special-token", "certain", last.start(), len(last.group()), words, last.group())
