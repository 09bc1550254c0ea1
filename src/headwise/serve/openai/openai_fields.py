"""Fields of requests to OpenAI's API, checked against the limits of the server."""

from __future__ import annotations

import secrets
from typing import Any

from headwise.serve.http.json_object import JsonObject
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.settings import ServeSettings
from headwise.serve.text_models import TextRequest

MOST_STOPS = 4
USUAL_TOKENS = 16
"""Tokens of a completion that names no number."""
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "tools": ([],),
    "functions": ([],),
    "suffix": ("",),
    "echo": (False,),
    "best_of": (1,),
    "response_format": ({"type": "text"},),
}
"""Fields that no model here can obey, with the values that ask for nothing."""


def model_name(fields: JsonObject) -> str:
    """The name of the model."""
    found = fields.get("model", str, "the name of a model")
    if not found:
        raise InvalidRequestError("you must provide a model parameter")
    return str(found)


def include_usage(fields: JsonObject) -> bool:
    """Whether a stream ends with the numbers of tokens."""
    return JsonObject(fields.get("stream_options", dict, "an object") or {}).flag("include_usage")


def text_requests(fields: JsonObject, settings: ServeSettings) -> list[TextRequest]:
    """The texts that a completion asks for: `n` for each prompt, in order."""
    value = fields.values.get("prompt", "")
    prompts = value if isinstance(value, list) else [value]
    if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
        raise InvalidRequestError("'prompt' must be a string or a list of strings")
    if len(prompts) > settings.batch_limit:
        raise InvalidRequestError(f"'prompt' must have at most {settings.batch_limit} texts")
    most = fields.whole("max_tokens", 1, settings.tokens_limit, min(USUAL_TOKENS, settings.tokens_limit))
    requests = _requests(fields, settings, most)
    return [TextRequest(**{**vars(each), "prompt": prompt}) for prompt in prompts for each in requests]


def chat_requests(fields: JsonObject, settings: ServeSettings) -> list[TextRequest]:
    """The answers that a chat asks for."""
    listed = fields.get("messages", list, "a list of messages")
    if not listed:
        raise InvalidRequestError("'messages' must have at least one message")
    messages = tuple(_message(each) for each in listed)
    limit = settings.tokens_limit
    most = fields.whole("max_completion_tokens", 1, limit, fields.whole("max_tokens", 1, limit, limit))
    return [TextRequest(**{**vars(each), "messages": messages}) for each in _requests(fields, settings, most)]


def _requests(fields: JsonObject, settings: ServeSettings, most: int) -> list[TextRequest]:
    """`n` requests that differ by their seeds."""
    for name, nothing in UNSUPPORTED.items():
        value = fields.values.get(name)
        if value is not None and value not in nothing:
            raise InvalidRequestError(f"'{name}' is not supported by this server")
    temperature, top_p = fields.number("temperature", 2.0, 1.0), fields.number("top_p", 1.0, 1.0)
    sampling = {"temperature": temperature, "top_p": top_p} if temperature > 0 and top_p > 0 else {}
    count = fields.whole("n", 1, settings.choices_limit, 1)
    seed = fields.whole("seed", -(2**63), 2**63 - 1, secrets.randbits(32)) % 2**62
    stops = _stops(fields)
    return [TextRequest(max_tokens=most, sampling=sampling, stop=stops, seed=seed + each) for each in range(count)]


def _stops(fields: JsonObject) -> tuple[str, ...]:
    value = fields.values.get("stop")
    listed = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed) or len(listed) > MOST_STOPS:
        raise InvalidRequestError(f"'stop' must be a string or a list of at most {MOST_STOPS} strings")
    return tuple(listed)


def _message(value: Any) -> dict[str, str]:
    """A message of a chat, its text in one piece."""
    if not isinstance(value, dict) or str(value.get("role")) not in ROLES:
        raise InvalidRequestError(f"each message must be an object with a role: {', '.join(ROLES)}")
    content = value.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in content):
            raise InvalidRequestError("the parts of a message must be texts")
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise InvalidRequestError("the content of a message must be a text")
    return {"role": ROLES[value["role"]], "content": content}
