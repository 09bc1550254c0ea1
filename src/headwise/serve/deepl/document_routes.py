"""Routes of DeepL's documents: upload, status, download."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.documents.formats.format_table import output_suffix
from headwise.serve.deepl.deepl_key import deepl_key
from headwise.serve.deepl.document_jobs import DocumentJobs, UploadedDocument
from headwise.serve.deepl.glossary_routes import glossary_terms
from headwise.serve.deepl.translate_fields import check_formality, languages
from headwise.serve.http.answers import json_answer
from headwise.serve.http.gate import Gate
from headwise.serve.http.given_fields import read_fields
from headwise.serve.service import Service
from headwise.serve.service_errors import ForbiddenError, InvalidRequestError, TooLargeError
from headwise.serve.settings import MEGABYTE
from headwise.serve.translate_request import AUTO, RequestOptions


class DocumentRoutes:
    """Handlers of DeepL's document routes."""

    def __init__(self, service: Service, gate: Gate, jobs: DocumentJobs) -> None:
        self._service = service
        self._gate = gate
        self._jobs = jobs

    def routes(self) -> list[Route]:
        """The routes of documents."""
        return [
            Route("/v2/document", self.upload, methods=["POST"]),
            Route("/v2/document/{id}", self.status, methods=["GET", "POST"]),
            Route("/v2/document/{id}/result", self.result, methods=["GET", "POST"]),
        ]

    async def upload(self, request: Request) -> Response:
        """POST /v2/document"""
        service, settings = self._service, self._service.settings
        if not settings.files:
            raise ForbiddenError("Documents are not translated on this server.")
        client = self._gate.admit(request, deepl_key(request))
        fields = await read_fields(request, settings, files=True)
        service.check_open()
        if "file" not in fields.files:
            raise InvalidRequestError("Parameter 'file' not specified.")
        name, data = fields.files["file"]
        name = fields.text("filename", name or "")
        options = RequestOptions(columns=fields.names("columns"))
        service.documents.check_name(name, options)
        if len(data) > settings.file_limit * MEGABYTE:
            raise TooLargeError(f"the file is larger than {settings.file_limit:g} MB")
        source, target = languages(fields)
        check_formality(fields)
        service.catalogue.code(target)
        if source != AUTO:
            service.steps(source, target, RequestOptions())
        _check_output(name, fields.text("output_format", ""))
        options = replace(options, glossary=glossary_terms(service, client, fields, source, target))
        service.quota.check(client.key, 1)
        job = self._jobs.start(UploadedDocument(data, name, source, target, options), client)
        return json_answer({"document_id": job.id, "document_key": job.key})

    async def status(self, request: Request) -> Response:
        """POST /v2/document/ID"""
        job = self._jobs.get(*await self._handle(request))
        answer: dict[str, Any] = {"document_id": job.id, "status": job.status}
        if job.status == "translating":
            answer["seconds_remaining"] = 1
        elif job.status == "done":
            answer["billed_characters"] = job.characters
        elif job.status == "error":
            answer["error_message"] = job.error
        return json_answer(answer)

    async def result(self, request: Request) -> Response:
        """POST /v2/document/ID/result"""
        job = self._jobs.take(*await self._handle(request))
        disposition = f'attachment; filename="translation{job.suffix}"'
        return Response(job.result, media_type="application/octet-stream", headers={"Content-Disposition": disposition})

    async def _handle(self, request: Request) -> tuple[str, str]:
        """The id and the key of the document that a request is about."""
        self._gate.admit(request, deepl_key(request))
        fields = await read_fields(request, self._service.settings)
        return request.path_params["id"], fields.text("document_key")


def _check_output(name: str, wanted: str) -> None:
    """Refuse an output format that is another than the document's."""
    made = output_suffix(f"document{PurePath(name).suffix.lower()}").removeprefix(".")
    if wanted and wanted.lower().removeprefix(".") != made:
        raise InvalidRequestError(f"Value for 'output_format' not supported: this document becomes {made}.")
