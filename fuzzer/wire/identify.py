"""Who is at the other end: engine, model, context, speculation. A few small GETs, bounded, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import anyio
import httpx
from pydantic import BaseModel, ConfigDict, JsonValue

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.figures import MemoryKind
from fuzzer.history.records import Arm
from fuzzer.plan import Endpoint, Engine
from fuzzer.wire.bounds import BadReplyError, Limits, quoted
from fuzzer.wire.decode import decode
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.metrics import sample_lines
from fuzzer.wire.pool import kv_pool, memory
from fuzzer.wire.reply import error_message
from fuzzer.wire.session import HTTP2, Page, fetch, key_option, open_http, proxy_for
from fuzzer.wire.text import label
from fuzzer.wire.tokens import count

_MODELS = "/v1/models"
_INFO = "/server_info?config_format=json"  # vLLM tells with VLLM_SERVER_DEV_MODE=1 only; SGLang heeds no parameter
_PAGES = ("/metrics", "/prometheus/metrics")
_OTHERS = ("/health", "/version", "/props", "/slots", *_PAGES, "/get_server_info", _INFO)
_PAGE_BYTES = 4 * 2**20
_OTHER_HTTP = (426, 505)  # Upgrade Required, HTTP Version Not Supported
_READY_SECONDS = 5.0  # for one look at a server that is still loading
_READY_PAUSE = 0.5
_HEADS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}  # torch's names, and ours
DATE_STEP = 2.0  # seconds: a Date has whole ones, and a reply takes its time
_LIMITS = Limits(body_bytes=_PAGE_BYTES)
_VLLM_DRAFTING = ("vllm:spec_decode_",)
_VLLM = ("vllm:",)


class Identity(BaseModel):
    """What an endpoint says about itself.

    ``model`` is the id to send, ``model_given`` whether the user named it, ``models`` all that are served.
    ``fingerprint`` is the engine's version in its own words. ``kv_block`` and ``kv_tokens`` are the sizes of a block of
    its KV cache and of its whole pool, ``memory_bytes`` what it holds in memory (of ``memory_kind``), ``clock_seconds``
    how far its clock is ahead of ours, ``lm_head`` its precision where it was set at run time and is told.
    ``speculation`` is None where the server does not tell.
    ``context_length`` is in tokens per request, ``slots`` the number of requests that run at once.
    ``default_generation`` holds the server's own sampling defaults where they differ from the neutral ones that are
    sent. ``warnings`` are sentences for the report.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    url: str
    engine: Engine
    model: str
    model_given: bool = False
    models: tuple[str, ...] = ()
    fingerprint: str | None = None
    context_length: int | None = None
    slots: int | None = None
    kv_block: int | None = None
    kv_tokens: int | None = None
    memory_bytes: int | None = None
    memory_kind: MemoryKind | None = None
    clock_seconds: float | None = None
    speculation: bool | None = None
    lm_head: str | None = None
    default_generation: dict[str, JsonValue] = {}
    warnings: tuple[str, ...] = ()

    def pin(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with the engine and the model that were found."""
        return endpoint.model_copy(update={"engine": self.engine, "model": self.model})


async def identify(
    endpoint: Endpoint,
    *,
    timeout: float = 10,  # noqa: ASYNC109  # named in the message that a caller's own scope could not give
    role: Arm = "candidate",
) -> Identity:
    """Asks an endpoint who it is, for at most twice ``timeout`` seconds.

    Raises ``UnavailableError`` if it cannot be reached or used, ``UsageError`` if it takes an option to go on.
    """
    async with open_http(endpoint, connect=timeout, read=timeout, role=role) as http:
        models = await _probe(http, endpoint, _MODELS, timeout)
        if isinstance(models, BadReplyError):
            raise UnavailableError(_unreachable(endpoint, models, timeout))
        if models.status in _OTHER_HTTP:
            raise UnavailableError(f"{endpoint.name} at {endpoint.url}: {HTTP2} (HTTP {models.status})")
        _check_key(endpoint, models, role)
        pages = {_MODELS: models} | await _others(http, endpoint, timeout)
    return _Findings(endpoint, role, pages).identity()


async def wait_until_ready(endpoint: Endpoint, seconds: float, *, role: Arm = "candidate") -> None:
    """Waits until a server has loaded its model, ``seconds`` at most: until it is there and no page answers HTTP 5xx.

    Comes back either way; ``identify`` then says what is wrong.
    """
    with anyio.move_on_after(seconds):
        async with open_http(endpoint, connect=_READY_SECONDS, read=_READY_SECONDS, role=role) as http:
            while True:
                if await _ready(http, endpoint):
                    return
                await anyio.sleep(min(_READY_PAUSE, seconds))


async def _ready(http: httpx.AsyncClient, endpoint: Endpoint) -> bool:
    models = await _probe(http, endpoint, _MODELS, _READY_SECONDS)
    if isinstance(models, BadReplyError):
        return models.outcome not in ("connect", "timeout-connect", "timeout-read", "timeout-total", "disconnect")
    health = await _probe(http, endpoint, "/health", _READY_SECONDS)
    return models.status < 500 and not (isinstance(health, Page) and health.status >= 500)


async def _others(http: httpx.AsyncClient, endpoint: Endpoint, seconds: float) -> dict[str, Page]:
    pages: dict[str, Page] = {}

    async def look(path: str) -> None:
        page = await _probe(http, endpoint, path, seconds)
        if isinstance(page, Page):
            pages[path] = page

    async with anyio.create_task_group() as group:
        for path in _OTHERS:
            group.start_soon(look, path)
    return pages


async def _probe(http: httpx.AsyncClient, endpoint: Endpoint, path: str, seconds: float) -> Page | BadReplyError:
    try:
        with anyio.fail_after(seconds):
            return await fetch(http, endpoint.base + path, _PAGE_BYTES)
    except BadReplyError as bad:
        return bad
    except TimeoutError:
        return BadReplyError("timeout-total", f"no reply within {seconds:g} s")


def _unreachable(endpoint: Endpoint, bad: BadReplyError, timeout: float) -> str:
    where = f"{endpoint.name} at {endpoint.url}"
    if bad.outcome.startswith("timeout"):
        plain = " (or does it speak plain HTTP? then write http://)" if endpoint.url.startswith("https:") else ""
        return f"{where}: no reply within {timeout:g} s; is the server still loading, or hanging?{plain}"
    if bad.detail == HTTP2:
        return f"{where}: {HTTP2}"
    if bad.outcome == "tls" and endpoint.url.startswith("https:"):
        return f"{where}: {bad.detail}; if the server speaks plain HTTP, write http:// instead"
    if bad.outcome == "tls":
        return f"{where}: {bad.detail}; write https:// instead"
    if bad.outcome == "connect" and endpoint.socket is not None:
        return f"{where}: {bad.detail}; is the server up, and is that its socket?"
    if bad.outcome == "connect":
        return f"{where}: {bad.detail}; is the server up, and are scheme, host and port right?"
    return f"{where}: {bad.detail}"


def _check_key(endpoint: Endpoint, page: Page, role: Arm) -> None:
    if page.status not in (401, 403):
        return
    where = f"{endpoint.name} at {endpoint.url} refuses access (HTTP {page.status})"
    option = key_option(role)
    if endpoint.api_key_env is None:
        raise UnavailableError(f"{where}: it wants an API key; name the variable that holds it with {option} VAR")
    raise UnavailableError(f"{where}: the key in {endpoint.api_key_env} ({option}) was not accepted")


class _Findings:
    """Makes sense of the pages that came."""

    def __init__(self, endpoint: Endpoint, role: Arm, pages: Mapping[str, Page]) -> None:
        self._endpoint = endpoint
        self._role: Arm = role
        self._pages = pages
        self._warnings: list[str] = []
        self._models = _entries(self._json(_MODELS), "data")
        self._props = _mapping(self._json("/props"))
        self._info = _mapping(self._json("/get_server_info")) or _mapping(self._json(_INFO))

    def identity(self) -> Identity:
        self._check_health()
        if (proxy := proxy_for(self._endpoint.url)) is not None:
            where = urlsplit(proxy).netloc.rpartition("@")[2]
            self._warnings.append(f"it is reached through the proxy {where}, which may hold back or cut streams")
        engine = self._engine()
        if engine == "llamacpp" and "/props" in self._pages:
            _check_key(self._endpoint, self._pages["/props"], self._role)
        names = tuple(name for entry in self._models if (name := label(entry.get("id"))))
        model = self._model(names)
        context = self._context(model)
        slots = count(self._props.get("total_slots")) or count(self._info.get("max_running_requests"))
        slots = slots or count(self._vllm("scheduler_config").get("max_num_seqs"))
        metrics = self._pages.get("/metrics")
        told = metrics.body if metrics and metrics.ok else None
        pool = kv_pool(engine, told, self._info, slots, context)
        held = memory(engine, told, self._info)
        return Identity(
            name=self._endpoint.name,
            url=self._endpoint.url,
            engine=engine,
            model=model,
            model_given=self._endpoint.model is not None,
            models=names,
            fingerprint=self._version(),
            context_length=context,
            slots=slots,
            kv_block=pool.block,
            kv_tokens=pool.tokens,
            memory_bytes=held.bytes,
            memory_kind=held.kind,
            clock_seconds=self._clock(),
            speculation=self._speculation(engine),
            lm_head=_HEADS.get(label(self._overrides().get("head_dtype")) or ""),
            default_generation=self._defaults(engine),
            warnings=tuple(self._warnings),
        )

    def _json(self, path: str) -> JsonValue:
        page = self._pages.get(path)
        if page is None or not page.ok:
            return None
        try:
            return decode(page.body, _LIMITS)
        except BadReplyError:
            return None

    def _check_health(self) -> None:
        where = f"{self._endpoint.name} at {self._endpoint.url}"
        if all(page.status >= 500 for page in self._pages.values()):
            page = self._pages[_MODELS]
            hint = "; if it is still loading, use --wait-ready 5m" if page.status == 503 else ""
            raise UnavailableError(f"{where} answers HTTP {page.status} to everything: {quoted(_said(page))}{hint}")
        if self._pages[_MODELS].status == 503:
            raise UnavailableError(f"{where} is not ready (HTTP 503): is it still loading? then use --wait-ready 5m")
        health = self._pages.get("/health")
        if health is not None and health.status >= 500:
            self._warnings.append(f"{where} says that it is not healthy (HTTP {health.status})")

    def _engine(self) -> Engine:
        if self._endpoint.engine != "auto":
            return self._endpoint.engine
        owners = {label(entry.get("owned_by")) for entry in self._models}
        found: Engine = "openai"
        if "llamacpp" in owners or self._pages[_MODELS].server == "llama.cpp" or "total_slots" in self._props:
            found = "llamacpp"
        elif "vllm" in owners or self._metrics(_VLLM):
            found = "vllm"
        elif "sglang" in owners or "tokenizer_path" in self._info or self._metrics(("sglang:",)):
            found = "sglang"
        elif "tensorrt_llm" in owners or self._metrics(("trtllm_",)):
            found = "trtllm"
        elif "lmdeploy" in owners or self._metrics(("lmdeploy:",)):
            found = "lmdeploy"
        elif self._looks_like_mlx():
            found = "mlx"
        if found == "openai":
            self._warnings.append(
                f"{self._endpoint.name}: the engine is not known, so it is asked in plain OpenAI terms; "
                "if you know it, say --engine NAME"
            )
        return found

    def _metrics(self, prefixes: tuple[str, ...]) -> bool:
        pages = [self._pages[path] for path in _PAGES if path in self._pages]
        return any(page.ok and sample_lines(page.body, prefixes) for page in pages)

    def _looks_like_mlx(self) -> bool:
        """Python's own HTTP server, models that nobody owns, and a word on its health: mlx_lm/server.py has no more."""
        unowned = bool(self._models) and not any("owned_by" in entry for entry in self._models)
        healthy = _mapping(self._json("/health")).get("status") == "ok"
        return self._pages[_MODELS].server.startswith("BaseHTTP/") and unowned and healthy

    def _model(self, names: tuple[str, ...]) -> str:
        asked = self._endpoint.model
        where = f"{self._endpoint.name} at {self._endpoint.url}"
        if asked is not None:
            if names and asked not in names:
                self._warnings.append(f"{where} does not list the model {quoted(asked)}, only {_listing(names)}")
            return asked
        option = "--reference-model" if self._role == "reference" else "--model"
        if not names:
            status = self._pages[_MODELS].status
            raise UsageError(f"{where} lists no models ({_MODELS}: HTTP {status}); say which to ask for: {option} ID")
        if len(names) > 1:
            self._warnings.append(f"{where} serves {_listing(names)}; the first is asked, {option} ID chooses another")
        return names[0]

    def _version(self) -> str | None:
        told = _mapping(self._json("/version")).get("version")
        return label(told) or label(self._info.get("version")) or label(self._props.get("build_info"))

    def _clock(self) -> float | None:
        """Seconds by which its clock is ahead of ours, from the Date of its replies (RFC 9110, section 6.6.1)."""
        page = self._pages[_MODELS]
        if page.date is None or abs(page.date - page.at) < DATE_STEP:
            return None if page.date is None else 0.0
        return page.date - page.at

    def _context(self, model: str) -> int | None:
        entry = next((entry for entry in self._models if entry.get("id") == model), {})
        settings = _mapping(self._props.get("default_generation_settings"))
        told = (
            entry.get("max_model_len"),
            settings.get("n_ctx"),
            _mapping(entry.get("meta")).get("n_ctx"),
            self._info.get("context_length"),
        )
        return next((length for value in told if (length := count(value))), None)

    def _speculation(self, engine: Engine) -> bool | None:
        if engine == "llamacpp":
            slots = [_mapping(slot).get("speculative") for slot in _list(self._json("/slots"))]
            return any(slots) if slots and all(isinstance(slot, bool) for slot in slots) else None
        if engine == "sglang" and "speculative_algorithm" in self._info:
            algorithm = self._info["speculative_algorithm"]
            return algorithm not in (None, "", "NONE")
        if engine == "vllm" and self._metrics(_VLLM):
            return self._metrics(_VLLM_DRAFTING)
        if engine == "trtllm" and self._metrics(("trtllm_speculative_config_info",)):
            return True  # that it is missing proves nothing: the page comes with an option, and older ones lack it
        return None

    def _vllm(self, part: str) -> dict[str, JsonValue]:
        return _mapping(_mapping(self._info.get("vllm_config")).get(part))

    def _overrides(self) -> dict[str, JsonValue]:
        return _mapping(self._vllm("model_config").get("hf_overrides"))

    def _defaults(self, engine: Engine) -> dict[str, JsonValue]:
        settings = _mapping(_mapping(self._props.get("default_generation_settings")).get("params"))
        if engine == "vllm":  # it does not tell what generation_config.json of the checkpoint adds: preflight probes
            settings = _mapping(self._vllm("model_config").get("override_generation_config"))
        neutral = dialect_for(engine).neutral
        return {name: value for name, value in settings.items() if name in neutral and value != neutral[name]}


def _mapping(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _entries(value: JsonValue, key: str) -> list[dict[str, JsonValue]]:
    return [entry for entry in _list(_mapping(value).get(key)) if isinstance(entry, dict)]


def _listing(names: tuple[str, ...]) -> str:
    shown = ", ".join(quoted(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _said(page: Page) -> str:
    try:
        return error_message(decode(page.body, _LIMITS))
    except BadReplyError:
        return page.body.decode("utf-8", "replace")
