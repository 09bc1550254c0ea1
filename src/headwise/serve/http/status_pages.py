"""Pages about the server itself: health, readiness, metrics."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.serve.http.answers import json_answer
from headwise.serve.service import Service


class StatusPages:
    """Handlers of /health, /ready and /metrics."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """The routes, none of which needs a key."""
        return [
            Route("/health", self.health, methods=["GET"]),
            Route("/ready", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def health(self, request: Request) -> Response:
        """Whether the server runs: it answers, so it does."""
        return json_answer({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether it can translate now; a load balancer asks here."""
        ready = self._service.ready
        return json_answer({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        """Counters in Prometheus' text format."""
        text = self._service.counters.text(self._service.gauges)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
