"""``--webhook``: alerts posted as JSON to a URL, with the text that Slack and its like show.

The URL is a secret (whoever has it can post): no message, file or log names more of it than its host.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpx
from pydantic import JsonValue

from fuzzer.alerts.alert import Alert
from fuzzer.alerts.hooks import UndeliveredError
from fuzzer.errors import UsageError
from fuzzer.report.text import clean
from fuzzer.wire.patience import Patience
from fuzzer.wire.session import proxy_for

TRIES: Final = 5
BASE: Final = 1.0  # seconds before the second try; twice as long before each further one
LONGEST: Final = 60.0  # seconds between two tries
SECONDS: Final = 10.0  # for one try
_REPLY: Final = 500  # bytes of a reply that are looked at
_FACTS: Final = ("key", "kind", "sub_kind", "certainty", "arm", "endpoint", "cell")  # of a finding
_AGAIN: Final = frozenset({408, 429})  # of 4xx: the request may do better later
_EXAMPLE: Final = "for example --webhook env:SPECFUZZ_WEBHOOK, a variable that holds https://hooks.example.org/..."


def webhook_url(given: str, environment: Mapping[str, str] = os.environ) -> str:
    """The URL that ``--webhook`` means: the value itself, or with ``env:VAR`` that of a variable.

    A URL among the arguments can be read by every user of the machine (``ps``); a variable cannot. UsageError if it is
    no http(s) URL; the message does not repeat it.
    """
    url, where = given.strip(), "--webhook"
    if url.startswith("env:"):
        name = url.removeprefix("env:")
        where = f"--webhook env:{clean(name, 100)}"
        url = environment.get(name, "").strip()
        if not url:
            raise UsageError(f"{where}: the variable is not set; {_EXAMPLE}")
    if not _usable(url):
        raise UsageError(f"{where}: this is no http(s) URL; {_EXAMPLE}")
    return url


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and url.isprintable()


@dataclass(slots=True)
class Webhook:
    """Posts alerts. A try that fails for a reason that may pass is made again, after a pause that doubles.

    Those are: no connection, a time-out, and HTTP 408, 429 and 5xx. The pause is between half and all of ``base``
    times a power of two (seconds), by dice from ``seed``, so that many machines do not come back at once; where a
    Retry-After asks for longer, it is that, up to a minute.
    """

    url: str = field(repr=False)
    seed: int = 0
    tries: int = TRIES
    base: float = BASE
    seconds: float = SECONDS
    _dice: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(f"{self.seed}/webhook")

    @property
    def name(self) -> str:
        """The host, and nothing else of the URL."""
        return f"--webhook {clean(urlsplit(self.url).hostname or '', 100)}"

    def wants(self, alert: Alert) -> bool:
        """Everything."""
        return True

    async def deliver(self, alert: Alert) -> None:
        """Post one alert; UndeliveredError after the last try, or at once if another would not help."""
        body = payload(alert)
        async with self._client() as client:
            for attempt in range(1, self.tries + 1):
                failure = await self._post(client, body)
                if failure is None:
                    return
                if not failure.passing or attempt == self.tries:
                    raise UndeliveredError(f"{failure.why}, after {attempt} of {self.tries} tries")
                await anyio.sleep(max(self.pause(attempt), failure.later))

    def pause(self, attempt: int) -> float:
        """Seconds to wait after this try, counted from 1."""
        longest = min(self.base * 2.0 ** (attempt - 1), LONGEST)
        return longest * (0.5 + self._dice.random() / 2)

    def _client(self) -> httpx.AsyncClient:
        for library in ("httpx", "httpcore"):  # what they log at INFO and DEBUG has the URL in it
            logging.getLogger(library).setLevel(logging.WARNING)
        return httpx.AsyncClient(
            verify=httpx.create_ssl_context() if self.url.startswith("https:") else False,
            proxy=proxy_for(self.url),
            timeout=self.seconds,
            headers={"user-agent": "specfuzz"},
            trust_env=False,
        )

    async def _post(self, client: httpx.AsyncClient, body: JsonValue) -> _Failure | None:
        try:
            with anyio.fail_after(self.seconds):
                async with client.stream("POST", self.url, json=body) as response:
                    if response.is_success:
                        return None
                    patience = Patience()
                    patience.ask(response.headers.get("retry-after", ""))
                    status = response.status_code
                    why = f"HTTP {status}{await _words(response)}"
                    return _Failure(why, status >= 500 or status in _AGAIN, patience.seconds)
        except TimeoutError:
            return _Failure(f"no reply within {self.seconds:g} s")
        except httpx.HTTPError as error:
            return _Failure(type(error).__name__)  # its text may name the URL


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a try failed, whether another may do better, and how long the server asks to be left alone."""

    why: str
    passing: bool = True
    later: float = 0.0


async def _words(response: httpx.Response) -> str:
    """The start of what the server says."""
    said = b""
    async for piece in response.aiter_raw():
        said += piece
        if len(said) >= _REPLY:
            break
    text = said[:_REPLY].decode("utf-8", "replace").strip()
    return f" ({clean(text, 200)})" if text else ""


def payload(alert: Alert) -> dict[str, JsonValue]:
    """The JSON that is posted: ``text`` for people, and everything but prompts and replies under ``specfuzz``."""
    found = alert.finding
    facts = found and {name: clean(getattr(found, name), 300) for name in _FACTS}
    return {
        "text": f"specfuzz {_slack(alert.night)}: {_slack(alert.line)}",
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "specfuzz": alert.model_dump(exclude={"finding"}) | {"finding": facts},
    }


def _slack(text: str) -> str:
    """Text in which Slack sees no link, mention or entity: https://docs.slack.dev/messaging/formatting-message-text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
