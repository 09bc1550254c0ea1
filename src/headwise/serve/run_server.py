"""Running the server: the socket, the log, and the drain after a signal."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from headwise.errors import ConfigError
from headwise.serve.app import make_app
from headwise.serve.http.connection import deadline_protocol
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings

LOG = logging.getLogger("headwise.serve")


class DrainingServer(uvicorn.Server):
    """A server that drains: after a signal it finishes what it has and refuses new requests; a second one ends it."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._until = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain: the socket stays open, so that new requests are told to go elsewhere (503)."""
        if self._service.draining:
            self.force_exit = self.should_exit = True
            return
        seconds = self._service.settings.drain
        LOG.info("draining: requests that run are finished, for %g seconds at most", seconds)
        self._until = time.monotonic() + seconds
        self._service.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times per second, whether the server is to end: when nothing runs any more, or the time is up."""
        if self._service.draining and (not self.server_state.tasks or time.monotonic() >= self._until):
            self.should_exit = True
        return await super().on_tick(counter)


def run_server(settings: ServeSettings, say: Callable[[str], None] = lambda text: None) -> None:
    """Serve until a signal ends it."""
    logging.basicConfig(
        level=settings.log.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr, force=True
    )
    service = Service(settings)
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    config = uvicorn.Config(
        make_app(service),
        http=deadline_protocol(settings.header_timeout, settings.connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        log_level="warning",
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )
    directions, models = len(service.catalogue.directions), len(service.catalogue.models)
    say(f"serving {_counted(directions, 'direction')} of {_counted(models, 'model')} on http://{address}")
    with contextlib.closing(listening), contextlib.suppress(KeyboardInterrupt):
        DrainingServer(config, service).run([listening])


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listen(settings: ServeSettings) -> socket.socket:
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]  # Python adds the address
        raise ConfigError(
            f"cannot listen on {settings.host}, port {settings.port}: {reason}: choose another --host or --port"
        ) from None
    return listening
