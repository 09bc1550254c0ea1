"""A translator for the document layer whose sentences are translated by the server's workers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from headwise.decode.translation import TranslateOptions, Translation
from headwise.serve.clients import Client
from headwise.serve.service_errors import UnavailableError
from headwise.serve.translate_request import RequestOptions
from headwise.text.language.codes import Direction, short_code

if TYPE_CHECKING:
    from headwise.serve.service import Service

T = TypeVar("T")


class RemoteTranslator:
    """Used in a thread: `translate` waits there for the event loop. `cancel` ends the wait."""

    def __init__(
        self, service: Service, loop: asyncio.AbstractEventLoop, options: RequestOptions, client: Client
    ) -> None:
        self._service = service
        self._loop = loop
        self._options = replace(options, format="text")
        self._client = client
        self._waiting: Future[Any] | None = None
        self._cancelled = False

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction of these languages, by short codes."""
        return short_code(source or ""), short_code(target or "")

    def translate(
        self,
        texts: Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        options: TranslateOptions | None = None,
    ) -> list[Translation]:
        """Translate texts. Of `options`, only `alignments` counts: the request has its own."""
        chosen = replace(self._options, alignments=options is not None and options.alignments)
        steps = self._service.steps(source or "", target or "", chosen)
        return self._wait(self._service.translate_plain(list(texts), steps, chosen, self._client.id))

    def language_of(self, texts: Sequence[str], target: str) -> str:
        """The language that the texts of a document are in."""
        [found] = self._wait(self._service.detect_source(["\n".join(texts)], short_code(target)))
        return found.language

    def cancel(self) -> None:
        """End the current wait, and refuse any other."""
        self._cancelled = True
        if self._waiting is not None:
            self._waiting.cancel()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._cancelled or self._loop.is_closed():
            work.close()
            raise UnavailableError("the request was cancelled")
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._waiting = waiting
        if self._cancelled:  # meanwhile
            waiting.cancel()
        return waiting.result()
