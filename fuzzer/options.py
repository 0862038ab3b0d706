"""From what a person wrote (command line, ``specfuzz.toml``) to a plan; a mistake names the field and an example."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import ValidationError

from fuzzer.configuration import EndpointTable, substituted, tables
from fuzzer.errors import UsageError
from fuzzer.plan import LADDER, Endpoint, Engine, Plan, Policy, Sampling, ScheduleName, Thinking, Waiver

Options = Mapping[str, object]
T = TypeVar("T")
Name = TypeVar("Name", bound=str)
V = TypeVar("V", int, float)

LISTS = ("candidate", "reference", "lm_head", "corpus", "family", "schedule", "header")
KEYS = {
    *LISTS,
    "concurrency",
    "ladder",
    "requests",
    "max_wrong_rate",
    "confidence",
    "control_requests",
    "early_stop",
    "budget",
    "seed",
    "max_tokens",
    "thinking",
    "stream",
    "timeout",
    "cache",
    "model",
    "reference_model",
    "api_key_env",
    "reference_api_key_env",
    "engine",
    "require_speculation",
    "waivers",
    "ca_file",
    "wait_ready",
    "redact_content",
    "pad",
    "fuzz",
    "weave",
    "p50_concurrency",
    "speed_temperature",
}
SOAK = "soak"  # a table of its own in the file, which only ``specfuzz soak`` reads
HEADS = ("fp32", "bf16", "fp16", "fp8", "nvfp4", "w4a16")
ALIASES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_UNITS = {"s": 1, "m": 60, "h": 3600}


def read_config(path: Path) -> dict[str, object]:
    """The options in a TOML file; keys are the long options' names, with ``-`` or ``_``.

    ``${VAR}`` in a text is replaced from the environment; endpoints may be tables (see ``configuration``).
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config: cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config: {path} is not valid TOML: {error}") from None
    options = {key.replace("-", "_"): value for key, value in table.items()}
    for key in options:
        if key not in KEYS and not (key == SOAK and isinstance(options[key], dict)):
            raise UsageError(f"--config: {path}: unknown key {key!r}; known are {', '.join(sorted(KEYS))}")
    return {key: substituted(value, key) for key, value in options.items()}


def build_plan(given: Options, config: Options | None = None) -> Plan:
    """The plan; what is given on the command line (not None, not empty) wins over the config file."""
    options = {**(config or {}), **{key: value for key, value in given.items() if value not in (None, [], ())}}
    heads = _heads(options)
    candidates = _endpoints(options, "candidate", heads)
    references = _endpoints(options, "reference", heads)
    if not candidates:
        raise UsageError("--candidate: at least one is needed, for example --candidate http://127.0.0.1:8000")
    known = {f"candidate:{endpoint.name}" for endpoint in candidates}
    known |= {f"reference:{endpoint.name}" for endpoint in references}
    for name in heads:
        if name not in known and f"candidate:{name}" not in known:
            listed = ", ".join(sorted(endpoint.name for endpoint in candidates))
            raise UsageError(
                f"--lm-head: there is no candidate {name!r}; known are {listed} (or reference:NAME=PRECISION)"
            )
    try:
        return Plan(
            candidates=candidates,
            references=references,
            concurrency=_levels(options),
            schedules=_schedules(options),
            families=_names(options, "family"),
            corpora=tuple(texts(options, "corpus")),
            weave=_flag(options, "weave", True),
            pad=_maybe(options, "pad", integer, 2000),
            fuzz=integer(options, "fuzz", 0),
            seed=integer(options, "seed", 0),
            sampling=_sampling(options),
            policy=_policy(options),
            budget_seconds=duration(options, "budget"),
            redact_content=_flag(options, "redact_content", False),
            waivers=_waivers(options),
            wait_ready=duration(options, "wait_ready") or 0.0,
            p50_concurrency=_maybe(options, "p50_concurrency", integer, 8),
            speed_temperature=_maybe(options, "speed_temperature", _number, 0.7),
        )
    except ValidationError as error:
        raise UsageError(explain(error)) from None


def explain(error: ValidationError) -> str:
    """The first complaint of a validation, in one line: which field, what is wrong."""
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    option = "--" + where.split(".")[-1].replace("_", "-") if where else ""
    return f"{option}: {message}" if option else message


