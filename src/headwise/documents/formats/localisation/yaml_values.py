"""YAML files: string values are texts; keys, comments, anchors and the style of each string stay.

In a Rails catalogue, a single top-level key that is the source language becomes the target language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.message_lines import message
from headwise.documents.formats.localisation.slots import Slot, SlotDocument, in_place
from headwise.documents.formats.localisation.source_text import SourceText
from headwise.documents.marked_text import MarkedText
from headwise.documents.xml_source import Edit
from headwise.errors import DataError
from headwise.extras import packages_for

_TEXT = "tag:yaml.org,2002:str"
_UNSAFE = re.compile(r"\A[\s\-?:,\[\]{}#&*!|>'\"%@`=~.\d+]|: |:\Z| #|[\[\]{},]|\s\Z|[\x00-\x1f]")
_WORDS = re.compile(r"(?:true|false|yes|no|on|off|null|y|n)\Z", re.IGNORECASE)
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
"""The anchor and the tag before a scalar."""
_HEAD = re.compile(r"([|>])([-+0-9]*)[^\n]*\n")


def read_yaml(data: bytes, options: ReadOptions) -> Document:
    """Read a YAML file of one or more documents."""
    source = SourceText(data)
    nodes = _composed(source.text)
    slots = (_slot(source.text, node) for root in nodes for node in _values(root))
    return SlotDocument(source, slots, list(_language(nodes, options)))


def _composed(text: str) -> list[Any]:
    with packages_for("reading YAML"):
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    try:
        return [node for node in YAML(typ="safe", pure=True).compose_all(text) if node is not None]
    except (
        YAMLError,
        ValueError,
        RecursionError,
        AttributeError,
        IndexError,
        AssertionError,
        NotImplementedError,
    ) as e:
        mark = getattr(e, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark else ""
        problem = str(getattr(e, "problem", None) or "it cannot be parsed").splitlines()[0]
        raise DataError(f"damaged YAML{place}: {problem}") from e


def _values(root: Any) -> Iterator[Any]:
    """The scalars that are strings and no keys, in order; each once, however many aliases it has."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "mapping":
            waiting.extend(value for _, value in reversed(node.value))
        elif node.id == "sequence":
            waiting.extend(reversed(node.value))
        elif str(node.tag) == _TEXT:
            yield node


def _slot(text: str, node: Any) -> Slot:
    properties = _PROPERTIES.match(text, node.start_mark.index)
    assert properties is not None
    start, end = properties.end(), node.end_mark.index
    found = message(node.value)
    raw = text[start:end]
    if node.style in ("|", ">"):
        return _block(text, node, start, end)

    def render(translations: Sequence[MarkedText]) -> str:
        return _scalar(found.filled(translations), raw[:1])

    return in_place(start, end, found.segments, render)


def _scalar(value: str, quote: str) -> str:
    """A string on one line, in the quotes it had or, where a plain one would be misread, in others."""
    if quote == "'" and not re.search(r"[\x00-\x1f]", value):
        return "'" + value.replace("'", "''") + "'"
    if quote not in ("'", '"') and not _UNSAFE.search(value) and not _WORDS.match(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _block(text: str, node: Any, start: int, end: int) -> Slot:
    """A literal or folded scalar: the header stays, the lines get the indentation of the first."""
    head = _HEAD.match(text, start)
    if head is None:
        return Slot([], lambda translations: [])
    body = text[head.end() : end]
    first = next((line for line in body.split("\n") if line.strip()), "")
    indentation = first[: len(first) - len(first.lstrip(" "))]
    content = body.rstrip()
    stop = head.end() + len(content)
    found = message(node.value.rstrip("\n"))
    line_end = "\r\n" if "\r\n" in head[0] else "\n"

    def render(translations: Sequence[MarkedText]) -> str:
        filled = found.filled(translations)
        between = "\n" if head[1] == "|" else "\n\n"
        lines = filled.replace("\n", between).split("\n")
        return line_end.join(indentation + line if line else "" for line in lines)

    return in_place(head.end(), stop, found.segments, render)


def _language(nodes: list[Any], options: ReadOptions) -> Iterator[Edit]:
    """The edit that renames the language at the top of a Rails catalogue."""
    for root in nodes[:1]:
        if options.target and options.source and root.id == "mapping" and len(root.value) == 1:
            key = root.value[0][0]
            if key.value == options.source and key.style is None:
                yield Edit(key.start_mark.index, key.end_mark.index, options.target)
