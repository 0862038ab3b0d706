"""``reproduce.py``: what it decides, and the Python it needs."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fuzzer.repro.checks import checks, said
from fuzzer.repro.script import reproduce, victim_reply
from fuzzer.repro.standalone import verdict
from tests.repro.factory import bundle, pair, received

GOOD = b'{"choices":[{"message":{"content":"nothing of that kind"},"finish_reason":"stop"}]}'


def test_the_script_is_python_3_9_and_imports_the_standard_library_alone() -> None:
    source = reproduce(bundle())
    assert source is not None
    tree = ast.parse(source, feature_version=(3, 9))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "__future__", "argparse", "http.client", "json", "os", "socket", "ssl", "sys", "threading", "time", "typing",
        "urllib.parse",
    }  # fmt: skip


def test_a_hostile_text_cannot_leave_its_string() -> None:
    evil = "'\"\"\"\n'''); import os; os.system('x') #\\"
    source = reproduce(bundle(reply=f"{pair().asked['b'].answer} {evil}", note=evil))
    assert source is not None
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "system"]
    assert not calls


def test_the_found_reply_is_condemned_and_the_right_one_is_not() -> None:
    made = bundle()
    found = checks(made.cohort, made.finding, victim_reply(made))
    assert verdict(found[0], said(received(made.cohort.asked["b"].answer)))
    assert not verdict(found[0], said(received(f"It is {made.cohort.asked['a'].answer}.")))
    assert set(found) == {0, 1}  # the other one is looked at as well


def test_what_cannot_be_told_here_makes_no_script() -> None:
    made = bundle(reply="something else")  # neither another's content nor a wrong answer to look for
    finding = made.finding.model_copy(update={"kind": "self-consistency", "donor": None})
    right = made.cohort.asked["a"].answer
    cohort = made.cohort.model_copy(update={"right": (None, None)})
    seen = made.seen[0].model_copy(
        update={"done": made.seen[0].done and made.seen[0].done.model_copy(update={"received": received(right)})}
    )
    assert reproduce(made.model_copy(update={"finding": finding, "cohort": cohort, "seen": (seen,)})) is None


@pytest.mark.parametrize(
    ("check", "reply", "wrong"),
    [
        ({"foreign": ["F57M-YAN5"]}, {"text": "it is **f57m-yan5**."}, True),
        ({"foreign": ["F57M-YAN5"]}, {"text": "it is F57M-YAN51"}, False),
        ({"answers": ["A, B"]}, {"text": "The order is: A, B"}, False),
        ({"answers": ["A, B"]}, {"text": "B, A"}, True),
        ({"answers": ["A, B"]}, {"text": "", "error": "HTTP 500"}, False),
        ({"service": True}, {"text": "", "error": "HTTP 500"}, True),
        ({"service": True}, {"text": " "}, True),
        ({"service": True}, {"text": "fine"}, False),
        ({"same": "one two"}, {"text": "One  two!"}, False),
        ({"marks": ["<|im_end|>"]}, {"text": "x<|im_end|>"}, True),
    ],
)
def test_what_a_check_says(check: dict[str, object], reply: dict[str, object], wrong: bool) -> None:
    assert bool(verdict(check, reply)) is wrong


def test_the_module_is_the_file_that_is_copied() -> None:
    from fuzzer.repro import standalone

    assert standalone.__file__ is not None
    assert "CASE: dict[str, Any] = {}" in Path(standalone.__file__).read_text(encoding="utf-8")


@contextmanager
def _answering(models: bytes, reply: bytes, status: int = 200) -> Iterator[str]:
    """A server that answers every request for a completion with this body; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._say(200, models)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._say(status, reply)

        def _say(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _script(folder: Path, kind: str = "bleed") -> Path:
    made = bundle()
    if kind != "bleed":
        finding = made.finding.model_copy(update={"kind": kind, "donor": None})
        lost = received("").model_copy(update={"outcome": "server-error", "detail": "HTTP 500"})
        (one,) = made.seen
        assert one.done is not None
        seen = one.model_copy(update={"done": one.done.model_copy(update={"received": lost})})
        made = made.model_copy(update={"finding": finding, "seen": (seen,)})
    path = folder / "reproduce.py"
    path.write_text(reproduce(made) or "", encoding="utf-8")
    return path


def _run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(script), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "models",
    [b"[]", b'{"data":null}', b'"no"', DEEP, b"<html>", b'{"data":[5,{"id":null}]}'],
    ids=["list", "null", "text", "deep", "page", "odd"],
)
def test_a_list_of_models_that_is_none_is_no_failure(models: bytes, tmp_path: Path) -> None:
    with _answering(models, GOOD) as url:
        done = _run(_script(tmp_path), url, "--times", "1")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "0 of 1 failed" in done.stdout


@pytest.mark.parametrize(
    "reply",
    [
        b'{"choices":[null]}',
        b'{"choices":[{"message":"hi"}]}',
        b'{"choices":[{"message":{"tool_calls":[null]}}]}',
        b'{"choices":[{"message":{"tool_calls":5}}]}',
        b'{"choices":5}',
        b"[]",
        DEEP,
        b'{"choices":[{"message":{"content":' + b"[" * 50_000,
    ],
    ids=["no-choice", "text", "no-call", "number", "no-choices", "list", "deep", "deep-content"],
)
def test_what_cannot_be_judged_is_no_pass(reply: bytes, tmp_path: Path) -> None:
    with _answering(b"{}", reply) as url:
        done = _run(_script(tmp_path), url, "--times", "1")
    assert done.returncode == 3, done.stdout
    assert "could not be judged" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refusal_of_every_request_is_no_failure_of_service(tmp_path: Path) -> None:
    with _answering(b"{}", b'{"error":"no such model"}', status=404) as url:
        done = _run(_script(tmp_path, "service"), url, "--times", "1")
    assert done.returncode == 3, done.stdout
    assert "HTTP 404" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_fails_all_the_time_shows_a_failure_of_service(tmp_path: Path) -> None:
    with _answering(b"{}", b'{"error":"down"}', status=500) as url:
        done = _run(_script(tmp_path, "service"), url, "--times", "1")
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--times", "0"], "--times 0"),
        (["--timeout", "nan"], "--timeout nan"),
        (["--timeout", "inf"], "--timeout inf"),
        (["--timeout", "-1"], "--timeout -1"),
        (["--api-key-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
    ],
)
def test_a_mistake_in_the_arguments_is_refused(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = _run(_script(tmp_path), "http://127.0.0.1:9", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
