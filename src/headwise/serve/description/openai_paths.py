"""Paths of OpenAI's API."""

from __future__ import annotations

from headwise.serve.description.schema_parts import (
    ANYTHING,
    FLAG,
    NUMBER,
    STRING,
    TEXT,
    WHOLE,
    Schema,
    between,
    choice,
    fields,
    listed,
    maybe,
    one_or_list,
    operation,
    path_parameter,
)
from headwise.serve.settings import ServeSettings

ERROR = "OpenAIError"
ERRORS = (400, 401, 404, 408, 413, 429, 503)
MODEL = fields({"id": STRING, "object": choice("model"), "created": WHOLE, "owned_by": STRING})
USAGE = fields({"prompt_tokens": WHOLE, "total_tokens": WHOLE}, {"completion_tokens": WHOLE})
SAMPLING: Schema = {
    "temperature": maybe({"type": "number", "minimum": 0, "maximum": 2}),
    "top_p": maybe({"type": "number", "minimum": 0, "maximum": 1}),
    "seed": maybe(WHOLE),
    "stop": maybe(one_or_list(STRING)),
    "stream": maybe(FLAG),
    "stream_options": maybe(fields({}, {"include_usage": maybe(FLAG)})),
}
PIECES = {"text/event-stream": STRING}


def openai_paths(settings: ServeSettings) -> Schema:
    """The paths by their templates, with the limits of the server."""
    tokens = maybe(between(1, settings.tokens_limit))
    sampling = {**SAMPLING, "max_tokens": tokens, "n": maybe(between(1, settings.choices_limit))}
    content = {"anyOf": [STRING, listed(fields({"text": STRING}))]}
    message = fields({"role": choice("system", "developer", "user", "assistant"), "content": content})
    messages = {"type": "array", "items": message, "minItems": 1}
    return {
        "/v1/models": {
            "get": operation(
                "All models", fields({"object": choice("list"), "data": listed(MODEL)}), ERROR, errors=(401, 429)
            )
        },
        "/v1/models/{name}": {
            "get": operation(
                "A model",
                MODEL,
                ERROR,
                errors=(401, 404, 429),
                parameters=[path_parameter("name", "The model's name")],
            )
        },
        "/v1/completions": {
            "post": operation(
                "Continue a prompt with a language model",
                _answer({"text": STRING}),
                ERROR,
                body=fields({"model": TEXT}, {"prompt": one_or_list(STRING), **sampling}),
                errors=ERRORS,
                other_answers=PIECES,
            )
        },
        "/v1/chat/completions": {
            "post": operation(
                "Answer a chat with a language model",
                _answer({"message": fields({"role": choice("assistant"), "content": STRING})}),
                ERROR,
                body=fields({"model": TEXT, "messages": messages}, {"max_completion_tokens": tokens, **sampling}),
                errors=ERRORS,
                other_answers=PIECES,
            )
        },
        "/v1/embeddings": {"post": _embeddings()},
    }


def _answer(content: Schema) -> Schema:
    choices = fields({"index": WHOLE, **content, "finish_reason": choice("stop", "length")}, {"logprobs": ANYTHING})
    head = {"id": STRING, "object": STRING, "created": WHOLE, "model": STRING}
    return fields({**head, "choices": listed(choices), "usage": USAGE})


def _embeddings() -> Schema:
    vector = fields({"object": choice("embedding"), "index": WHOLE, "embedding": {"anyOf": [STRING, listed(NUMBER)]}})
    return operation(
        "Vectors of texts",
        fields({"object": choice("list"), "data": listed(vector), "model": STRING, "usage": USAGE}),
        ERROR,
        body=fields(
            {"model": TEXT, "input": one_or_list(STRING)},
            {"encoding_format": maybe(choice("float", "base64")), "dimensions": maybe(WHOLE)},
        ),
        errors=ERRORS,
    )
