"""Paths of Headwise's own API."""

from __future__ import annotations

from headwise.serve.description.schema_parts import (
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
    operation,
)
from headwise.serve.own.own_fields import MOST_CHOICES
from headwise.serve.settings import ServeSettings

ERROR = "HeadwiseError"
CANDIDATE = {"text": STRING, "score": NUMBER, "tokens": listed(STRING)}
MODEL = {"name": STRING, "kind": STRING, "directions": listed(listed(STRING)), "checkpoints": WHOLE}
TRANSLATION = fields(
    {"text": STRING, "source": STRING, "target": STRING, "models": listed(STRING)},
    {
        **CANDIDATE,
        "complete": FLAG,
        "alignment": listed({"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}),
        "alternatives": listed(fields({"text": STRING}, CANDIDATE)),
        "sentences": listed(fields({"source": STRING, "separator": STRING, **CANDIDATE})),
        "terms": listed(fields({"source": STRING, "requested": listed(STRING), "status": STRING})),
        "missing_numbers": listed(STRING),
        "detected": fields({"language": STRING, "probability": NUMBER}),
        "pivot": STRING,
        "corrected": FLAG,
    },
)


def own_paths(settings: ServeSettings) -> Schema:
    """The paths by their templates, with the limits of the server."""
    return {
        "/api/translate": {
            "post": operation(
                "Translate texts, with scores, tokens and, if asked for, alignments, alternatives and terms",
                fields({"translations": listed(TRANSLATION)}),
                ERROR,
                body=fields(
                    {"texts": {"type": "array", "items": STRING, "minItems": 1}, "target": TEXT},
                    {
                        "source": maybe(STRING),
                        "format": maybe(choice("text", "html", "xml")),
                        "alternatives": maybe(between(0, settings.alternatives_limit)),
                        "alignments": maybe(FLAG),
                        "beam": maybe(between(1, settings.beam_limit)),
                        "length_penalty": maybe({"type": "number", "minimum": 0, "maximum": 10}),
                        "no_repeat": maybe(between(0, 100)),
                        "glossary": maybe({"type": "object", "additionalProperties": STRING}),
                        "pivot": maybe(FLAG),
                        "model": maybe(STRING),
                        "prefix": maybe(STRING),
                        "sentences": maybe(FLAG),
                    },
                ),
            )
        },
        "/api/words": {
            "post": operation(
                "Probability of each word of a translation of one sentence; for `word`, what else might stand there",
                fields(
                    {"model": STRING},
                    {
                        "words": listed(fields({"word": STRING, "probability": NUMBER})),
                        "choices": listed(fields({"word": STRING, "probability": NUMBER, "text": STRING})),
                    },
                ),
                ERROR,
                body=fields(
                    {"text": TEXT, "translation": TEXT, "source": TEXT, "target": TEXT},
                    {"word": maybe(WHOLE), "choices": maybe(between(1, MOST_CHOICES)), "model": maybe(STRING)},
                ),
            )
        },
        "/api/models": {
            "get": operation(
                "Models, with the directions that each translates",
                fields({"models": listed(fields(MODEL))}),
                ERROR,
                errors=(403, 429),
            )
        },
    }
