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
from pydantic import JsonValue

from fuzzer.history.records import Done, Exchange, TokenLogprob
from fuzzer.plan import Endpoint
from fuzzer.prompts.strategies import KINDS, make
from fuzzer.repro.bundle import Bundle, read_bundle
from fuzzer.repro.credentials import STRUCK
from fuzzer.repro.secrets import Scrubber, secrets_of
from fuzzer.repro.writing import write
from tests.repro.factory import bundle, received

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


PLACES = (
    "Authorization: Bearer {}",
    '"authorization": "Basic {}"',
    "http://host/v1?token={}",
    "https://host/x?a=1&api_key={}#top",
    "http://user:{}@host/v1",
    "x-api-key: {}",
    "Cookie: {}",
    "Cookie: a=1; session={}",
    'Authorization: Digest username="u", response="{}"',
    "X-Auth-Key: {}",
    "VLLM_API_KEY={} vllm serve m --port 80",
    "HF_TOKEN={} x",
    'export OPENAI_API_KEY="{}"',
    "serve --admin-api-key {} --tp 2",
    "serve --hf-token={}",
    "serve --token {}",
    "serve --api-key \\\n  {} \\\n  --tp 2",
    '["serve", "--api-key", "{}"]',
    "- --api-key\n- {}\n",
    "password={}",
    '{{"api_key": "{}"}}',
    '{{"token": "{}"}}',
    r'{{"said": "{{\"api-key\": \"{}\"}}"}}',
    "http://{}@host:80/v1",
    "https://host/v1#access_token={}",
    "Incorrect API key provided: {}",
    "invalid token {}",
)


@settings(max_examples=8, deadline=None)
@given(_TOKEN)
def test_where_secrets_stand_what_stands_there_goes(token: str) -> None:
    for place in PLACES:
        assert token not in Scrubber().text(place.format(token)), place


def test_a_bearer_token_needs_no_digit() -> None:
    assert Scrubber().text("sent Bearer abcdefghijklmnop to it") == "sent Bearer *** to it"


def test_what_is_struck_once_is_not_counted_again() -> None:
    said = "A_TOKEN=x serve --api-key y http://u:p@h/?key=z Cookie: a=b"
    once = Scrubber().text(said)
    again = Scrubber()
    assert once == "A_TOKEN=*** serve --api-key *** http://***@h/?key=*** Cookie: ***"
    assert again.text(once) == once
    assert not again.struck


def test_a_launch_command_keeps_what_is_no_secret() -> None:
    said = "serve m --max-num-batched-tokens 8192 --tokenizer-mode auto --eos-token </s> max_tokens=256 key=value"
    assert Scrubber().text(said) == said


@pytest.mark.parametrize("unit", ["?key", "eyJ-", "--a-key", "password: ", "cookie:a", "digest ", "token: ", "://a:"])
def test_a_long_hostile_text_is_read_in_linear_time(unit: str) -> None:
    text = unit * (60_000 // len(unit))  # by its square, this would take minutes
    assert Scrubber().text(f"{text} sk-{'a1' * 20}").endswith(STRUCK)


def test_the_prompts_of_every_family_stay() -> None:
    for family, level in KINDS:
        for number in range(3):
            prompt = make(family, level, number)
            assert Scrubber().record(prompt) == prompt
    talk = "the token is long. password: a word. The code word: F57M-YAN5. password: F57M-YAN5. Cookie: a small biscuit"
    assert Scrubber().text(talk) == talk


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": "specfuzz nightly job"},
        {"X-Purpose": "inference candidate checks"},
        {"X-Note": "please measure this"},
        {"X-Token": "victim"},
        {"X-Key": "messages"},
        {"X-Key": "content"},
        {"X-Secret": "candidate"},
        {"Authorization": "Bearer candidate measure"},
        {"Cookie": "a=concurrent; b=assistant"},
    ],
)
def test_ordinary_words_in_a_header_break_no_bundle(headers: dict[str, str], tmp_path: Path) -> None:
    whole = bundle()
    secrets = secrets_of(Endpoint(name="candidate", url="http://127.0.0.1:9", headers=headers))
    made = read_bundle(write(whole, tmp_path, secrets=secrets))
    assert made.key == whole.key
    assert [send.prompt for send in made.cohort.sends] == [send.prompt for send in whole.cohort.sends]
    for body, right in zip(made.bodies, whole.bodies, strict=True):
        assert list(body) == list(right)
        assert [_role(message) for message in _messages(body)] == [_role(message) for message in _messages(right)]


def _messages(body: dict[str, JsonValue]) -> list[JsonValue]:
    assert isinstance(body["messages"], list)
    return body["messages"]


def _role(message: JsonValue) -> JsonValue:
    assert isinstance(message, dict)
    return message["role"]


def test_only_headers_of_several_parts_are_taken_apart() -> None:
    headers = {
        "Authorization": 'Digest username="me", response="0123abcd"',
        "Cookie": "a=1; session=swordfish",
        "X-Team": "please serve us first",
        "X-Api-Key": "Bearer plainplain",
        "User-Agent": "specfuzz nightly job",
    }
    found = secrets_of(Endpoint(name="candidate", url="http://127.0.0.1:9", headers=headers))
    assert {"0123abcd", "swordfish", "plainplain", "please serve us first"} <= set(found)
    assert not {"please", "Bearer", "Digest", "nightly", "specfuzz nightly job"} & set(found)


def test_the_tokens_of_a_reply_that_held_a_secret_go_with_it() -> None:
    scored = TokenLogprob(token="plain-", top=(("plain-", -0.1),))
    reply = received("it is plain-and-short1").model_copy(update={"token_ids": (7,), "logprobs": (scored,)})
    struck = Scrubber(["plain-and-short1"]).record(reply)
    assert (struck.text, struck.token_ids, struck.logprobs) == ("it is ***", None, None)
    assert Scrubber(["another-secret"]).record(reply) == reply


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
