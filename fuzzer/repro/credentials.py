"""What a key, token or password looks like in a text, by the shape of it or by the name that stands before it.

Every pattern takes time linear in the text: a run that may fail is bounded, and one that is not bounded cannot fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

STRUCK: Final = "***"

_STRONG: Final = (  # names that stand before a secret and before nothing else
    r"(?:(?:api|access|secret|private|subscription|auth|master|account|encryption|signing)[-_ ]?key|apikey|"
    r"(?:api|access|auth|refresh|bearer|hub|hf|admin|session|security|personal|github|gitlab|bot|service|user|vault|"
    r"wandb|id|csrf)[-_ ]?token|(?:client|app|api|shared)[-_ ]?secret|passw(?:or)?d|passphrase|secret|"
    r"session[-_]?id|credentials?)"
)
_HEADERS: Final = r"(?:x-[\w-]{0,60}?(?:key|token|secret|auth)|ocp-apim-subscription-key|api-key)"
_NEVER: Final = r"(?!\*\*\*|(?:none|null|true|false|str|undefined)\b)"  # words of programs, and what is struck already
_LIKELY: Final = (  # a value that looks made up: letters and digits, or long and of one piece
    r"(?=[\w.~+/=-]{6})(?:(?=[\w.~+/=-]{0,64}?\d)(?=[\w.~+/=-]{0,64}?[A-Za-z])|(?=[\w~+/=-]{16}))"
)
_CODE: Final = r"(?-i:[A-Z0-9]{2,8}(?:-[A-Z0-9]{2,8}){1,5}\b)"  # how prompts write their code words
_MARK: Final = r"(?:\\{0,3}['\"])"  # a quotation mark, in text that may have been quoted before
_QUOTED: Final = r"(?:\\{0,3}\"(?:[^\"\n\\]|\\[^\"\n])+|\\{0,3}'(?:[^'\n\\]|\\[^'\n])+)"
_BARE: Final = r"[^\s'\"&<>]+"
_ANY: Final = rf"{_NEVER}(?:{_QUOTED}|{_BARE})"
_NEXT: Final = (  # to the value of an option: on the same line, on the next one, or in a list of arguments
    rf"(?:=|[ \t]{{0,4}}(?:\\\r?\n)?\s{{1,16}}(?:-[ \t]{{1,4}})?|{_MARK}[ \t]{{0,4}},\s{{0,16}}(?={_MARK}))"
)
_EQUALS: Final = rf"{_MARK}?=(?=[^\s=])"
_COLON: Final = rf"{_MARK}?[ \t]{{0,4}}[:=][ \t]{{0,4}}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way in which a secret shows; a text without any of ``needles`` (in lower case) has none of it.

    What the group ``name`` matches stays, the rest goes.
    """

    what: str
    needles: tuple[str, ...]
    regex: re.Pattern[str]

    def strike(self, text: str) -> tuple[str, int]:
        """The text without such secrets, and how many there were."""
        return self.regex.subn(_struck, text)


def _struck(found: re.Match[str]) -> str:
    groups = found.groupdict()
    value = found[0][len(groups.get("name") or "") :]
    quote = next((mark for mark in ('\\"', "\\'", '"', "'") if value.startswith(mark)), "")
    return f"{groups.get('name') or ''}{quote}{STRUCK}"


def _pattern(what: str, needles: str, regex: str, flags: int = re.IGNORECASE) -> Pattern:
    return Pattern(what, tuple(needles.split()), re.compile(regex, flags))


