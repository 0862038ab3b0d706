"""No key, token or secret header is in any file of a bundle, wherever it was."""

from __future__ import annotations

import string
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.history.records import Done, Exchange
from fuzzer.plan import Endpoint
from fuzzer.repro.bundle import Bundle, read_bundle
from fuzzer.repro.secrets import Scrubber, secrets_of
from fuzzer.repro.writing import write
from tests.repro.factory import bundle

_TOKEN = st.text(string.ascii_letters + string.digits, min_size=24, max_size=40).filter(
    lambda text: any(map(str.isdigit, text))
)


def _everywhere(of: Bundle, secret: str) -> Bundle:
    """The bundle with the secret in a request's body, in a reply, in an error text, in a URL and in a header."""
    ends = tuple(
        end.model_copy(update={"url": f"http://127.0.0.1:9/v1?api_key={secret}&x=1"})
        for end in of.environment.endpoints
    )
    seen = []
    for item in of.seen:
        assert item.done is not None
        got = item.done.received.model_copy(
            update={
                "text": f"{item.done.received.text} {secret}",
                "detail": f'HTTP 401: {{"headers": {{"Authorization": "Bearer {secret}"}}}}',
                "raw": f"GET http://user:{secret}@host/ x-api-key: {secret}",
            }
        )
        done = Done.model_validate(item.done.model_dump() | {"received": got})
        seen.append(Exchange(sent=item.sent, done=done))
    bodies = tuple(
        body | {"user": secret, "extra_headers": {"Authorization": f"Bearer {secret}"}} for body in of.bodies
    )
    environment = of.environment.model_copy(update={"endpoints": ends, "launch_command": f"serve --api-key {secret}"})
    finding = of.finding.model_copy(update={"summary": f"said {quote(secret)} of {secret}"})
    return of.model_copy(update={"seen": tuple(seen), "bodies": bodies, "environment": environment, "finding": finding})


@settings(max_examples=15, deadline=None)
@given(_TOKEN)
def test_a_known_secret_is_in_no_file(secret: str) -> None:
    endpoint = Endpoint(name="candidate", url="http://127.0.0.1:9", headers={"X-Team-Token": secret})
    with tempfile.TemporaryDirectory() as folder:
        made = write(_everywhere(bundle(), secret), Path(folder), secrets=secrets_of(endpoint))
        for path in made.iterdir():
            assert secret not in path.read_text(encoding="utf-8")
        with zipfile.ZipFile(f"{made}.zip") as zipped:
            assert all(secret.encode() not in zipped.read(name) for name in zipped.namelist())
        assert read_bundle(made).struck


@settings(max_examples=25, deadline=None)
@given(_TOKEN, st.sampled_from(["sk-{}", "hf_{}", "ghp_{}", "eyJ{}.{}"]))
def test_a_key_that_nobody_named_is_known_by_its_shape(token: str, shape: str) -> None:
    secret = shape.format(token, token)
    assert secret not in Scrubber().text(f"the answer is {secret}, as asked")


@settings(max_examples=25, deadline=None)
@given(
    _TOKEN,
    st.sampled_from(
        [
            "Authorization: Bearer {}",
            '"authorization": "Basic {}"',
            "http://host/v1?token={}",
            "https://host/x?a=1&api_key={}#top",
            "http://user:{}@host/v1",
            "x-api-key: {}",
            "Cookie: {}",
        ]
    ),
)
def test_where_secrets_stand_what_stands_there_goes(token: str, place: str) -> None:
    assert token not in Scrubber().text(place.format(token))


def test_the_key_of_the_environment_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "plain-and-short1")
    found = secrets_of(Endpoint(name="candidate", url="http://127.0.0.1:9", api_key_env="SOME_KEY"))
    assert Scrubber(found).text("it is plain-and-short1") == "it is ***"


def test_what_is_no_secret_stays() -> None:
    text = (
        "Ticket: 4821-7730-159268\nThe code of Rocketworth Eaglerail is F57M-YAN5; key people bear news. token by token"
    )
    scrubber = Scrubber(secrets_of(Endpoint(name="c", url="http://127.0.0.1:9", headers={"X-Team": "serving"})))
    assert scrubber.text(text) == text
    assert not scrubber.struck
