"""What `--webhook` posts, when it tries again, and what it never says."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from fuzzer.alerts.alert import finding_alert
from fuzzer.alerts.hooks import UndeliveredError
from fuzzer.alerts.webhook import LONGEST, Webhook, payload, webhook_url
from fuzzer.errors import UsageError
from fuzzer.wire.patience import MOST_SECONDS
from tests.alerts.factory import alert
from tests.report import factory
from tests.wire.servers import Request, http, serving, silent

pytestmark = pytest.mark.anyio
PRIVATE = "T0KEN-0F-A-ROOM"
OK = http(b"ok", kind="text/plain")


@dataclass
class Room:
    """Answers with one reply after the other, the last one for ever, and keeps what was posted."""

    replies: tuple[bytes, ...] = (OK,)
    posted: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request, stream: ByteStream) -> None:
        self.posted.append(request)
        await stream.send(self.replies[min(len(self.posted), len(self.replies)) - 1])


async def posting(*replies: bytes, tries: int = 4) -> tuple[Room, str]:
    """Deliver one alert to a room that answers so; what was posted, and why it was not delivered, if it was not."""
    room = Room(replies)
    async with serving(room) as url:
        try:
            await Webhook(f"{url}/{PRIVATE}", tries=tries, base=0).deliver(alert())
        except UndeliveredError as error:
            return room, str(error)
    return room, ""


# --- what is posted


async def test_an_alert_is_one_post_of_json() -> None:
    room, failure = await posting(OK)
    assert failure == ""
    (request,) = room.posted
    assert request.path == f"/{PRIVATE}"
    assert request.headers["content-type"] == "application/json"
    assert request.body["text"] == "specfuzz n1: Drift: answers fail more often later in this boot"
    assert request.body["specfuzz"].items() >= {"kind": "drift", "leg": 3, "severity": "warning", "more": 0}.items()


def test_a_finding_is_told_by_its_facts_and_not_by_its_evidence() -> None:
    found = factory.bleed("what p000017 was asked")
    body: Any = payload(finding_alert(found, "n1", 3))
    assert body["specfuzz"]["finding"] == {
        "key": found.key, "kind": "bleed", "sub_kind": found.sub_kind, "certainty": "certain", "arm": "candidate",
        "endpoint": "candidate", "cell": found.cell,
    }  # fmt: skip
    assert "what p000017 was asked" in body["text"]
    redacted = json.dumps(payload(finding_alert(found, "n1", 3, redacted=True)))
    assert "what p000017 was asked" not in redacted
    assert factory.SPAN not in redacted


def test_text_of_a_server_cannot_mention_link_or_hide() -> None:
    odd = factory.bleed().model_copy(update={"key": "corruption/\u202e\x1b@candidate"})
    assert "\\\\u202e\\\\x1b" in json.dumps(payload(finding_alert(odd, "n1", 3))["specfuzz"])
    hostile = "<!channel> <https://evil.example|ok> & \x1b[31m\u202e\nnext"
    body: Any = payload(alert(title=hostile, text=hostile))
    assert not {"<", ">", "\x1b", "\u202e", "\n"} & set(body["text"])
    assert "&lt;!channel&gt; &lt;https://evil.example|ok&gt; &amp; " in body["text"]
    assert (body["mrkdwn"], body["unfurl_links"]) == (False, False)
    assert len(json.dumps(payload(alert(title="x" * 10**5, text="y" * 10**5)))) < 5000


# --- trying again


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    room, failure = await posting(http(status=status), http(status=status), OK)
    assert (len(room.posted), failure) == (3, "")
    assert room.posted[0].body == room.posted[2].body


@pytest.mark.parametrize("status", [400, 403, 404, 410, 302])
async def test_what_will_not_pass_is_not(status: int) -> None:
    room, failure = await posting(http(b"no_such_room \x1b[31m", status=status))
    assert len(room.posted) == 1
    assert failure == f"HTTP {status} (no_such_room \\x1b[31m), after 1 of 4 tries"


async def test_it_gives_up_after_the_last_try() -> None:
    room, failure = await posting(http(status=500), tries=3)
    assert (len(room.posted), failure) == (3, "HTTP 500, after 3 of 3 tries")


async def test_a_connection_that_breaks_is_tried_again() -> None:
    room, failure = await posting(b"", b"HTTP/1.1 garb", OK)
    assert (len(room.posted), failure) == (3, "")


async def test_a_server_that_says_nothing_is_left_alone_in_the_end() -> None:
    async with serving(silent) as url:
        with pytest.raises(UndeliveredError, match=r"^no reply within 0\.05 s, after 2 of 2 tries$"):
            await Webhook(url, tries=2, base=0, seconds=0.05).deliver(alert())


async def test_nobody_there_is_said_without_the_address() -> None:
    async with serving(silent) as url:
        pass
    with pytest.raises(UndeliveredError) as raised:
        await Webhook(f"{url}/{PRIVATE}", tries=2, base=0).deliver(alert())
    assert str(raised.value) == "ConnectError, after 2 of 2 tries"


async def test_a_reply_without_end_is_not_read_to_its_end() -> None:
    async def endless(_: Request, stream: ByteStream) -> None:
        await stream.send(b"HTTP/1.1 400 No\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            await stream.send(b"no " * 10_000)

    async with serving(endless) as url:
        with pytest.raises(UndeliveredError, match=r"^HTTP 400 \(no no .*\), after 1 of 4 tries$") as raised:
            await Webhook(url, tries=4, base=0).deliver(alert())
    assert len(str(raised.value)) < 300


def test_pauses_double_up_to_a_limit_and_differ_by_seed() -> None:
    hook = Webhook("https://hooks.example.org/x", seed=1)
    pauses = [hook.pause(attempt) for attempt in range(1, 12)]
    full = [min(2.0**n, LONGEST) for n in range(11)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, full, strict=True))
    assert pauses == [
        again.pause(n) for again in [Webhook("https://hooks.example.org/x", seed=1)] for n in range(1, 12)
    ]
    assert pauses[0] != Webhook("https://hooks.example.org/x", seed=2).pause(1)


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("86400", MOST_SECONDS), ("-3", 0.0), ("soon", 0.0)])
async def test_retry_after_is_heeded_within_bounds(asked: str, waited: float, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    room, failure = await posting(http(status=429, retry_after=asked), OK)
    assert (len(room.posted), failure) == (2, "")
    assert slept == [pytest.approx(waited, abs=1.0)]


# --- the secret


def test_the_url_may_stand_in_a_variable() -> None:
    url = f"https://hooks.example.org/{PRIVATE}"
    assert webhook_url(url, {}) == url
    assert webhook_url("env:HOOK", {"HOOK": f" {url}\n"}) == url


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("env:HOOK", "--webhook env:HOOK: the variable is not set"),
        ("env:BAD", "--webhook env:BAD: this is no http"),
        (f"ftp://hooks.example.org/{PRIVATE}", "--webhook: this is no http"),
        (f"https:///{PRIVATE}", "--webhook: this is no http"),
        (f"https://x:port/{PRIVATE}", "--webhook: this is no http"),
        (f"https://x/{PRIVATE}\nHost: y", "--webhook: this is no http"),
        ("", "--webhook: this is no http"),
    ],
)
def test_a_url_that_cannot_be_is_the_users_mistake_and_is_not_repeated(given: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        webhook_url(given, {"BAD": PRIVATE})
    assert str(raised.value).startswith(said)
    assert "for example --webhook env:SPECFUZZ_WEBHOOK" in str(raised.value)
    assert PRIVATE not in str(raised.value)


async def test_the_url_is_neither_shown_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    show: list[Callable[[Webhook], str]] = [repr, str, lambda hook: hook.name]
    async with serving(Room((http(status=500), OK))) as url:
        hook = Webhook(f"{url}/{PRIVATE}", base=0)
        await hook.deliver(alert())
    assert hook.name == "--webhook 127.0.0.1"
    assert not [text for text in (caplog.text, *(shown(hook) for shown in show)) if PRIVATE in text]
