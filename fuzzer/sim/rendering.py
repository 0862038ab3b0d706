"""``POST /tokenize``: the token ids of a rendered chat, as vLLM tells them (vllm/entrypoints/serve/tokenize)."""

from __future__ import annotations

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from fuzzer.sim.engine import Engine
from fuzzer.sim.request import BadRequestError, parse_chat


class TokenizeEndpoint:
    """Renders chats and generates nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def serve(self, request: HttpRequest) -> Response:
        """Serve one request."""
        config = self._engine.config
        try:
            chat = parse_chat(await request.body(), config)
        except BadRequestError as error:
            return Response(error.body(), error.status, media_type="application/json")
        ids = self._engine.read(chat.messages).ids
        return JSONResponse({"count": len(ids), "max_model_len": config.max_model_len, "tokens": ids})
