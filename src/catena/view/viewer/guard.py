"""Who may see and move what the server shows: pages that it has served itself, to a browser on this machine.

A page of anybody else that is open in the same browser can talk to any port of the machine. Browsers say where such a
page is from (`Origin`), and under which name they have found the machine (`Host`), which a stranger can have led to
this machine too; viser asks for neither.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

# names of this machine that nobody else can have
_NAMES = ("127.0.0.1", "localhost", "::1")

_alone = threading.Lock()


def refusal(host: str | None, origin: str | None, is_socket: bool) -> str:
    """Why a request is refused, in a sentence; empty if it is not.

    Ports are compared with each other, not with the server's: a tunnel may end at another one.
    """
    try:
        name = urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        name = None
    if name not in _NAMES:
        return (
            f"This view is available on its own machine, as {' or '.join(_NAMES[:2])}, not as {host or 'nobody'!r:.80}."
        )
    if (is_socket or origin is not None) and origin != f"http://{host}":
        return f"This view accepts only its own page, http://{host}, not one of {origin or 'nobody'!r:.80}."
    return ""


def guarded(make: Callable[[], Any]) -> Any:
    """The server of viser that a function makes, which refuses strangers from its first moment on.

    Viser leaves no room for that, so what it starts its server with is replaced as long as it is made.
    """
    inside: Any = import_module("viser.infra._infra")
    with _alone:
        real = inside.websockets
        starts = _Starts(real.asyncio.server.serve)
        inside.websockets = _like(real, asyncio=_like(real.asyncio, server=_like(real.asyncio.server, serve=starts)))
        try:
            server = make()
        finally:
            inside.websockets = real
    if not starts.count:
        server.stop()
        raise ImportError("this viser starts its server in a way that catena cannot guard: pip install viser==1.1.1")
    return server


def _like(module: Any, **changed: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(module), **changed})


class _Starts:
    """Starts a server that asks who is there before it does anything else."""

    def __init__(self, serve: Callable[..., Any]) -> None:
        self._serve = serve
        self.count = 0

    def __call__(self, *args: Any, process_request: Callable[[Any, Any], Any], **options: Any) -> Any:
        self.count += 1

        def asked(connection: Any, request: Any) -> Any:
            headers = request.headers
            # one that is there twice is there for somebody who reads the other
            host, origin = (headers.get_all(name) for name in ("Host", "Origin"))
            is_socket = bool(headers.get_all("Upgrade"))
            why = refusal(",".join(host) or None, ",".join(origin) if origin else None, is_socket)
            return connection.respond(HTTPStatus.FORBIDDEN, why + "\n") if why else process_request(connection, request)

        return self._serve(*args, process_request=asked, **options)
