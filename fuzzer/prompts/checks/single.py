"""Answers of one value: a code, or a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.checks.found import SHORT, Found, decoys, fold, is_foreign, is_own, missing, right, strings, wrong
from fuzzer.prompts.checks.numerals import numerals
from fuzzer.prompts.checks.scripts import UNSPACED
from fuzzer.prompts.checks.stated import concluded, marked, scaled, without_parts
from fuzzer.prompts.reply import ALTERNATIVE, SUPERSEDED, Candidate, Reply, final, hedged, last_cue

_LETTER = f"[^\\W{UNSPACED}]"
_SEPARATOR = "(?:[,'’\u00a0\u202f\u2009]|\\{,\\}|\\\\[,;:! ])"
NUMBER = re.compile(
    rf"(?<!{_LETTER})(?<!\.)(?<![0-9][,\-])[-+]?(?:[0-9]{{1,3}}(?:{_SEPARATOR}[0-9]{{3}}){{1,9}}|[0-9]{{1,30}})"
    rf"(?:\.[0-9]{{1,30}})?(?!{_LETTER}|[-,'’][0-9]|\.[0-9])"
)
_SEPARATORS = re.compile(_SEPARATOR)
_NEAR = 30  # characters between a name and the code that a sentence gives to it
_OWNER = 80  # characters before a code in which its sentence names its owner
_CODE_OF = re.compile(r"\bcode (?:of|for) ([^\W\d_]+ [^\W\d_]+) is:?[ \t]{0,4}[\"'“]?\Z", re.IGNORECASE)
_INDENT = 9  # characters before a number in which its line may begin
_LISTED = re.compile(r"[ \t]{0,4}[,;|/&][ \t]{0,4}(?:(?:and|or)[ \t]{1,4})?", re.IGNORECASE)
_OPERATORS = "+*/×÷·^"
_ASIDE = re.compile(r"\b(?:because|since|explanation|reasoning|here(?:'|’)s how|calculation)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:(?<![^\n])[ \t>•+–-]{0,12}|(?<=:)[ \t]{1,4})([0-9]{1,2})[.):](?=[ \t]{1,4}([^\n0-9]{0,60}[0-9])?)"
)
_NESTED = 2  # levels of numbering
_LONG_NUMERAL = 3  # words: a numeral of so many is as plainly meant as one in digits


def code(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one code of the prompt's."""
    value = str(prompt.spec["value"])
    candidates = codes(prompt, reply)
    chosen = settled(prompt, candidates, reply.body)
    if chosen is None:
        return missing(prompt, reply)
    if chosen.text == value and _another_owners(chosen, prompt, reply.body):
        return wrong("wrong-value", f"{value} as the code of another", value)
    if chosen.text == value and not _unsettled(chosen, candidates, prompt, reply.body):
        return right(reply.only([(each.start, each.end) for each in candidates if each.text == value]))
    return wrong(_code_kind(chosen.text, prompt), chosen.text, value)


def _unsettled(chosen: Candidate, candidates: Sequence[Candidate], prompt: Prompt, body: str) -> bool:
    """Whether the reply offers something else in the same breath: another code, or a name that is not the prompt's."""
    named = [Candidate(body[start:end], start, end) for start, end in names.spans(body)]
    strangers = [each for each in named if not is_own(each.text, prompt)]
    others = sorted([*candidates, *strangers], key=lambda each: each.start)
    return hedged(chosen, others, body) or hedged(chosen, _coded(body), body, ALTERNATIVE)


def _another_owners(chosen: Candidate, prompt: Prompt, body: str) -> bool:
    """Whether the sentence gives the code to a name that was not asked about: "The code of OTHER is CODE"."""
    about = fold(str(prompt.spec.get("about", "")))
    before = body[max(0, chosen.start - _OWNER) : chosen.start]
    match = _CODE_OF.search(before) if about else None
    if match is None:
        return False
    found = names.spans(match[1])
    return bool(found) and fold(match[1]) != about and found[0] == (0, len(match[1]))


def settled(prompt: Prompt, candidates: Sequence[Candidate], body: str) -> Candidate | None:
    """The code that a reply settles on: where it names the one that was asked about, the code that it gives to that."""
    about = fold(str(prompt.spec.get("about", "")))
    if about and len(candidates) > 1 and last_cue(body) is None and not _last_alone(candidates[-1], body):
        found = [Candidate(fold(body[start:end]), start, end) for start, end in names.spans(body)]
        marked = sorted([*found, *candidates], key=lambda each: each.start)
        own = [
            code for name, code in pairwise(marked) if name.text == about and code in candidates and _near(name, code)
        ]
        if own:
            return own[-1]
    return final(candidates, body, SUPERSEDED)


def _last_alone(each: Candidate, body: str) -> bool:
    """Whether a code stands alone on the last line of a reply."""
    line = body[body.rfind("\n", 0, each.start) + 1 : each.start] + body[each.end :]
    return "\n" in body[: each.start] and not any(map(str.isalnum, line))


def _near(name: Candidate, code: Candidate) -> bool:
    return code.start - name.end <= _NEAR


def codes(prompt: Prompt, reply: Reply) -> list[Candidate]:
    """All codes in a reply, in upper case."""
    own = {each.text for each in prompt.canaries}
    return [
        each for each in _coded(reply.body) if each.text in own or canary.deliberate(reply.body[each.start : each.end])
    ]


def _coded(body: str) -> list[Candidate]:
    """All that has the shape of a code, words such as "well-past" too, in upper case."""
    return [Candidate(match[0].upper(), *match.span()) for match in canary.CODE.finditer(body)]


