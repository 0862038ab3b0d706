"""The listening socket of the simulated engine and of the gateway."""

from __future__ import annotations

import socket

from fuzzer.errors import UsageError

_BACKLOG = 2048


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """A socket that takes connections, and its URL; port 0 takes a free one.

    UsageError says that the port cannot be taken.
    """
    try:
        listener = _bound(host, port)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cannot listen on {host} port {port}: {reason}; port 0 takes a free one") from error
    return listener, f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _bound(host: str, port: int) -> socket.socket:
    known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, proto, _, address = known[0]
    listener = socket.socket(family, kind, proto)  # asyncio turns Nagle's delays off only where the protocol is named
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
