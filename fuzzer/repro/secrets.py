"""What must never leave the machine: keys, tokens and secret headers, wherever they turn up in a bundle."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from pydantic import JsonValue

from fuzzer.plan import Endpoint, Plan
from fuzzer.repro.bundle import Struck

STRUCK: Final = "***"
_SHORTEST = 6  # characters of a value that is looked for by itself; a shorter one is in any word
_LONG = 16  # a header's value of so many characters is taken for a secret whatever its name

_WORDS: Final = (
    r"(?:api[-_ ]?key|access[-_ ]?key|apikey|token|secret|passw(?:or)?d|passwd|pwd|signature|sig|auth(?:orization)?|"
    r"bearer|cookie|session[-_]?id|credential|private[-_ ]?key)"
)
_NAMED = re.compile(_WORDS, re.IGNORECASE)
_PATTERNS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "private key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    ("credentials in a URL", re.compile(r"(?<=://)[^\s/@:'\"]*:[^\s/@'\"]*(?=@)")),
    (
        "token in a URL",
        re.compile(rf"(?<=[?&;])(?P<name>[\w.%-]*(?:{_WORDS}|key)[\w.%-]*=)[^&#;\s'\"<>\\]+", re.IGNORECASE),
    ),
    (
        "secret header",
        re.compile(
            r"(?P<name>\b(?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic|token|digest)\s+)?)[^\s'\",;}<>\\]+",
            re.IGNORECASE,
        ),
    ),
    (
        "secret header",
        re.compile(
            r"(?P<name>\b(?:x-api-key|api-key|x-auth-token|x-goog-api-key|ocp-apim-subscription-key|(?:set-)?cookie)"
            r"['\"]?\s*[:=]\s*['\"]?)[^\s'\",}<>\\]+",
            re.IGNORECASE,
        ),
    ),
    ("bearer token", re.compile(r"(?P<name>\bbearer\s+)(?=\S*\d)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    ("API key", re.compile(r"\b(?:sk|pk|rk|gsk|xai|nvapi|key)-[A-Za-z0-9_-]{16,}")),
    ("access token", re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|pypi-)[A-Za-z0-9_-]{12,}")),
    ("cloud key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}")),
    ("web token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
)


def known_secrets(plan: Plan) -> tuple[str, ...]:
    """The secrets of a plan that this process knows: see `secrets_of`."""
    return secrets_of(*plan.candidates, *plan.references)


def secrets_of(*endpoints: Endpoint) -> tuple[str, ...]:
    """API keys of these endpoints in the environment, and headers that may hold one; the longest first."""
    found = {secret for endpoint in endpoints for secret in _of(endpoint)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _of(endpoint: Endpoint) -> Iterable[str]:
    if endpoint.api_key_env and (key := os.environ.get(endpoint.api_key_env, "").strip()):
        yield key
    for name, value in endpoint.headers.items():
        if _NAMED.search(name) or "key" in name.lower() or len(value) >= _LONG:
            yield value
            yield from value.split()


class Scrubber:
    """Takes secrets out of texts, and counts what it took."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for value in secrets for form in (value, quote(value, safe=""), unquote(value))}
        self._secrets = sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)
        self._counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without any secret."""
        for secret in self._secrets:
            if secret in text:
                self._counts["a key or header of this run"] += text.count(secret)
                text = text.replace(secret, STRUCK)
        for what, pattern in _PATTERNS:
            text, count = pattern.subn(_struck, text)
            self._counts[what] += count
        return text

    def value(self, value: JsonValue) -> JsonValue:
        """JSON data without any secret; a member whose name is that of a secret loses its value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self._member(str(name), inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        return value

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        plain = name.lower().replace("-", "_")
        secret = plain in ("authorization", "api_key", "apikey", "x_api_key", "password", "cookie", "access_token")
        if secret and isinstance(value, str) and value not in ("", STRUCK):
            self._counts["secret field"] += 1
            return STRUCK
        return self.value(value)

    @property
    def struck(self) -> tuple[Struck, ...]:
        """What was taken out so far."""
        return tuple(Struck(what=what, count=count) for what, count in sorted(self._counts.items()) if count)


def _struck(found: re.Match[str]) -> str:
    named = found.groupdict().get("name") or ""
    return f"{named}{STRUCK}"