def _endpoints(options: Options, role: str, heads: Mapping[str, str]) -> tuple[Endpoint, ...]:
    prefix = "reference_" if role == "reference" else ""
    model = options.get(f"{prefix}model") or (options.get("model") if role == "reference" else None)
    endpoints = []
    for given in _given(options, role):
        precision = heads.get(f"{role}:{given.name}", heads.get(given.name)) or _precision(given)
        shared = header_table(texts(options, "header"))
        own = header_table([f"{key}={value}" for key, value in given.headers.items()])
        try:
            endpoints.append(
                Endpoint(
                    name=given.name,
                    url=given.url,
                    model=given.model or (str(model) if model else None),
                    api_key_env=given.api_key_env or _key_variable(options, role),
                    headers={**shared, **own},
                    engine=_engine({"engine": given.engine} if given.engine else options),
                    lm_head=precision,
                    ca_file=given.ca_file or _text(options, "ca_file"),
                )
            )
        except ValidationError as error:
            raise UsageError(explain(error).replace("--url", f"--{role}")) from None
    return tuple(endpoints)


def _given(options: Options, role: str) -> list[EndpointTable]:
    listed = tables(role, options.get(role))
    if listed is None:
        return [EndpointTable(*_named(text, role)) for text in texts(options, role)]
    for table in listed:
        if not _NAME.fullmatch(table.name):
            raise UsageError(f"--config: {table.name!r} is no name; write for example [{role}.fp8]")
    return listed


def _precision(given: EndpointTable) -> str | None:
    if given.lm_head is None:
        return None
    return next(iter(_heads({"lm_head": f"{given.name}={given.lm_head}"}).values()))


def _key_variable(options: Options, role: str) -> str | None:
    own = options.get("reference_api_key_env") if role == "reference" else options.get("api_key_env")
    value = own or options.get("api_key_env")
    return str(value) if value else None


def _named(text: str, role: str) -> tuple[str, str]:
    name, sign, url = text.partition("=")
    if sign and "://" not in name and "/" not in name:
        if not _NAME.fullmatch(name):
            raise UsageError(f"--{role}: {name!r} is no name; write for example --{role} fp8=http://127.0.0.1:8000")
        return name, url
    return role, text


def _heads(options: Options) -> dict[str, str]:
    heads: dict[str, str] = {}
    for text in texts(options, "lm_head"):
        name, sign, precision = text.partition("=")
        if not sign or not precision or not _NAME.fullmatch(precision):
            raise UsageError(
                f"--lm-head: {text!r} names no precision; write NAME=PRECISION, PRECISION e.g. {', '.join(HEADS)}"
            )
        heads[name] = ALIASES.get(precision.lower(), precision.lower())
    return heads


def header_table(texts: Sequence[str]) -> dict[str, str]:
    """Headers from KEY=VALUE texts."""
    headers = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not re.fullmatch(r"[A-Za-z0-9-]+", key) or not value.isprintable():
            raise UsageError("--header: write it as KEY=VALUE, for example --header X-Team=serving")
        headers[key] = value
    return headers


def _engine(options: Options) -> Engine:
    return _choice(options, "engine", get_args(Engine), "auto")


def _sampling(options: Options) -> Sampling:
    thinking: Thinking = _choice(options, "thinking", get_args(Thinking), "auto")
    cache = _choice(options, "cache", ("warm", "cold"), "warm")
    tokens = options.get("max_tokens")
    return Sampling.model_validate(
        {
            "max_tokens": None if tokens is None else integer(options, "max_tokens", 256),
            "thinking": thinking,
            "stream": _flag(options, "stream", True),
            "timeout": _number(options, "timeout", 120.0),
            "cache": cache,
        }
    )


def _policy(options: Options) -> Policy:
    requests = options.get("requests")
    return Policy.model_validate(
        {
            "max_wrong_rate": _share(options, "max_wrong_rate", 0.01),
            "confidence": _share(options, "confidence", 0.95),
            "requests": None if requests is None else integer(options, "requests", 1),
            "control_requests": integer(options, "control_requests", 60),
            "early_stop": _flag(options, "early_stop", True),
            "require_speculation": _flag(options, "require_speculation", True),
        }
    )