_NAMES: Final = "key token secret passw passphrase credential session pwd"
PATTERNS: Final[tuple[Pattern, ...]] = (
    _pattern(
        "private key",
        "-----begin",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
    _pattern("credentials in a URL", "://", rf"(?<=://){_NEVER}[^\s/@<>\\'\"]{{1,4096}}(?=@)"),
    _pattern(
        "token in a URL",
        "key token sig secret pass pwd auth session credential",
        r"(?<=[?&;#])(?P<name>(?=[\w.%-]{0,64}?(?:key(?!w|b)|token(?!s|i)|sig|secret|pass|pwd|auth(?!or)|session|"
        rf"credential))[\w.%-]{{1,128}}=){_NEVER}[^&#;\s'\"<>\\]+",
    ),
    _pattern(
        "secret header", "authorization", rf"(?P<name>\bauthorization{_COLON}{_MARK}?digest[ \t]){_NEVER}[^\r\n]+"
    ),
    _pattern(
        "secret header",
        "authorization",
        rf"(?P<name>\bauthorization(?:{_COLON}{_MARK}?(?:bearer|basic|token|digest|negotiate|apikey)[ \t]{{1,4}}|"
        rf"{_MARK}[ \t]{{0,4}}[:=][ \t]{{0,4}}{_MARK}|={_MARK}?|:[ \t]{{0,4}}(?={_LIKELY})))"
        rf"{_NEVER}[^\s'\",;}}<>\\]+",
    ),
    _pattern(
        "secret header",
        "cookie",
        rf"(?P<name>\b(?:set-)?cookie{_COLON}{_MARK}?){_NEVER}(?=[\w.%-]{{1,128}}=|{_LIKELY})[^\r\n'\"\\]+",
    ),
    _pattern("secret header", "digest", r"(?P<name>\bdigest[ \t]+)(?=[^\r\n]{0,256}?\bresponse=)[^\r\n]+"),
    _pattern("secret header", "x- api-key ocp-", rf"(?P<name>(?<![\w-]){_HEADERS}{_COLON}){_ANY}"),
    _pattern(
        "secret option",
        "--",
        r"(?P<name>(?<![\w-])--(?!(?:eos|bos|pad|stop|unk|mask|image)-)(?=[a-z])[\w-]{0,60}?"
        rf"(?:token|key|secret|password|passwd|passphrase|auth|credentials?){_NEXT})(?!-){_ANY}",
    ),
    _pattern(
        "secret variable",
        "key token secret pass pwd credential",
        rf"(?P<name>(?:_KEY|TOKEN|SECRET|PASSWORD|PASSWD|_PASS|_PWD|CREDENTIALS?)=){_ANY}",
        0,
    ),
    _pattern("named secret", _NAMES, rf"(?P<name>(?:{_STRONG}|\bpwd){_EQUALS}){_ANY}"),
    _pattern("named secret", _NAMES, rf"(?P<name>{_STRONG}{_COLON}){_NEVER}{_QUOTED}"),
    _pattern(
        "named secret",
        _NAMES,
        rf"(?P<name>(?:{_STRONG}|\btoken)(?:[ \t](?:provided|given|supplied|used))?{_COLON}['\"]?)"
        rf"(?!{_CODE}){_NEVER}{_LIKELY}{_BARE}",
    ),
    _pattern(
        "named secret",
        "token",
        rf"(?P<name>(?<![A-Za-z])token{_MARK}[ \t]{{0,4}}:[ \t]{{0,4}}{_MARK})(?!{_CODE})"
        rf"{_NEVER}[\w.~+/=-]{{6,}}(?={_MARK})",
    ),
    _pattern("named secret", "token", rf"(?P<name>\btoken=){_NEVER}(?!\d+\b)[\w.~+/=-]{{6,}}(?![\w(\[])"),
    _pattern(
        "named secret",
        "key token secret passw credential",
        rf"(?P<name>\b(?:invalid|incorrect|wrong|bad|expired|unknown)[ \t](?:{_STRONG}|token|key|bearer[ \t]token)"
        rf"[ \t:]{{1,4}}['\"]?)(?!{_CODE}){_NEVER}{_LIKELY}{_BARE}",
    ),
    _pattern(
        "bearer token",
        "bearer",
        r"(?P<name>\bbearer[ \t]+)(?:(?=[\w.~+/=-]{0,64}?\d)[\w.~+/=-]{6,}|[\w.~+/=-]{12,})",
    ),
    _pattern("API key", "sk- gsk- xai- nvapi-", r"\b(?:sk|gsk|xai|nvapi)-[A-Za-z0-9_-]{16,}"),
    _pattern("API key", "pk- rk- key-", r"\b(?:pk|rk|key)-(?=[A-Za-z_-]{0,64}\d)[A-Za-z0-9_-]{16,}"),
    _pattern(
        "access token",
        "hf_ gho_ ghp_ ghu_ ghs_ ghr_ github_pat_ glpat- xox npm_ pypi-",
        r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|pypi-)[A-Za-z0-9_-]{12,}",
    ),
    _pattern("cloud key", "akia asia aiza", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|(?<![\w-])AIza[A-Za-z0-9_-]{30,}", 0),
    _pattern(
        "web token",
        "eyj",
        r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        0,
    ),
)

_MEMBER = re.compile(rf"{_HEADERS}|{_STRONG}|(?:proxy-)?authorization|(?:set-)?cookie", re.IGNORECASE)
_WEAK_MEMBER = re.compile(r"token|key", re.IGNORECASE)
_LOOKS = re.compile(_LIKELY)


def names_a_secret(name: str, value: str) -> bool:
    """Whether a member of JSON data, by its name (and by the look of its value where the name is common), is secret."""
    if _MEMBER.fullmatch(name.strip().replace("_", "-")) or _MEMBER.fullmatch(name.strip()):
        return True
    return bool(_WEAK_MEMBER.fullmatch(name) and _LOOKS.match(value))
