"""What a person writes into ``specfuzz.toml``: variables of the environment, and endpoints as tables of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.errors import UsageError

ROLES = ("candidate", "reference")
FIELDS = ("name", "url", "model", "api_key_env", "headers", "engine", "lm_head", "ca_file")
_EXAMPLE = '[candidate] with url = "http://127.0.0.1:8001" below it'
_VARIABLE = re.compile(r"\$(?:\$|\{([^}]*)\}?)")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class EndpointTable:
    """One endpoint as a table gives it; what it does not say is None, and then the run's own option holds."""

    name: str
    url: str
    model: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    engine: str | None = None
    lm_head: str | None = None
    ca_file: str | None = None


def substituted(value: object, where: str) -> object:
    """The value with ``${VAR}`` in its texts replaced from the environment; ``$$`` stands for a dollar sign.

    Raises UsageError, which names the variable and never what another one holds, if it is not set.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found, where), value)
    if isinstance(value, Mapping):
        return {key: substituted(each, f"{where}.{key}" if where else str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [substituted(each, where) for each in value]
    return value


def _variable(found: re.Match[str], where: str) -> str:
    if found[0] == "$$":
        return "$"
    name = found[1] or ""
    if not _VARIABLE_NAME.fullmatch(name) or not found[0].endswith("}"):
        raise UsageError(f"--config: {where}: {found[0]!r} is no variable; write ${{NAME}}, or $$ for a dollar sign")
    if name not in os.environ:
        raise UsageError(f"--config: {where}: the environment variable {name} is not set")
    return os.environ[name]


def tables(role: str, value: object) -> list[EndpointTable] | None:
    """The endpoints of a role where they are written as tables, else None.

    ``[candidate]`` is the only one; ``[candidate.fp8]`` has a name; of ``[[candidate]]`` each may have one.
    """
    if isinstance(value, Mapping):
        return list(_named(role, value))
    if isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(each, Mapping) for each in value):
        return [_table(role, role, each) for each in value]
    return None


def _named(role: str, value: Mapping[str, object]) -> Iterator[EndpointTable]:
    if any(not isinstance(each, Mapping) for name, each in value.items() if name != "headers") or "url" in value:
        yield _table(role, role, value)
        return
    for name, each in value.items():
        yield _table(role, name, each)


def _table(role: str, name: str, value: object) -> EndpointTable:
    if not isinstance(value, Mapping):
        raise UsageError(f"--config: {role}: write every endpoint as a table: {_EXAMPLE}")
    fields = {str(key).replace("-", "_"): each for key, each in value.items()}
    where = f"{role}.{name}" if name != role else role
    for key, each in fields.items():
        if key not in FIELDS:
            raise UsageError(f"--config: {where}: unknown key {key!r}; known are {', '.join(FIELDS)}")
        if key != "headers" and not isinstance(each, str):
            raise UsageError(f"--config: {where}: {key} must be a text, not {each!r}")
    if "url" not in fields:
        raise UsageError(f"--config: {where}: url is missing; write {_EXAMPLE}")
    headers = fields.pop("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(each, str) for each in headers.values()):
        raise UsageError(f'--config: {where}: headers must be a table of texts, for example {{ X-Team = "serving" }}')
    texts = {key: str(each) for key, each in fields.items()}
    return EndpointTable(**{"name": name, **texts}, headers=dict(headers))
