from __future__ import annotations

import json
import random

import pytest

from fuzzer.sim.gateway_faults import (
    GATEWAY_FAULTS,
    LOOK_ALIKES,
    SPECIAL_TOKENS,
    Draw,
    Reply,
    drop_chunk,
    duplicate_chunk,
    split_events,
    token_noise,
)


def _event(delta: dict[str, object]) -> bytes:
    return b"data: " + json.dumps({"id": "chatcmpl-1", "choices": [{"delta": delta}]}).encode() + b"\n\n"


WORDS = ["The ", "code ", "is ", "ruby."]
STREAM = Reply(
    200,
    ((b"content-type", b"text/event-stream"),),
    (
        _event({"role": "assistant", "content": ""}),
        *(_event({"content": word}) for word in WORDS),
        _event({}),
        b"data: [DONE]\n\n",
    ),
)
WHOLE = Reply(
    200, (), (b'{"id":"chatcmpl-1","choices":[{"message":{"content":"The code"}}],"usage":{"total_tokens":3}}',)
)


def _words(reply: Reply) -> list[str]:
    datas = [json.loads(part[6:]) for part in reply.parts if part != b"data: [DONE]\n\n"]
    return [word for data in datas if (word := data["choices"][0]["delta"].get("content"))]


def _hits(draw: Draw, keys: list[bytes]) -> list[bool]:
    return [draw(key) is not None for key in keys]


def test_the_draw_depends_on_seed_messages_and_ordinal_alone() -> None:
    keys = [b"%d" % number for number in range(200)] * 2
    in_order = sorted(zip(keys, _hits(Draw(7, 0.3), keys), strict=True))
    shuffled = random.Random(1).sample(keys, len(keys))
    assert sorted(zip(shuffled, _hits(Draw(7, 0.3), shuffled), strict=True)) == in_order
    assert _hits(Draw(8, 0.3), keys) != _hits(Draw(7, 0.3), keys)
    first, second = _hits(Draw(7, 0.3), keys)[:200], _hits(Draw(7, 0.3), keys)[200:]
    assert first != second


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 1.0])
def test_the_draw_keeps_its_rate(rate: float) -> None:
    hits = sum(_hits(Draw(3, rate), [b"%d" % number for number in range(4000)]))
    assert hits == pytest.approx(4000 * rate, abs=100)
    assert rate not in (0.0, 1.0) or hits == 4000 * rate


def test_a_dropped_chunk_is_one_content_chunk() -> None:
    after = _words(drop_chunk(STREAM, random.Random(1)))
    assert len(after) == 3
    assert [word for word in WORDS if word in after] == after


def test_a_duplicated_chunk_comes_twice_in_place() -> None:
    changed = duplicate_chunk(STREAM, random.Random(1))
    after = _words(changed)
    assert len(after) == 5
    assert list(dict.fromkeys(after)) == WORDS
    assert changed.parts[0] == STREAM.parts[0]


def test_every_content_chunk_can_be_hit() -> None:
    lost = {word for seed in range(60) for word in WORDS if word not in _words(drop_chunk(STREAM, random.Random(seed)))}
    assert lost == set(WORDS)


@pytest.mark.parametrize("seed", range(12))
def test_token_noise_plants_one_look_alike_or_special_token(seed: int) -> None:
    after = _words(token_noise(STREAM, random.Random(seed)))
    changed = [(old, new) for old, new in zip(WORDS, after, strict=True) if old != new]
    assert len(changed) == 1
    old, new = changed[0]
    latin = {cyrillic: letter for letter, cyrillic in LOOK_ALIKES.items()}
    assert new in [old + token for token in SPECIAL_TOKENS] or "".join(latin.get(c, c) for c in new) == old


def test_token_noise_reaches_a_reply_that_is_not_streamed() -> None:
    data = json.loads(token_noise(WHOLE, random.Random(2)).parts[0])
    assert data["choices"][0]["message"]["content"] != "The code"
    assert data["usage"] == {"total_tokens": 3}


@pytest.mark.parametrize("mangle", [drop_chunk, duplicate_chunk])
def test_chunk_faults_leave_an_unstreamed_reply_alone(mangle: object) -> None:
    assert callable(mangle)
    assert mangle(WHOLE, random.Random(1)) == WHOLE


@pytest.mark.parametrize("body", [b"", b"not json", b"data: [DONE]\n\n", b'data: {"choices":[]}\n\n', b"[1]"])
def test_a_reply_without_content_is_left_alone(body: bytes) -> None:
    reply = Reply(200, (), split_events(body))
    for mangle in (drop_chunk, duplicate_chunk, token_noise):
        assert mangle(reply, random.Random(1)) == reply


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\n\r\n"])
def test_events_keep_every_byte(gap: bytes) -> None:
    body = gap.join([b"data: 1", b": comment", b"event: x\ndata: 2", b"torn"])
    events = split_events(body)
    assert b"".join(events) == body
    assert events[1] == b": comment" + gap
    assert events[-1] == b"torn"


def test_another_reply_is_addressed_like_ones_own() -> None:
    own = Reply(200, ((b"x-request-id", b"mine"),), (b'data: {"id": "chatcmpl-mine"}\n\n',))
    other = STREAM.addressed_like(own)
    assert _words(other) == WORDS
    assert other.headers == own.headers
    assert other.identity == b'"chatcmpl-mine"'
    assert b"chatcmpl-1" not in b"".join(other.parts)


def test_a_reply_without_id_stays_as_it_is() -> None:
    anonymous = Reply(200, (), (b"data: {}\n\n",))
    assert anonymous.renamed("x") == anonymous
    assert STREAM.addressed_like(anonymous).parts == STREAM.parts
    assert STREAM.renamed("chatcmpl-x").identity == b'"chatcmpl-x"'


def test_the_catalogue_has_summaries_and_rates() -> None:
    assert {"none", "last-message-swap", "stale-answer", "wrong-route"} < set(GATEWAY_FAULTS)
    assert all(fault.summary and 0 <= fault.rate <= 0.1 for fault in GATEWAY_FAULTS.values())
