"""Fields of DeepL's /v2/translate in the terms of the service."""

from __future__ import annotations

from headwise.documents.markup.element_roles import ElementRoles
from headwise.serve.http.given_fields import GivenFields
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.translate_request import AUTO, RequestOptions

REPEATED = ("text", "glossary_ids", "ignore_tags", "splitting_tags", "non_splitting_tags")
"""Fields that a form may have several times."""
FORMALITIES = {"", "default", "more", "less", "prefer_more", "prefer_less"}


def given_texts(fields: GivenFields) -> list[str]:
    """The texts to translate. A text may be empty; its translation is, too."""
    value = fields.values.get("text")
    if value is None or value == []:
        raise InvalidRequestError("Parameter 'text' not specified.")
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidRequestError("Parameter 'text' must be a list of strings.")
    if fields.text("split_sentences", "1") in ("0", "nonewlines"):
        return [each.replace("\r\n", " ").replace("\n", " ") for each in listed]
    return listed


def languages(fields: GivenFields) -> tuple[str, str]:
    """The source language, `auto` if it is left open, and the target language."""
    source, target = fields.text("source_lang", AUTO), fields.text("target_lang", "")
    if not target:
        raise InvalidRequestError("Parameter 'target_lang' not specified.")
    return source, target


def markup_options(fields: GivenFields) -> RequestOptions:
    """The options about markup. `outline_detection` is accepted: elements count as HTML's do, or as the lists say."""
    handling = fields.text("tag_handling", "")
    if handling not in ("", "html", "xml"):
        raise InvalidRequestError("Value for 'tag_handling' not supported.")
    if not handling:
        return RequestOptions()
    roles = ElementRoles(
        _names(fields, "ignore_tags"), _names(fields, "splitting_tags"), _names(fields, "non_splitting_tags")
    )
    return RequestOptions(format="html" if handling == "html" else "xml", elements=roles)


def check_formality(fields: GivenFields) -> None:
    """Refuse a formality that does not exist, and one that must be obeyed: no model here has such a choice."""
    formality = fields.text("formality", "")
    if formality not in FORMALITIES:
        raise InvalidRequestError("Value for 'formality' not supported.")
    if formality in ("more", "less"):
        raise InvalidRequestError(
            "'formality' is not supported for given 'target_lang': use prefer_more or prefer_less, or leave it out."
        )


def check_switches(fields: GivenFields) -> None:
    """Refuse values that make no sense. What the model cannot do, such as using `context`, has no effect."""
    fields.flag("preserve_formatting")
    fields.flag("outline_detection")
    fields.flag("show_billed_characters")
    if fields.text("split_sentences", "1") not in ("0", "1", "nonewlines"):
        raise InvalidRequestError("Value for 'split_sentences' not supported.")
    fields.text("context", "")
    fields.text("model_type", "")


def _names(fields: GivenFields, field: str) -> frozenset[str]:
    """Names of elements: a list, or separated by commas."""
    value = fields.values.get(field) or []
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidRequestError(f"Parameter '{field}' must be a list of strings.")
    return frozenset(name.strip().lower() for each in listed for name in each.split(",") if name.strip())
