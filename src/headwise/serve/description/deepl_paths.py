"""Paths of DeepL's API."""

from __future__ import annotations

from headwise.serve.description.schema_parts import (
    ANY_FORM,
    ANYTHING,
    COLUMNS,
    FLAG,
    MULTIPART,
    STRING,
    TEXT,
    WHOLE,
    Schema,
    choice,
    fields,
    listed,
    maybe,
    one_or_list,
    operation,
    path_parameter,
    query_parameter,
)

ERROR = "DeepLError"
USUAL = (400, 403, 408, 413, 429, 503)
LANGUAGE = fields({"language": STRING, "name": STRING}, {"supports_formality": FLAG})
GLOSSARY = fields(
    {
        "glossary_id": STRING,
        "name": STRING,
        "ready": FLAG,
        "source_lang": STRING,
        "target_lang": STRING,
        "creation_time": STRING,
        "entry_count": WHOLE,
    }
)
ID = [path_parameter("id", "The id that the server gave")]
TAGS = maybe(one_or_list(STRING))


def deepl_paths() -> Schema:
    """The paths by their templates."""
    return {
        "/v2/translate": {"post": _translate()},
        "/v2/languages": dict.fromkeys(("get", "post"), _languages()),
        "/v2/usage": dict.fromkeys(
            ("get", "post"),
            operation(
                "Characters of this month",
                fields({"character_count": WHOLE, "character_limit": WHOLE}),
                ERROR,
                errors=(403, 429),
            ),
        ),
        **_glossaries(),
        **_documents(),
    }


def _translate() -> Schema:
    body = fields(
        {"text": {"anyOf": [STRING, {"type": "array", "items": STRING, "minItems": 1}]}, "target_lang": TEXT},
        {
            "source_lang": maybe(STRING),
            "tag_handling": maybe(choice("html", "xml")),
            "ignore_tags": TAGS,
            "splitting_tags": TAGS,
            "non_splitting_tags": TAGS,
            "split_sentences": maybe(choice("0", "1", "nonewlines")),
            "preserve_formatting": maybe(ANYTHING),
            "outline_detection": maybe(ANYTHING),
            "formality": maybe(choice("default", "prefer_more", "prefer_less")),
            "context": maybe(STRING),
            "model_type": maybe(STRING),
            "glossary_id": maybe(STRING),
            "glossary_ids": maybe(one_or_list(STRING)),
            "show_billed_characters": maybe(ANYTHING),
        },
    )
    translation = fields({"detected_source_language": STRING, "text": STRING, "billed_characters": WHOLE})
    return operation(
        "Translate texts",
        fields({"translations": listed(translation)}),
        ERROR,
        body=body,
        kinds=ANY_FORM,
        errors=(*USUAL, 404, 456),
    )


def _languages() -> Schema:
    kind = choice("source", "target")
    return operation(
        "Languages that the server translates from, or to",
        listed(LANGUAGE),
        ERROR,
        body=fields({}, {"type": kind}),
        kinds=ANY_FORM,
        needs_body=False,
        parameters=[query_parameter("type", "Which languages are listed", kind)],
    )


def _glossaries() -> Schema:
    pair = {"source_lang": TEXT, "target_lang": TEXT}
    new = fields({"name": TEXT, **pair, "entries": TEXT}, {"entries_format": choice("tsv", "csv")})
    known, missing = (403, 429), (403, 404, 429)
    return {
        "/v2/glossary-language-pairs": {
            "get": operation(
                "Directions that can have a glossary",
                fields({"supported_languages": listed(fields(pair))}),
                ERROR,
                errors=known,
            )
        },
        "/v2/glossaries": {
            "post": operation("Store a glossary", GLOSSARY, ERROR, body=new, kinds=ANY_FORM, status=201),
            "get": operation("Your glossaries", fields({"glossaries": listed(GLOSSARY)}), ERROR, errors=known),
        },
        "/v2/glossaries/{id}": {
            "get": operation("A glossary", GLOSSARY, ERROR, errors=missing, parameters=ID),
            "delete": operation("Delete a glossary", None, ERROR, errors=missing, parameters=ID, status=204),
        },
        "/v2/glossaries/{id}/entries": {
            "get": operation(
                "The terms of a glossary",
                STRING,
                ERROR,
                errors=missing,
                parameters=ID,
                answer_kind="text/tab-separated-values",
            )
        },
    }


def _documents() -> Schema:
    upload = fields(
        {"file": {"type": "string", "format": "binary"}, "target_lang": TEXT},
        {
            "source_lang": STRING,
            "filename": STRING,
            "formality": choice("default", "prefer_more", "prefer_less"),
            "glossary_id": STRING,
            "glossary_ids": STRING,
            "output_format": STRING,
            "columns": COLUMNS,
        },
    )
    key = fields({"document_key": TEXT})
    status = fields(
        {"document_id": STRING, "status": choice("queued", "translating", "done", "error")},
        {"seconds_remaining": WHOLE, "billed_characters": WHOLE, "error_message": STRING},
    )
    asked: Schema = {"body": key, "kinds": ANY_FORM, "needs_body": False, "errors": (*USUAL, 404), "parameters": ID}
    binary = {"type": "string", "format": "binary"}
    return {
        "/v2/document": {
            "post": operation(
                "Translate a document in the background",
                fields({"document_id": STRING, "document_key": STRING}),
                ERROR,
                body=upload,
                kinds=(MULTIPART,),
                errors=(*USUAL, 404, 456),
            )
        },
        "/v2/document/{id}": dict.fromkeys(("get", "post"), operation("How far a document is", status, ERROR, **asked)),
        "/v2/document/{id}/result": dict.fromkeys(
            ("get", "post"),
            operation("Download a document, once", binary, ERROR, **asked, answer_kind="application/octet-stream"),
        ),
    }
