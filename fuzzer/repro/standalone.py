#!/usr/bin/env python3
"""Send the requests of one bug report to an OpenAI-compatible server, and say how often it shows.

Needs nothing but Python 3.9 or newer: python3 -I -S reproduce.py URL [--times K] [--model ID] [--api-key-env VAR]
Exit status: 0 it did not show, 1 it did, 2 usage, 3 the server could not be asked, or a reply could not be judged.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import ssl
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

CASE: dict[str, Any] = {}  # filled in where this file is written for a bundle

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), "")
CONNECT_SECONDS = 10.0
MOST_BYTES = 64 * 2**20
SHOWN = 200  # characters of a reply
LONGEST_SECONDS = 86_400.0
LONG = ("stream", "stream_options", "tools", "tool_choice", "min_tokens", "ignore_eos", "max_completion_tokens")
UNUSABLE = (OSError, ValueError, TypeError, AttributeError, RecursionError, http.client.HTTPException)


def words(text: str) -> str:
    """The letters and digits of a text, in lower case, single spaces between."""
    plain = text.lower().translate(INVISIBLE)
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())


def holds(text: str, part: str) -> bool:
    """Whether a text holds the words of another, at word boundaries."""
    return bool(words(part)) and f" {words(part)} " in f" {words(text)} "


def verdict(check: dict[str, Any], reply: dict[str, Any]) -> str:
    """What is wrong with a reply, or "": ``check`` holds what to look for, ``reply`` text, error and finish reason."""
    error, text = str(reply.get("error", "")), str(reply.get("text", ""))
    if check.get("service"):
        if error:
            return f"no usable reply: {error}"
        return "" if text.strip() else "an empty reply"
    if error:
        return ""
    for span in check.get("foreign", ()):
        if holds(text, span):
            return f"holds {span!r}, which belongs to another request"
    for mark in check.get("marks", ()):
        if mark in text:
            return f"holds {mark!r}, which no healthy reply does"
    if "same" in check and words(text) != words(check["same"]):
        return f"is not the right reply {check['same'][:SHOWN]!r}"
    accepted = check.get("answers")
    if accepted is not None and not any(holds(text, answer) or words(text) == words(answer) for answer in accepted):
        return f"lacks the right answer {accepted[0][:SHOWN]!r}"
    return ""


class Server:
    """Where to send to, and how long to wait, in seconds."""

    def __init__(self, url: str, timeout: float, key: str, model: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no http(s) URL; write for example http://127.0.0.1:8000")
        self.tls = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port or (443 if self.tls else 80)
        path = parts.path.rstrip("/")
        self.base = path if path.endswith("/v1") else f"{path}/v1"
        self.timeout, self.key, self.model = timeout, key, model

    def connect(self) -> http.client.HTTPConnection:
        """An open connection."""
        if self.tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self.host, self.port, timeout=CONNECT_SECONDS, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=CONNECT_SECONDS)
        connection.connect()
        return connection

    def headers(self, name: str) -> dict[str, str]:
        """The headers of one request."""
        told = {"Content-Type": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
        told["X-Request-Id"] = name
        if self.key:
            told["Authorization"] = f"Bearer {self.key}"
        return told

    def choose_model(self, wanted: str) -> None:
        """The model to ask for: the one given, the recorded one if it is served, else the first that is."""
        connection = self.connect()
        try:
            connection.request("GET", f"{self.base}/models", headers=self.headers("models"))
            response = connection.getresponse()
            said = response.read(MOST_BYTES)
        finally:
            connection.close()
        served = models(said)
        self.model = self.model or (wanted if wanted in served or not served else served[0])

    def refusal(self, body: dict[str, Any]) -> str:
        """What it says against a short request with the parameters of this one, or "" where it takes it."""
        asked = {name: value for name, value in body.items() if name not in LONG}
        asked.update(messages=[{"role": "user", "content": "Say OK."}], max_tokens=1)
        if self.model:
            asked["model"] = self.model
        connection = self.connect()
        try:
            connection.request("POST", f"{self.base}/chat/completions", json.dumps(asked), self.headers("first"))
            wait(connection.sock, time.monotonic() + self.timeout)
            response = connection.getresponse()
            said = response.read(2000)
        except (OSError, http.client.HTTPException):
            return ""  # that may be what the report is about
        finally:
            connection.close()
        refused = 400 <= response.status < 500 and response.status not in (408, 429)
        return f"HTTP {response.status}: {said[:SHOWN]!r}" if refused else ""


def models(said: bytes) -> list[str]:
    """The models that a server says it serves; none where it says so in no way that is understood."""
    try:
        reply = json.loads(said)
    except (ValueError, RecursionError):
        return []
    entries = reply.get("data") if isinstance(reply, dict) else None
    found = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in found if isinstance(name, str)]


class Reply:
    """One reply while it comes in."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.pieces = 0
        self.error = ""
        self.ended = False

    def take(self, value: Any) -> None:
        """One JSON object: a whole completion or a chunk of one."""
        choices = value.get("choices") if isinstance(value, dict) else None
        if not isinstance(choices, list):
            self.error = (
                f"an error inside HTTP 200: {str(value)[:SHOWN]!r}" if "error" in str(value)[:20] else self.error
            )
            return
        for choice in choices[:1]:
            said = (choice.get("delta") or choice.get("message") or {}) if isinstance(choice, dict) else None
            if not isinstance(said, dict):
                self.error = f"no chat completion: {str(value)[:SHOWN]!r}"
                return
            texts = [said.get("content"), said.get("reasoning_content"), said.get("reasoning")]
            calls = said.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                function = call.get("function") if isinstance(call, dict) else None
                texts += [function.get("name"), function.get("arguments")] if isinstance(function, dict) else []
            found = [text for text in texts if isinstance(text, str) and text]
            self.pieces += bool(found)
            self.parts += found
            self.ended = self.ended or bool(choice.get("finish_reason"))

    def told(self) -> dict[str, Any]:
        """What is judged."""
        return {"error": self.error, "text": "".join(self.parts)}