def _code_kind(said: str, prompt: Prompt) -> str:
    if said in decoys(prompt):
        return "wrong-last-message"
    return "another-question" if is_foreign(said, prompt) else "wrong-value"


def number(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one number; those that the question gives do not count while there are others."""
    value = Decimal(str(prompt.spec["value"]))
    body = unnumbered(reply.body)
    digits, spelt = numbers(body), numerals(body)
    plain = [*digits, *(each for each in spelt if each.words >= _LONG_NUMERAL)]
    candidates: list[Candidate] = sorted(plain, key=lambda each: each.start)
    given = _given(prompt) - {value}
    results = _new(candidates, given, body)
    if not results and (meant := _meant(spelt, given, reply)):
        results, candidates = meant, sorted([*digits, *spelt], key=lambda each: each.start)
    results = results or _new(candidates, set(), body)
    if (aside := _ASIDE.search(body)) and candidates and results[0] is candidates[0]:
        results = [each for each in results if each.end <= aside.start()] or results
    results = without_parts(results, candidates, given, body)
    chosen = marked([each for each in digits if not _operand(each, body)], body)
    if chosen is None:
        chosen = _computed(final(results, body), results, body)
    if chosen is None:
        return missing(prompt, reply)
    unsettled = _in_doubt(chosen, results, candidates, body) or scaled(chosen, body, prompt.text)
    if Decimal(chosen.text) == value and not unsettled:
        spans = [(each.start, each.end) for each in [*candidates, *spelt] if Decimal(each.text) == value]
        return right(reply.only(spans))
    return wrong("wrong-value", chosen.text, str(value))


def _in_doubt(chosen: Candidate, results: Sequence[Candidate], candidates: Sequence[Candidate], body: str) -> bool:
    """Whether the number stands in one breath with another result, or in a list with any other number."""
    return (chosen in results and hedged(chosen, results, body)) or (
        chosen in candidates
        and (hedged(chosen, candidates, body, ALTERNATIVE) or hedged(chosen, candidates, body, _LISTED))
    )


def _given(prompt: Prompt) -> set[Decimal]:
    """The numbers that the question gives; for a corpus row those that stand in it."""
    if "given" in prompt.spec:
        return {Decimal(each) for each in strings(prompt.spec["given"])}
    asked = "\n".join(each.content for each in prompt.messages if each.role == "user")
    asked = canary.MARK.sub(" ", asked)
    return {Decimal(each.text) for each in (*numbers(asked), *numerals(asked))}


def _new(candidates: Sequence[Candidate], given: set[Decimal], body: str) -> Sequence[Candidate]:
    """The numbers that no sum uses (all, if there are no others) and the question does not give.

    One that is given counts where it stands on a line of its own, or where the reply concludes with it.
    """
    results = [each for each in candidates if not _operand(each, body)] or candidates
    cue = last_cue(body)
    return [
        each
        for each in results
        if Decimal(each.text) not in given or _own_line(each, body) or concluded(each, body, cue)
    ]


def _meant(spelt: Sequence[Candidate], given: set[Decimal], reply: Reply) -> Sequence[Candidate]:
    """The numbers in words that may be the answer: "one" is often a pronoun."""
    fresh = [each for each in spelt if Decimal(each.text) not in given] or spelt
    return [each for each in fresh if each.text != "1"] or (fresh if reply.words <= SHORT else [])


def _computed(chosen: Candidate | None, results: Sequence[Candidate], body: str) -> Candidate | None:
    """The last result of a computation in several steps, where the one that was chosen is the result of a step."""
    if chosen is None or not _equals(chosen, body):
        return chosen
    return [each for each in results if _equals(each, body)][-1]


def _equals(each: Candidate, body: str) -> bool:
    return body[max(0, each.start - 4) : each.start].rstrip()[-1:] == "="


def unnumbered(body: str) -> str:
    """The body with the numbers of a list's lines blanked, from 1 on; a lone "1." goes if a number follows it."""
    for _ in range(_NESTED):
        body = _unnumbered(body)
    return body


def _unnumbered(body: str) -> str:
    chains: list[list[re.Match[str]]] = []
    for match in _NUMBERED.finditer(body):
        step = int(match[1])
        if chains and step == len(chains[-1]) + 1:
            chains[-1].append(match)
        elif step == 1:
            chains.append([match])
    blank = {match.start() for chain in chains if len(chain) > 1 or chain[0][2] for match in chain}
    return _NUMBERED.sub(lambda match: " " * len(match[0]) if match.start() in blank else match[0], body)


def numbers(text: str) -> list[Candidate]:
    """All numbers in a text, thousands separators taken out."""
    return [Candidate(_SEPARATORS.sub("", match[0]), *match.span()) for match in NUMBER.finditer(text)]


def _own_line(each: Candidate, text: str) -> bool:
    before, after = text[max(0, each.start - _INDENT) : each.start], text[each.end : each.end + _INDENT]
    return before.rstrip(" ")[-1:] in ("", "\n") and after.lstrip(" ")[:1] in ("", "\n")


def _operand(each: Candidate, text: str) -> bool:
    before = text[max(0, each.start - 4) : each.start].rstrip()[-1:]
    after = text[each.end : each.end + 4].lstrip()[:1]
    minus = text[each.end : each.end + 3] == " - " or text[max(0, each.start - 3) : each.start] == " - "
    return minus or (after != "" and after in _OPERATORS + "=") or (before != "" and before in _OPERATORS)