def _levels(options: Options) -> tuple[int, ...]:
    if _flag(options, "ladder", False):
        if options.get("concurrency") is not None:
            raise UsageError("--ladder and --concurrency exclude each other; --ladder is " + ",".join(map(str, LADDER)))
        return LADDER
    value = options.get("concurrency", "1,8")
    parts = (
        [str(part) for part in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value).split(",")
    )
    levels = []
    for part in parts:
        if not part.strip().isdecimal() or not 1 <= int(part) <= 1024:
            raise UsageError(
                f"--concurrency: {part.strip()!r} is no level from 1 to 1024; write for example --concurrency 1,8"
            )
        levels.append(int(part))
    return tuple(levels)


def _schedules(options: Options) -> tuple[ScheduleName, ...]:
    names = _names(options, "schedule") or ("closed-loop", "burst-solo")
    known: tuple[ScheduleName, ...] = get_args(ScheduleName)
    if names == ("all",):
        return known
    for name in names:
        if name not in known:
            raise UsageError(f"--schedule: unknown schedule {name!r}; known are all, {', '.join(known)}")
    return tuple(name for wanted in names for name in known if name == wanted)


def _names(options: Options, key: str) -> tuple[str, ...]:
    names = [name.strip() for text in texts(options, key) for name in text.split(",")]
    if "" in names:
        raise UsageError(f"--{key}: a name is empty; write for example --{key} NAME,NAME")
    return tuple(names)


def texts(options: Options, key: str) -> list[str]:
    """A text, or a list of them. UsageError for anything else."""
    value = options.get(key)
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, Sequence) or not all(isinstance(item, str) for item in values):
        raise UsageError(f"{key}: must be a text or a list of texts, not {value!r}")
    return list(values)


def _choice(options: Options, key: str, known: tuple[Name, ...], default: Name) -> Name:
    value = options.get(key, default)
    for name in known:
        if name == value:
            return name
    raise UsageError(f"--{key.replace('_', '-')}: {value!r} is not known; choose from {', '.join(known)}")


def _flag(options: Options, key: str, default: bool) -> bool:
    value = options.get(key, default)
    if not isinstance(value, bool):
        raise UsageError(f"{key}: must be true or false, not {value!r}")
    return value


def _convert(key: str, value: object, convert: Callable[[str], T], example: str) -> T:
    try:
        return convert(str(value))
    except ValueError:
        raise UsageError(
            f"--{key.replace('_', '-')}: {value!r} is not understood; write for example {example}"
        ) from None


def integer(options: Options, key: str, default: int) -> int:
    """A whole number; ``default`` where it is not given. UsageError for anything else."""
    return _convert(key, options.get(key, default), int, f"--{key.replace('_', '-')} {default}")


def _number(options: Options, key: str, default: float) -> float:
    return _convert(key, options.get(key, default), float, f"--{key.replace('_', '-')} {default:g}")


def _maybe(options: Options, key: str, read: Callable[[Options, str, V], V], example: V) -> V | None:
    return None if options.get(key) is None else read(options, key, example)


def _share(options: Options, key: str, default: float) -> float:
    value = str(options.get(key, default)).strip()
    number = _convert(key, value.removesuffix("%"), float, f"--{key.replace('_', '-')} {default:.0%}")
    return number / 100 if value.endswith("%") else number


def _text(options: Options, key: str) -> str | None:
    value = options.get(key)
    return None if value is None else str(value)


def duration(options: Options, key: str) -> float | None:
    """Seconds, from a text such as 90s, 20m or 8h; None where it is not given. UsageError for anything else."""
    value = options.get(key)
    if value is None:
        return None
    text, option = str(value).strip(), f"--{key.replace('_', '-')}"
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{option}: {text!r} is not understood; write for example {option} 20m")
    return float(match[1]) * _UNITS[match[2] or "s"]


def _waivers(options: Options) -> tuple[Waiver, ...]:
    path = options.get("waivers")
    if path is None:
        return ()
    example = "an entry has three lines below [[waiver]]: key = ..., reason = ..., expires = 2027-01-31"
    try:
        table = tomllib.loads(Path(str(path)).read_text(encoding="utf-8"))
        rows = table.get("waiver", [])
        if set(table) != {"waiver"} or not isinstance(rows, list) or not rows:
            raise UsageError(f"--waivers: {path} holds no [[waiver]], or other things besides; {example}")
        return tuple(Waiver.model_validate(row) for row in rows)
    except OSError as error:
        raise UsageError(f"--waivers: cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--waivers: {path} is not valid TOML: {error}; {example}") from None
    except ValidationError as error:
        raise UsageError(f"--waivers: {path}: {explain(error).removeprefix('--')}; {example}") from None
