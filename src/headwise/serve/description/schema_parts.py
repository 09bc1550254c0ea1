"""Building blocks of the OpenAPI description: schemas and operations, as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
ANY_FORM = (JSON, FORM, MULTIPART)

STRING: Schema = {"type": "string"}
TEXT: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
COLUMNS: Schema = {
    "type": "string",
    "description": "Columns of a CSV or TSV file to translate: headings or numbers, separated by commas",
}

MEANINGS = {
    400: "The request is malformed, beyond a limit, or asks for what no model can do",
    401: "The API key is missing or wrong",
    403: "The API key is missing or wrong, or the operator has switched this off",
    404: "There is nothing of this name",
    405: "Another method is needed",
    408: "The body did not arrive in time",
    413: "The body is too large",
    429: "Too many requests: Retry-After is the time to wait, in seconds",
    456: "The characters of this month are used up",
    503: "The server is busy, stopping, or lacks a model: Retry-After is the time to wait, in seconds",
}


def listed(items: Schema) -> Schema:
    """A list of such values."""
    return {"type": "array", "items": items}


def one_or_list(items: Schema) -> Schema:
    """Such a value, or a list of them."""
    return {"anyOf": [items, {"type": "array", "items": items, "minItems": 1}]}


def fields(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these fields, and perhaps others."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def maybe(schema: Schema) -> Schema:
    """Such a value, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def between(least: int, most: int) -> Schema:
    """A whole number within limits."""
    return {"type": "integer", "minimum": least, "maximum": most}


def choice(*values: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def path_parameter(name: str, meaning: str) -> Schema:
    """A parameter within the path."""
    return {"name": name, "in": "path", "required": True, "description": meaning, "schema": STRING}


def query_parameter(name: str, meaning: str, schema: Schema) -> Schema:
    """A parameter of the query string."""
    return {"name": name, "in": "query", "description": meaning, "schema": schema}


def operation(
    summary: str,
    answer: Schema | None,
    error: str,
    *,
    body: Schema | None = None,
    kinds: Sequence[str] = (JSON,),
    needs_body: bool = True,
    errors: Sequence[int] = (400, 403, 408, 413, 429, 503),
    parameters: Sequence[Schema] = (),
    status: int = 200,
    answer_kind: str = JSON,
    other_answers: Mapping[str, Schema] | None = None,
) -> Schema:
    """An operation; `error` is the name of the schema of its errors, `None` an answer without a body."""
    contents = {answer_kind: {"schema": answer}} if answer is not None else {}
    contents |= {kind: {"schema": schema} for kind, schema in (other_answers or {}).items()}
    responses: Schema = {str(status): {"description": "The answer", **({"content": contents} if contents else {})}}
    refusal = {JSON: {"schema": {"$ref": f"#/components/schemas/{error}"}}}
    responses |= {str(each): {"description": MEANINGS[each], "content": refusal} for each in errors}
    made: Schema = {"summary": summary, "responses": responses}
    if parameters:
        made["parameters"] = list(parameters)
    if body is not None:
        made["requestBody"] = {"required": needs_body, "content": {kind: {"schema": body} for kind in kinds}}
    return made
