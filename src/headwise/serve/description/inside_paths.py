"""Paths of the API that shows the inside of models."""

from __future__ import annotations

from headwise.serve.description.own_paths import ERROR
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
from headwise.serve.settings import ServeSettings

KIND = choice("encoder", "decoder", "cross")
HEAD = {"kind": KIND, "layer": WHOLE, "head": WHOLE}
HEADS = listed({"type": "array", "prefixItems": [KIND, WHOLE, WHOLE], "minItems": 3, "maxItems": 3})
OBJECT: Schema = {"type": "object"}
TOKENS = listed(fields({"piece": STRING, "id": WHOLE, "word": WHOLE}))
LIKELY = listed(listed(fields({"piece": STRING, "probability": NUMBER}, {"id": WHOLE})))
ROLES = listed(fields({**HEAD, "role": STRING, "strength": NUMBER}))
LAYERS = fields({kind: listed(maybe(listed({"type": "array"}))) for kind in ("encoder", "decoder", "cross")})
SWITCHES = fields(
    {},
    {
        "positions": FLAG,
        "mask": FLAG,
        "scaling": FLAG,
        "heads_off": HEADS,
        "memory_layer": maybe(WHOLE),
        "patch": maybe(fields({"text": STRING, "heads": HEADS})),
    },
)
TRACE = fields(
    {
        "model": OBJECT,
        "text": STRING,
        "source": STRING,
        "target": STRING,
        "translation": STRING,
        "translation_given": FLAG,
        "score": NUMBER,
        "source_tokens": TOKENS,
        "target_tokens": TOKENS,
        "shown_tokens": listed(fields({"piece": STRING})),
        "source_words": listed(STRING),
        "target_words": listed(STRING),
        "log_probability": listed(NUMBER),
        "candidates": LIKELY,
        "alignment": listed(listed(WHOLE)),
        "alignment_head": maybe(fields({"layer": WHOLE, "head": WHOLE})),
        "opening": fields(HEAD),
        "changed_by": SWITCHES,
    },
    {
        "attention": LAYERS,
        "value_norms": LAYERS,
        "lens": listed(LIKELY),
        "roles": ROLES,
        "code": listed(
            fields({"concept": STRING, "file": STRING, "first": WHOLE, "last": WHOLE, "lines": listed(STRING)})
        ),
        "steps": OBJECT,
    },
)
NODES = listed(
    fields(
        {
            "id": WHOLE,
            "parent": maybe(WHOLE),
            "piece": STRING,
            "token": WHOLE,
            "step": WHOLE,
            "log_probability": NUMBER,
            "score": NUMBER,
            "kept": FLAG,
            "finished": FLAG,
            "rank": WHOLE,
        }
    )
)
REASON = fields({"piece": STRING, "left": maybe(NUMBER), "right": maybe(NUMBER)})
DIVERGES = fields({"position": WHOLE, "left": STRING, "right": STRING, "reason": listed(REASON)})
CHECKPOINT = fields(
    {
        "step": WHOLE,
        "translation": STRING,
        "score": NUMBER,
        "alignment": listed(listed(WHOLE)),
        "score_of_last": NUMBER,
    }
)
DIRECTION = {"source": TEXT, "target": TEXT}
MODEL = {"model": maybe(STRING)}


def inside_paths(settings: ServeSettings) -> Schema:
    """The paths by their templates, with the limits of the server."""
    how = {
        "beam": maybe(between(1, settings.beam_limit)),
        "precision": maybe(choice("float32", "int8")),
        "switches": maybe(SWITCHES),
        "translation": maybe(STRING),
    }
    shown = {"detail": maybe(choice("", "all", "brief")), "only": maybe(fields({"kind": KIND, "layer": WHOLE}))}
    sentence = {"text": TEXT, **DIRECTION}
    asked = fields(sentence, {**how, **MODEL, "prefix": maybe(STRING)})
    traced = fields(sentence, {**how, **shown, **MODEL, "prefix": maybe(STRING)})
    side = fields({}, {**how, **MODEL})
    greedy = fields({"nodes": NODES, "translation": STRING, "score": NUMBER})
    tree = fields(
        {
            "beam": WHOLE,
            "source_tokens": TOKENS,
            "nodes": NODES,
            "steps": listed(fields({"step": WHOLE, "candidates": listed(WHOLE)})),
            "best": listed(WHOLE),
            "translation": STRING,
            "score": NUMBER,
            "attention": {"type": "object", "additionalProperties": listed(NUMBER)},
            "greedy": greedy,
            "changed_by": SWITCHES,
        }
    )
    sides = fields({**sentence, "left": side, "right": side}, {**shown, **MODEL})
    several = fields(DIRECTION, {"text": maybe(STRING), "texts": maybe(listed(STRING)), **MODEL})
    pairs = fields({**DIRECTION, "pairs": listed(listed(STRING))}, MODEL)
    made = {
        "trace": _post("Everything about one translation: attention, probabilities, logit lens, roles", TRACE, traced),
        "decode": _post("A beam search as a tree, with greedy search beside it", tree, asked),
        "compare": _post(
            "Two models or settings side by side, and the first token where they part",
            fields({"left": TRACE, "right": TRACE, "diverges": maybe(DIVERGES)}),
            sides,
        ),
        "roles": _post(
            "The roles of all heads, measured over sentences",
            fields({"sentences": WHOLE, "roles": ROLES, "opening": fields(HEAD)}),
            several,
        ),
        "checkpoints": _post(
            "The translation by each checkpoint of the model's training",
            fields({"checkpoints": listed(CHECKPOINT)}),
            asked,
        ),
        "family": _post(
            "The inside of a language model, an encoder or an image classifier",
            fields({"kind": choice("causal_lm", "masked_lm", "vision")}),
            fields({"model": TEXT}, {"text": maybe(STRING), "image": maybe(STRING), "generate": maybe(between(0, 64))}),
        ),
        "positions": _post(
            "A position encoding as numbers, and similarity by distance",
            fields({"kind": STRING, "width": WHOLE, "length": WHOLE, "similarity": listed(NUMBER)}),
            fields(
                {}, {"kind": maybe(STRING), "width": maybe(between(1, 1024)), "length": maybe(between(1, 512)), **MODEL}
            ),
        ),
        "importance": operation(
            "The BLEU of a test set without each head, as JSON lines", STRING, ERROR, body=pairs, answer_kind=LINES
        ),
        "page": operation(
            "Everything about one translation as a page in a single file", STRING, ERROR, body=asked, answer_kind=HTML
        ),
    }
    return {f"/api/inside/{name}": {"post": each} for name, each in made.items()}


LINES, HTML = "application/x-ndjson", "text/html"


def _post(summary: str, answer: Schema, body: Schema) -> Schema:
    return operation(f"{summary} (needs PyTorch on the server)", answer, ERROR, body=body)
