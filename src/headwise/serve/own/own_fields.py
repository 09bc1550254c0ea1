"""Fields of Headwise's own API in the terms of the service."""

from __future__ import annotations

from headwise.serve.http.json_object import JsonObject
from headwise.serve.requested_terms import Terms, checked_terms
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.translate_request import AUTO, RequestOptions, WordsRequest

FORMATS = ("text", "html", "xml")
LARGEST_PENALTY = 10.0
LONGEST_REPEAT = 100
LONGEST_PREFIX = 1_000
"""Characters that the translation of a sentence may be told to begin with."""
MOST_CHOICES = 12
"""Words that may be asked for in the place of one: each is a translation."""
LONGEST_SENTENCE = 1_000
"""Characters of a sentence that is looked into: its tokens are scored one by one, and an attention is quadratic."""
MOST = 1_000
"""A number that the service refuses by its own limits."""


def given_texts(fields: JsonObject) -> list[str]:
    """The texts to translate, under `texts`."""
    texts = fields.get("texts", list, "a list of strings")
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidRequestError("'texts' must be a list of strings")
    return list(texts)


def request_options(fields: JsonObject, glossary_limit: int) -> RequestOptions:
    """The options of a translation; the service checks them against its limits."""
    form = fields.get("format", str, "text, html or xml") or "text"
    if form not in FORMATS:
        raise InvalidRequestError("'format' must be text, html or xml")
    has_beam = fields.values.get("beam") is not None
    has_penalty = fields.values.get("length_penalty") is not None
    return RequestOptions(
        format=form,  # type: ignore[arg-type]  # checked above
        alternatives=fields.whole("alternatives", 0, MOST, 0),
        beam=fields.whole("beam", 1, MOST, 1) if has_beam else None,
        alignments=fields.flag("alignments"),
        pivot=fields.get("pivot", bool, "true or false"),
        model=fields.get("model", str, "the name of a model"),
        length_penalty=fields.number("length_penalty", LARGEST_PENALTY, 1.0) if has_penalty else None,
        no_repeat=fields.whole("no_repeat", 0, LONGEST_REPEAT, 0),
        glossary=_terms(fields, glossary_limit),
        prefix=_prefix(fields, form),
        sentences=fields.flag("sentences"),
    )


def words_request(fields: JsonObject) -> WordsRequest:
    """The request for the words of a translation."""
    source, target = given_languages(fields)
    if source.casefold() == AUTO:
        raise InvalidRequestError("'source' must be a language")
    text, translation = (given_sentence(fields, name) for name in ("text", "translation"))
    word = fields.whole("word", 0, LONGEST_SENTENCE, 0) if fields.values.get("word") is not None else None
    choices = fields.whole("choices", 1, MOST_CHOICES, WordsRequest.choices)
    model = fields.get("model", str, "the name of a model")
    return WordsRequest(text, translation, source, target, model, word, choices)


def given_sentence(fields: JsonObject, name: str) -> str:
    """A field with one sentence, which must be there."""
    text = fields.get(name, str, "a string")
    if not text or not text.strip() or len(text) > LONGEST_SENTENCE:
        raise InvalidRequestError(f"'{name}' must be a sentence of at most {LONGEST_SENTENCE} characters")
    return str(text)


def given_languages(fields: JsonObject) -> tuple[str, str]:
    """The languages of a request; a source that is not named is detected."""
    source, target = (fields.get(name, str, "the code of a language") for name in ("source", "target"))
    if not target:
        raise InvalidRequestError("'target' is missing")
    return source or AUTO, target


def _prefix(fields: JsonObject, form: str) -> str:
    prefix = fields.get("prefix", str, "a string") or ""
    if prefix and form != "text":
        raise InvalidRequestError("'prefix' is for texts without markup")
    if len(prefix) > LONGEST_PREFIX:
        raise InvalidRequestError(f"'prefix' must have at most {LONGEST_PREFIX} characters")
    return prefix.strip()


def _terms(fields: JsonObject, limit: int) -> Terms:
    given = fields.get("glossary", dict, "an object of terms and their translations")
    if not given:
        return ()
    if not all(isinstance(target, str) for target in given.values()):
        raise InvalidRequestError("'glossary' must be an object of terms and their translations")
    return checked_terms(given.items(), limit)
