"""What a request asks for beside its messages: functions to call, a schema to hold to, thinking.

Chat templates write such things into the prompt; here they become messages with roles of their own before the chat, so
that they count as prompt tokens and the model can read them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

FUNCTIONS, SCHEMA, THINKING = "functions", "schema", "thinking"

Messages = tuple[tuple[str, str], ...]


class WantError(Exception):
    """What is asked for is not understood; ``param`` is the field that is wrong."""

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param


class Wanted(NamedTuple):
    """What was asked for, read from the prompt: functions by name with their parameters' schema, and the rest."""

    functions: dict[str, dict[str, Any]]
    must_call: bool = False
    schema: dict[str, Any] | None = None
    thinks: bool = False


def rendered(fields: dict[str, Any]) -> Messages:
    """The messages that stand before the chat; WantError where a field is malformed."""
    functions, must_call = _functions(fields)
    schema = _schema(fields)
    kwargs = fields.get("chat_template_kwargs")
    thinks = isinstance(kwargs, dict) and kwargs.get("enable_thinking") is True
    told = []
    if functions:
        told.append((FUNCTIONS, json.dumps({"offered": functions, "must_call": must_call})))
    if schema is not None:
        told.append((SCHEMA, json.dumps(schema)))
    if thinks:
        told.append((THINKING, "on"))
    return tuple(told)


def read(messages: Messages) -> tuple[Wanted, Messages]:
    """What a prompt asks for beside its chat, and the chat alone."""
    told = {role: content for role, content in messages if role in (FUNCTIONS, SCHEMA, THINKING)}
    offer: dict[str, Any] = json.loads(told.get(FUNCTIONS, '{"offered": [], "must_call": false}'))
    wanted = Wanted(
        functions={each["name"]: each.get("parameters") or {} for each in offer["offered"]},
        must_call=offer["must_call"],
        schema=json.loads(told[SCHEMA]) if SCHEMA in told else None,
        thinks=THINKING in told,
    )
    return wanted, tuple(each for each in messages if each[0] not in told)


def with_calls(content: str, message: dict[str, Any]) -> str:
    """An assistant's message with its calls written out, as a chat template does."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return content
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise WantError("tool_calls: each should have a function with a name", "messages")
        arguments = function.get("arguments") or "{}"
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments)
        content += f'\n<tool_call>\n{{"name": {json.dumps(function["name"])}, "arguments": {shown}}}\n</tool_call>'
    return content


def _functions(fields: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """The functions on offer, and whether one must be called."""
    tools, choice = fields.get("tools"), fields.get("tool_choice", "auto")
    if tools is None:
        if choice not in ("auto", "none", None):
            raise WantError("When using `tool_choice`, `tools` must be set.", "tool_choice")
        return [], False
    if not isinstance(tools, list) or not tools:
        raise WantError("`tools` must not be an empty array.", "tools")
    functions = [_function(tool) for tool in tools]
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name") if isinstance(choice.get("function"), dict) else None
        functions = [each for each in functions if each["name"] == name]
        if not functions:
            raise WantError("The tool specified in `tool_choice` does not match any of the specified `tools`.", "tools")
        return functions, True
    if choice not in ("auto", "required", "none", None):
        raise WantError(f"Invalid value for `tool_choice`: {choice!r}", "tool_choice")
    return ([] if choice == "none" else functions), choice == "required"


def _function(tool: object) -> dict[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise WantError("tools: each should be a function with a name", "tools")
    if not isinstance(function.get("parameters") or {}, dict):
        raise WantError("tools: parameters should be a JSON Schema", "tools")
    return function


def _schema(fields: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of structured output, in whichever of the forms in use."""
    form = fields.get("response_format") or {}
    outputs = fields.get("structured_outputs") or {}
    if not isinstance(form, dict) or not isinstance(outputs, dict):
        raise WantError("response_format: Input should be a valid dictionary", "response_format")
    kind, schema = form.get("type", "text"), fields.get("json_schema", outputs.get("json"))
    if kind == "json_schema":
        wrapper = form.get("json_schema")
        schema = wrapper.get("schema") if isinstance(wrapper, dict) else None
        if schema is None:
            raise WantError("response_format.type=json_schema needs json_schema.schema", "response_format")
    elif kind == "json_object":
        schema = {"type": "object"}
    elif kind != "text":
        raise WantError(f"response_format.type: {kind!r} is unknown", "response_format")
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise WantError(f"structured_outputs.json: {error}", "structured_outputs") from error
    if schema is not None and not isinstance(schema, dict):
        raise WantError("the JSON Schema should be an object", "response_format")
    return schema