class Told:
    """A request, what is wrong with its reply, the reply's text, and whether it could be judged at all."""

    def __init__(self, request: dict[str, Any], reply: dict[str, Any] | None) -> None:
        self.name = request["name"]
        self.wrong = verdict(request["check"], reply) if reply is not None else ""
        self.text = (reply["error"] or reply["text"]) if reply is not None else "it was not sent"
        self.judged = bool(self.wrong) or (reply is not None and not reply["error"])


class Shot(threading.Thread):
    """One slot: its requests one after another."""

    def __init__(self, server: Server, chain: list[dict[str, Any]], start: threading.Barrier, round_: int) -> None:
        super().__init__(daemon=True)
        self.server, self.chain, self.start_line, self.round = server, chain, start, round_
        self.replies: list[dict[str, Any]] = []

    def run(self) -> None:
        """Send the first at its time, and each of the others when the one before has ended."""
        connection, reason = None, ""
        try:
            connection = self.server.connect()
        except OSError as error:
            reason = f"no connection: {error}"
        try:
            self.start_line.wait()
        except threading.BrokenBarrierError:
            return
        began = time.monotonic()
        for place, request in enumerate(self.chain):
            if place:
                began, connection = time.monotonic(), None
            pause = began + request.get("at_ms", 0) / 1000 - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            try:
                if connection is None:
                    if not place:
                        raise OSError(reason)
                    connection = self.server.connect()
                self.replies.append(self.ask(connection, request))
            except UNUSABLE as error:
                self.replies.append({"error": f"{type(error).__name__}: {error}", "text": ""})
            finally:
                if connection is not None:
                    connection.close()

    def ask(self, connection: http.client.HTTPConnection, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and read its reply, or break it off as the report says."""
        body = dict(request["body"])
        if self.server.model:
            body["model"] = self.server.model
        if body.get("cache_salt"):
            body["cache_salt"] = f"{body['cache_salt']}-{self.round}-{os.getpid()}"
        reply = Reply()
        limit = time.monotonic() + self.server.timeout
        cancel = request.get("cancel_ms")
        until = min(limit, time.monotonic() + cancel / 1000) if cancel is not None else limit
        name = f"{request['name']}-round-{self.round}"
        connection.request("POST", f"{self.server.base}/chat/completions", json.dumps(body), self.server.headers(name))
        wire = connection.sock  # http.client forgets it once the head of a reply has come
        try:
            wait(wire, until)
            response = connection.getresponse()
            if response.status != 200:
                reply.error = f"HTTP {response.status}: {response.read(2000)[:SHOWN]!r}"
                return reply.told()
            streamed = "event-stream" in (response.getheader("Content-Type") or "")
            read(wire, response, reply, until, request.get("cancel_tokens"), streamed)
        except (TimeoutError, socket.timeout):  # noqa: UP041  # two names for one thing only since Python 3.10
            if cancel is None or time.monotonic() >= limit:
                reply.error = f"nothing more came within {self.server.timeout:g} s"
        if not (reply.ended or reply.error or request.get("cancelled")):
            reply.error = "the reply broke off"
        return reply.told()


def wait(wire: socket.socket, until: float) -> None:
    """Set how long the next read may take."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    wire.settimeout(left)


def read(wire: socket.socket, response: Any, reply: Reply, until: float, tokens: Any, streamed: bool) -> None:
    """Read a reply to its end, or until so many pieces of it have come."""
    if not streamed:
        reply.take(json.loads(response.read(MOST_BYTES)))
        return
    for line in response:
        wait(wire, until)
        data = line.decode("utf-8", "replace").strip()
        if not data.startswith("data:"):
            continue
        data = data[5:].strip()
        if data == "[DONE]":
            return
        reply.take(json.loads(data))
        if tokens is not None and reply.pieces >= tokens:
            return


def play(server: Server, releases: list[list[list[dict[str, Any]]]], round_: int) -> list[Told]:
    """Send everything once; what came of each judged request."""
    found = []
    for chains in releases:
        start = threading.Barrier(len(chains))
        shots = [Shot(server, chain, start, round_) for chain in chains]
        for shot in shots:
            shot.start()
        for shot in shots:
            shot.join()
        for shot in shots:
            for place, request in enumerate(shot.chain):
                if request.get("check") is not None:
                    found.append(Told(request, shot.replies[place] if place < len(shot.replies) else None))
    return found


def main() -> int:
    """Ask as often as wanted; the exit status."""
    parser = argparse.ArgumentParser(description=CASE["title"], epilog=CASE["needs"])
    parser.add_argument("url", help="the server, for example http://127.0.0.1:8000")
    parser.add_argument("--times", type=int, default=CASE["times"], metavar="K", help="rounds (default %(default)s)")
    parser.add_argument("--model", default="", metavar="ID", help="the model to ask for (default: as recorded)")
    parser.add_argument("--timeout", type=float, default=CASE["timeout"], metavar="S", help="seconds for one request")
    parser.add_argument("--api-key-env", default="", metavar="VAR", help="environment variable with the API key")
    given = parser.parse_args()
    if given.times < 1:
        parser.error(f"--times {given.times}: write a number of rounds from 1 on, for example 10")
    if not 0 < given.timeout <= LONGEST_SECONDS:
        parser.error(f"--timeout {given.timeout:g}: write seconds above 0, up to {LONGEST_SECONDS:g}, for example 120")
    key = os.environ.get(given.api_key_env, "").strip() if given.api_key_env else ""
    if given.api_key_env and not key:
        parser.error(f"--api-key-env {given.api_key_env}: this environment variable is not set, or empty")
    try:
        server = Server(given.url, given.timeout, key, given.model)
        server.choose_model(CASE["model"])
        refused = server.refusal(CASE["releases"][0][0][0]["body"])
        if refused:
            raise ValueError(f"it refuses the requests: {refused}")
    except UNUSABLE as error:
        print(f"cannot ask {given.url}: {error}", file=sys.stderr)
        return 3
    print(CASE["title"])
    failed = 0
    unjudged: list[Told] = []
    rounds = 0
    try:
        for rounds in range(1, given.times + 1):
            told = play(server, CASE["releases"], rounds)
            wrong = [one for one in told if one.wrong]
            unjudged += [one for one in told if not one.judged]
            failed += bool(wrong)
            for one in wrong[:1]:
                print(f"round {rounds}: the reply to {one.name} {one.wrong}; it says {one.text[:SHOWN]!r}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped in round {rounds}: {failed} failed before it")
        return 130
    print(f"{failed} of {given.times} failed")
    if unjudged and not failed:
        count, why = len(unjudged), unjudged[0].text[:SHOWN]
        print(f"replies that could not be judged, so this is no pass: {count}, for example {why!r}", file=sys.stderr)
        return 3
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
