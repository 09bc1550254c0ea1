"""Documents that are translated in the background: their clients ask how far they are, and fetch them when done."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from headwise.serve.clients import Client
from headwise.serve.http.edge import log_failure
from headwise.serve.service import Service
from headwise.serve.service_errors import InternalError, ServiceError, UnavailableError, UnknownPageError
from headwise.serve.settings import MEGABYTE
from headwise.serve.translate_request import RequestOptions

MOST = 1_000
"""Documents that are remembered at a time, finished ones included."""

Status = Literal["queued", "translating", "done", "error"]


@dataclass
class DocumentJob:
    """One document on its way."""

    id: str
    key: str
    """Whoever knows it may ask for the document."""
    ends: float
    """When it is forgotten."""
    size: int
    """Bytes that it holds in memory."""
    status: Status = "queued"
    characters: int = 0
    error: str = ""
    result: bytes = b""
    suffix: str = ""
    task: asyncio.Task[None] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class UploadedDocument:
    """What a client wants to be translated."""

    data: bytes
    name: str
    source: str
    target: str
    options: RequestOptions


class DocumentJobs:
    """The jobs of one server. They are in its memory: several servers need a balancer that keeps clients apart."""

    def __init__(self, service: Service, now: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._now = now
        self._jobs: dict[str, DocumentJob] = {}

    def start(self, document: UploadedDocument, client: Client) -> DocumentJob:
        """Begin to translate a document."""
        self._forget_old()
        settings = self._service.settings
        held = sum(job.size for job in self._jobs.values()) + len(document.data)
        if len(self._jobs) >= MOST or held > settings.files_total * MEGABYTE:
            raise UnavailableError("too many documents wait to be translated or downloaded", retry_after=60.0)
        ends = self._now() + settings.timeout + settings.file_life
        job = DocumentJob(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), ends, len(document.data))
        self._jobs[job.id] = job
        job.task = asyncio.create_task(self._translate(job, document, client))
        return job

    def get(self, id: str, key: str) -> DocumentJob:
        """The job of an id; only with its key."""
        self._forget_old()
        job = self._jobs.get(id)
        if job is None or not hmac.compare_digest(job.key.encode(), key.encode("utf-8", "surrogatepass")):
            raise UnknownPageError("there is no such document, or it has expired")
        return job

    def take(self, id: str, key: str) -> DocumentJob:
        """A finished job, which is then forgotten: a document can be downloaded once."""
        job = self.get(id, key)
        if job.status == "error":
            raise UnknownPageError("the document could not be translated: ask for its status")
        if job.status != "done":
            raise UnavailableError("the document is not ready yet", retry_after=1.0)
        del self._jobs[id]
        return job

    async def close(self) -> None:
        """Cancel what still runs."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        self._jobs.clear()

    async def _translate(self, job: DocumentJob, document: UploadedDocument, client: Client) -> None:
        def count(characters: int) -> None:
            job.status, job.characters = "translating", characters
            self._service.quota.check(client.key, characters)

        try:
            job.result, job.suffix = await self._service.documents.translate_file(
                document.data, document.name, document.source, document.target, document.options, client, count
            )
            self._service.quota.add(client.key, job.characters)
            job.status, job.size = "done", len(job.result)
        except ServiceError as error:
            job.status, job.size, job.error = "error", 0, str(error)
        except Exception as error:  # a bug must be seen by the client, who asks for the status
            log_failure("a document failed: ", error, log_texts=self._service.settings.log_texts)
            job.status, job.size, job.error = "error", 0, str(InternalError("the server failed: see its log"))
        job.ends = self._now() + self._service.settings.file_life

    def _forget_old(self) -> None:
        now = self._now()
        for id in [id for id, job in self._jobs.items() if job.ends <= now]:
            job = self._jobs.pop(id)
            if job.task is not None:
                job.task.cancel()
