"""The connections that people have: a CA of their own, a proxy, a path, a model that loads, a limit on requests."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.history.records import Message
from fuzzer.options import build_plan
from fuzzer.plan import Endpoint
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import OPENAI
from fuzzer.wire.identify import identify, wait_until_ready
from fuzzer.wire.pace import Pace
from fuzzer.wire.params import Params
from fuzzer.wire.session import proxy_for

from .servers import Request, answering, http, routing, serving, whole

pytestmark = pytest.mark.anyio

HELLO = (Message(role="user", content="hello"),)
MODELS = http(json.dumps({"object": "list", "data": [{"id": "M", "owned_by": "vllm"}]}).encode())
REPLY = http(json.dumps(whole("hi")).encode())
PAGES = {"/v1/models": MODELS, "/v1/chat/completions": REPLY}
WHOLE = Params(max_tokens=4, stream=False)


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def answer(endpoint: Endpoint, pace: Pace | None = None) -> str:
    """What comes back for one question: the text, or the outcome with its detail."""
    async with Client(endpoint, OPENAI, timeout=30) as client:
        received = await client.ask(HELLO, WHOLE, pace=pace)
    return received.text if received.outcome == "ok" else f"{received.outcome}: {received.detail}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private authority (ca.pem) and a server's certificate for the loopback that it has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates, and is not installed")
    folder = tmp_path_factory.mktemp("ca")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    for command in (
        [*new, "/CN=private", "-x509", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem",
         "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
        [*new, "/CN=engine", "-keyout", "key.pem", "-out", "engine.csr"],
        ["openssl", "x509", "-req", "-in", "engine.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
         "-days", "2", "-extfile", "ext", "-out", "cert.pem"],
    ):  # fmt: skip
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


class TestOwnAuthority:
    async def test_it_is_trusted_where_it_is_named(self, folder: Path, tls: ssl.SSLContext) -> None:
        async with serving(routing(PAGES), tls) as url:
            endpoint = Endpoint(name="c", url=url, model="M", ca_file=str(folder / "ca.pem"))
            assert (await identify(endpoint)).model == "M"
            assert await answer(endpoint) == "hi"

    async def test_it_is_not_trusted_by_itself(self, tls: ssl.SSLContext) -> None:
        async with serving(routing(PAGES), tls) as url:
            assert (await answer(Endpoint(name="c", url=url, model="M"))).startswith("tls:")
            with pytest.raises(UnavailableError, match="certificate"):
                await identify(Endpoint(name="c", url=url))

    async def test_the_usual_variable_works_too(
        self, folder: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
        async with serving(routing(PAGES), tls) as url:
            assert await answer(Endpoint(name="c", url=url, model="M")) == "hi"

    async def test_a_file_that_is_none_is_a_mistake_of_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "empty.pem").write_text("nonsense")
        for name, said in (("missing.pem", "No such file"), ("empty.pem", "PEM")):
            with pytest.raises(UsageError, match=said) as caught:
                await identify(Endpoint(name="c", url="https://127.0.0.1:1", ca_file=str(tmp_path / name)))
            assert "\n" not in str(caught.value)


class TestProxy:
    async def test_one_of_the_environment_is_used_and_told_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[str] = []

        async def proxy(request: Request, stream: ByteStream) -> None:
            seen.append(request.path)
            await stream.send(PAGES.get(request.path.removeprefix("http://engine.invalid:8000"), http(status=404)))

        left: list[bool] = []
        async with serving(proxy) as url:
            monkeypatch.setenv("http_proxy", url)
            endpoint = Endpoint(name="c", url="http://engine.invalid:8000", model="M")
            found = await identify(endpoint)
            assert await answer(endpoint, Pace(left=lambda: left.append(True))) == "hi"
        assert left == [True]  # the moment of sending is known through a proxy, too
        assert "http://engine.invalid:8000/v1/chat/completions" in seen
        assert any(url.removeprefix("http://") in warning for warning in found.warnings)

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
    def test_this_machine_is_never_reached_through_one(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
        assert proxy_for(f"http://{host}:8000") is None

    def test_the_environments_exceptions_hold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("https_proxy", "proxy.invalid:3128")
        monkeypatch.setenv("no_proxy", "inside.invalid")
        assert proxy_for("https://inside.invalid") is None
        assert proxy_for("https://outside.invalid") == "http://proxy.invalid:3128"
        assert proxy_for("http://outside.invalid") is None

    async def test_its_password_is_told_to_it_and_to_nobody_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: set[str] = set()

        async def proxy(request: Request, stream: ByteStream) -> None:
            told.add(request.headers.get("proxy-authorization", ""))
            await stream.send(MODELS)

        async with serving(proxy) as url:
            monkeypatch.setenv("http_proxy", url.replace("http://", "http://me:hush@"))
            found = await identify(Endpoint(name="c", url="http://engine.invalid"))
        assert told == {"Basic bWU6aHVzaA=="}
        assert "hush" not in found.model_dump_json()


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_a_base_address_may_have_a_path(ending: str) -> None:
    pages = {f"/team/serving{path}": page for path, page in PAGES.items()}
    async with serving(routing(pages)) as url:
        endpoint = Endpoint(name="c", url=f"{url}/team/serving{ending}", model="M")
        assert (await identify(endpoint)).models == ("M",)
        assert await answer(endpoint) == "hi"


class TestSocket:
    async def test_a_unix_socket_is_an_address_like_any_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("all_proxy", "http://proxy.invalid:3128")
        left: list[bool] = []
        with tempfile.TemporaryDirectory() as folder:  # a socket's path is short: pytest's own folders may not be
            async with serving(routing(PAGES), socket=Path(folder) / "a b.sock") as url:
                endpoint = Endpoint(name="c", url=url.replace(" ", "%20"), model="M")
                assert (await identify(endpoint)).models == ("M",)
                assert await answer(endpoint, Pace(left=lambda: left.append(True))) == "hi"
        assert left == [True]

    async def test_one_that_is_not_there_is_a_mistake_of_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match="is that its socket") as caught:
            await identify(Endpoint(name="c", url=f"unix://{tmp_path}/none"))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("url", ["unix://run/x.sock", "unix:///", "unix:", "unix:///x.sock?y=1"])
    def test_an_address_that_names_none_is_refused_with_an_example(self, url: str) -> None:
        with pytest.raises(UsageError, match=r"unix:///run/engine\.sock"):
            build_plan({"candidate": [url]})


class TestHttp2:
    SETTINGS = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"
    GOAWAY = b"\x00\x00\x08\x07" + bytes(13)

    @pytest.mark.parametrize(
        "reply",
        [SETTINGS + GOAWAY, b"\x00\x00\n\x04" + bytes(15), http(status=426), http(status=505)],
        ids=["frames", "a frame", "426", "505"],
    )
    async def test_a_server_that_speaks_nothing_else_is_refused_in_one_line(self, reply: bytes) -> None:
        async with serving(answering(reply)) as url:
            with pytest.raises(UnavailableError, match="HTTP/2 only, and this program HTTP") as caught:
                await identify(Endpoint(name="c", url=url))
        assert "\n" not in str(caught.value)
        assert "x00" not in str(caught.value)

    async def test_so_is_one_that_says_so_in_the_handshake(self, folder: Path) -> None:
        command = [
            "openssl",
            "s_server",
            "-accept",
            "127.0.0.1:0",
            "-cert",
            "cert.pem",
            "-key",
            "key.pem",
            "-alpn",
            "h2",
        ]
        async with await anyio.open_process(command, cwd=folder, stdin=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                said = b""
                while not said.partition(b"ACCEPT 127.0.0.1:")[2].endswith(b"\n"):
                    said += await server.stdout.receive()
                port = int(said.partition(b"ACCEPT 127.0.0.1:")[2])
                endpoint = Endpoint(name="c", url=f"https://127.0.0.1:{port}", ca_file=str(folder / "ca.pem"))
                with pytest.raises(UnavailableError, match="HTTP/2 only"):
                    await identify(endpoint)
            finally:
                server.kill()


class TestLoading:
    async def test_a_model_that_loads_is_waited_for(self) -> None:
        asked = 0

        async def loading(request: Request, stream: ByteStream) -> None:
            nonlocal asked
            asked += request.path == "/v1/models"
            page = http(b'{"error": {"message": "Loading model"}}', status=503) if asked <= 2 else MODELS
            await stream.send(page if request.path == "/v1/models" else http(b"{}", status=404))

        async with serving(loading) as url:
            endpoint = Endpoint(name="c", url=url)
            with pytest.raises(UnavailableError, match="503"):
                await identify(endpoint)
            await wait_until_ready(endpoint, 60)
            assert (await identify(endpoint)).model == "M"

    async def test_a_server_that_says_it_is_not_healthy_is_not_ready(self) -> None:
        health = [http(status=503), http(status=503), http()]

        async def waking(request: Request, stream: ByteStream) -> None:
            page = health.pop(0) if request.path == "/health" and len(health) > 1 else MODELS
            await stream.send(page)

        async with serving(waking) as url:
            with anyio.fail_after(60):
                await wait_until_ready(Endpoint(name="c", url=url), 60)
        assert len(health) == 1

    async def test_the_wait_ends(self) -> None:
        async with serving(routing({}, http(status=503))) as url:
            await wait_until_ready(Endpoint(name="c", url=url), 0.01)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_limit_is_marked_with_when_to_come_back_and_nothing_is_sent_again(status: int) -> None:
    asked = 0

    async def limited(_: Request, stream: ByteStream) -> None:
        nonlocal asked
        asked += 1
        await stream.send(http(b'{"error": {"message": "slow down"}}', status=status, Retry_After="7"))

    async with serving(limited) as url:
        said = await answer(Endpoint(name="c", url=url, model="M"))
    assert said == f"overloaded: HTTP {status} (Retry-After: '7'): 'slow down'"
    assert asked == 1
