"""Answers with generated texts: whole, or as a stream of server-sent events."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from headwise.serve.catalogue import ServedModel
from headwise.serve.openai.openai_errors import error_body
from headwise.serve.service_errors import ServiceError
from headwise.serve.text_models import TextModels, TextProgress, TextRequest


@dataclass
class TextAnswer:
    """The answer to a request for texts, which it generates one after the other."""

    models: TextModels
    model: ServedModel
    requests: Sequence[TextRequest]
    is_chat: bool
    include_usage: bool = False
    failed: ServiceError | None = None
    """The error that has ended a stream."""
    progress: list[TextProgress] = field(default_factory=list)
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))

    async def whole(self) -> dict[str, Any]:
        """The answer in one piece."""
        choices = []
        for index, request in enumerate(self.requests):
            text = "".join([piece async for piece in self._pieces(request)])
            content = {"message": {"role": "assistant", "content": text}} if self.is_chat else {"text": text}
            choices.append({"index": index, **content, "logprobs": None, "finish_reason": self.progress[-1].reason})
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": choices, "usage": self._usage()}

    async def events(self) -> AsyncGenerator[str, None]:
        """The answer as server-sent events; an error after the first is one of them."""
        try:
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    yield _event(chunk)
        except ServiceError as error:
            self.failed = error
            yield _event(error_body(error))
        else:
            yield "data: [DONE]\n\n"

    async def _chunks(self) -> AsyncGenerator[dict[str, Any], None]:
        head = self._head("chat.completion.chunk" if self.is_chat else "text_completion")
        for index, request in enumerate(self.requests):
            first: dict[str, Any] = {"role": "assistant"} if self.is_chat else {}
            async with aclosing(self._pieces(request)) as pieces:
                async for piece in pieces:
                    yield {**head, "choices": [self._choice(index, piece, first)]}
                    first = {}
            yield {**head, "choices": [self._choice(index, "", first, self.progress[-1].reason)]}
        if self.include_usage:
            yield {**head, "choices": [], "usage": self._usage()}

    def _choice(self, index: int, text: str, first: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        content = {"delta": {**first, "content": text} if text or first else {}} if self.is_chat else {"text": text}
        return {"index": index, **content, "logprobs": None, "finish_reason": reason}

    async def _pieces(self, request: TextRequest) -> AsyncGenerator[str, None]:
        self.progress.append(TextProgress())
        async with aclosing(self.models.generate(self.model, request, self.progress[-1])) as pieces:
            async for piece in pieces:
                yield piece

    def _head(self, kind: str) -> dict[str, Any]:
        prefix = "chatcmpl" if self.is_chat else "cmpl"
        return {"id": f"{prefix}-{self.id}", "object": kind, "created": self.created, "model": self.model.name}

    def _usage(self) -> dict[str, int]:
        """Tokens of the prompts, each counted once however many texts continue it, and of the texts."""
        pairs = zip(self.requests, self.progress, strict=True)
        prompts = {(each.prompt, id(each.messages)): done for each, done in pairs}
        given, made = sum(each.prompt_tokens for each in prompts.values()), sum(each.tokens for each in self.progress)
        return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _event(value: Any) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
