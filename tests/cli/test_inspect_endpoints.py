"""``specfuzz inspect URL [URL]``: what stands there, whether it compares, and the exit status for a script."""

from __future__ import annotations

import json
import socket

from tests.cli.conftest import Serve, specfuzz


def pair(serve: Serve) -> tuple[str, str]:
    return serve("serve-sim", "--speculative"), serve("serve-sim")


def test_a_pair_that_compares(serve: Serve) -> None:
    candidate, reference = pair(serve)
    result = specfuzz("inspect", candidate, reference)
    assert result.status == 0, result.err
    assert result.out.splitlines()[0] == "COMPARABLE"
    for said in ("vllm", "sim-model", "32768 tokens", "on", "off", "token ids", "probe: temperature"):
        assert said in result.out
    told = json.loads(specfuzz("inspect", candidate, reference, "--json").out)
    assert (told["comparable"], told["preflight"]["checks"]) == (True, [])
    assert [end["role"] for end in told["endpoints"]] == ["candidate", "reference"]
    assert [end["speculation"] for end in told["endpoints"]] == [True, False]
    assert told["endpoints"][0]["features"]["token ids"] == "seen"
    assert "not probed" in told["endpoints"][0]["features"]["cancellation"]


def test_a_pair_that_does_not_compare_exits_3_and_says_what_to_change(serve: Serve) -> None:
    candidate, reference = pair(serve)
    result = specfuzz("inspect", reference, candidate)
    assert result.status == 3
    assert result.out.splitlines()[0] == "NOT COMPARABLE"
    assert "exchange --candidate and --reference" in result.out
    told = json.loads(specfuzz("inspect", reference, candidate, "--json").out)
    assert [check["code"] for check in told["preflight"]["checks"]] == ["swapped"]


def test_one_address_may_be_either_end(serve: Serve) -> None:
    candidate, reference = pair(serve)
    for url in (candidate, reference):
        result = specfuzz("inspect", url)
        assert result.status == 0, result.out
        assert result.out.splitlines()[0] == "FIT for a gate"


def test_nobody_there_exits_4_with_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    result = specfuzz("inspect", f"http://127.0.0.1:{port}")
    assert (result.status, result.out, result.err.count("\n")) == (4, "", 1)


def test_mistakes_exit_2_with_one_line() -> None:
    for arguments in (
        (),
        ("http://h:1", "--checkpoint", "x"),
        ("http://h:1", "http://h:2", "http://h:3"),
        ("ftp://h",),
    ):
        result = specfuzz("inspect", *arguments)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1), arguments
