"""Inline Markdown with positions: the tokens of markdown-it, and where each lies in the text of its block.

markdown-it tells the lines of blocks only. Here its inline parser notes what it has consumed whenever it adds a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import fragments_join
from markdown_it.rules_inline.state_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from headwise.documents.markup.html_elements import VOID, is_kept
from headwise.documents.markup.html_tokens import HtmlToken, TokenKind, html_tokens
from headwise.documents.markup.passage import PassageItem, PassageKind

EMPHASIS = ("em", "strong", "s")
"""Pairs that are written with delimiters on both sides, which HTML has elements of the same name for."""

_SINGLE = {
    "[": re.compile(r"\[\^[^\]\s]+\](?!\()|\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]"),
    "{": re.compile(r"\{[:#.][^{}\n]*\}"),
    ":": re.compile(r"(?<!\w):[a-z][a-z0-9_+-]*:(?!\w)"),
}
"""Markup outside of CommonMark that stands alone: footnote references, alerts, attributes, emoji by name."""
_TASK = re.compile(r"\[[ xX]\](?=\s)")
_FORMULA = re.compile(r"(?<!\\)\$\$.+?\$\$|\$(?=\S)(?=[^$\n]*[\\^_={}]|[A-Za-z]\$)[^$\n]*?(?<=\S)\$(?!\d)", re.DOTALL)


@dataclass
class TokenSpan:
    """A token, from `start` to before `end` in the text of its block."""

    token: Token
    start: int
    end: int


class _State(StateInline):
    """The state of one parse, which knows where the rule that runs has begun."""

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.spans: list[TokenSpan] = []
        self.begun: list[int] = []
        """Where the rules that run have begun: a link's rule runs while those of its text do."""
        self.covered = 0
        """Characters before this place belong to tokens."""

    def pushPending(self) -> Token:  # noqa: N802  # a method of markdown-it
        token = super().pushPending()
        end = self.begun[-1] if self.begun and self.begun[-1] >= self.covered else self.pos
        self.spans.append(TokenSpan(token, self.covered, end))
        self.covered = end
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        start = max(self.covered, self.begun[-1])
        self.covered = max(start, self.pos)
        self.spans.append(TokenSpan(token, start, self.covered))
        return token

    def finish(self, first: int) -> None:
        """Note the end of a rule that has added the spans from `first` on."""
        added = [span for span in self.spans[first:] if span.start >= self.begun[-1]]
        if not added:
            return
        if all(span.token.type == "text" for span in added):  # a run of delimiters
            position = self.begun[-1]
            for span in added:
                span.start, span.end = position, position + len(span.token.content)
                position = span.end
        added[-1].end = self.covered = self.pos


class TrackedInline(ParserInline):
    """The inline parser of markdown-it, which keeps the position of each token."""

    def __init__(self) -> None:
        super().__init__()
        self.ruler.before("escape", "other_markup", _other_markup)

    def tokenize(self, state: StateInline) -> None:
        """Tokenize as the parser does, and note where each rule begins and ends."""
        if not isinstance(state, _State):
            return super().tokenize(state)
        rules = self.ruler.getRules("")
        end = state.posMax
        deepest = state.md.options["maxNesting"]
        while state.pos < end:
            first = len(state.spans)
            state.begun.append(state.pos)
            found = state.level < deepest and any(rule(state, False) for rule in rules)
            if found:
                state.finish(first)
            else:
                state.pending += state.src[state.pos]
                state.pos += 1
            state.begun.pop()
        if state.pending:
            state.pushPending()
        return None

    def spans(self, text: str, md: MarkdownIt, env: EnvType) -> list[TokenSpan]:
        """The tokens of a text with their positions, in order."""
        state = _State(text, md, env, [])
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            if rule is not fragments_join:
                rule(state)
        return sorted(state.spans, key=lambda span: (span.start, span.end))


def _other_markup(state: StateInline, silent: bool) -> bool:
    """The rule for markup that CommonMark does not have: it stays as it is."""
    character = state.src[state.pos]
    kind = "single"
    found = _SINGLE[character].match(state.src, state.pos) if character in _SINGLE else None
    if found is None and character == "[" and state.pos == 0:
        found = _TASK.match(state.src)
    if found is None and character == "$":
        found, kind = _FORMULA.match(state.src, state.pos), "formula"
    if found is None or found.end() > state.posMax:
        return False
    if not silent:
        token = state.push(kind, "", 0)
        token.content = found[0]
    state.pos = found.end()
    return True


def inline_items(text: str, md: MarkdownIt, env: EnvType) -> list[PassageItem]:
    """The text of a block as items of running text, with positions in it."""
    assert isinstance(md.inline, TrackedInline)
    return list(_Items(text, md.inline.spans(text, md, env)).found())


class _Items:
    """One walk over the spans of a block."""

    def __init__(self, text: str, spans: Sequence[TokenSpan]) -> None:
        self.text, self.spans = text, spans

    def found(self) -> Iterator[PassageItem]:
        index = 0
        while index < len(self.spans):
            span = self.spans[index]
            last = index
            if span.token.markup == "autolink" and span.token.type == "link_open":
                last = self.closing(index, "link_close")
                seen = self.text[span.start + 1 : self.spans[last].end - 1]
                yield PassageItem(PassageKind.KEPT, span.start, self.spans[last].end, seen)
            elif span.token.type == "html_inline":
                tag = next(html_tokens(self.text, span.start, span.end))
                last = self.html_end(index, tag) if is_kept(tag) and tag.kind is TokenKind.START else index
                yield self.html(tag) if last == index else self.kept_html(index, last)
            else:
                yield from self.item(index)
            index = last + 1

    def item(self, index: int) -> Iterator[PassageItem]:
        span = self.spans[index]
        token, start, end = span.token, span.start, span.end
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.type in ("text", "text_special"):
            if token.content:
                yield PassageItem(PassageKind.TEXT, start, self.before_break(index, end), token.content)
        elif token.type == "softbreak":
            yield PassageItem(PassageKind.TEXT, start, end, "\n")
        elif token.type == "hardbreak":
            while start and self.text[start - 1] == " ":
                start -= 1
            yield PassageItem(PassageKind.BREAK, start, end, "br")
        elif token.type in ("code_inline", "formula"):
            yield PassageItem(PassageKind.KEPT, start, end, token.content)
        elif token.type.endswith(("_open", "_close")):
            kind = PassageKind.OPEN if token.nesting > 0 else PassageKind.CLOSE
            wider = name == "strong"  # its outer delimiters are empty texts beside it
            instead = self.reference(index) if token.type == "link_close" else ""
            yield PassageItem(
                kind,
                start - (wider and kind is PassageKind.OPEN),
                end + (wider and kind is PassageKind.CLOSE),
                name,
                instead,
            )
        else:
            yield PassageItem(PassageKind.SINGLE, start, end, token.type)

    def before_break(self, index: int, end: int) -> int:
        """The end of a text without the spaces that make the line break after it a hard one."""
        if index + 1 < len(self.spans) and self.spans[index + 1].token.type == "hardbreak":
            return self.spans[index].start + len(self.text[self.spans[index].start : end].rstrip(" "))
        return end

    def reference(self, index: int) -> str:
        """The end of a link that names its definition by its text, which a translation must name in full."""
        close = self.spans[index]
        if self.text[close.start : close.end] not in ("]", "][]"):
            return ""
        depth, at = 0, index
        while depth or self.spans[at].token.type != "link_open":
            at -= 1
            depth += (self.spans[at].token.type == "link_close") - (
                depth > 0 and self.spans[at].token.type == "link_open"
            )
        label = self.text[self.spans[at].end : close.start]
        return f"][{' '.join(label.split())}]"

    def closing(self, index: int, kind: str) -> int:
        while self.spans[index].token.type != kind:
            index += 1
        return index

    def html(self, tag: HtmlToken) -> PassageItem:
        kind = PassageKind.SINGLE
        if tag.name == "br":
            kind = PassageKind.BREAK
        elif tag.kind is TokenKind.END:
            kind = PassageKind.CLOSE
        elif tag.kind is TokenKind.START and tag.name not in VOID and not tag.is_closed:
            kind = PassageKind.OPEN
        return PassageItem(kind, tag.start, tag.end, tag.name)

    def html_end(self, index: int, tag: HtmlToken) -> int:
        """The index of the end tag of an element; its own if it has none."""
        for last in range(index + 1, len(self.spans)):
            span = self.spans[last]
            if span.token.type == "html_inline" and re.match(
                rf"</{re.escape(tag.name)}\s*>", self.text[span.start : span.end], re.IGNORECASE
            ):
                return last
        return index

    def kept_html(self, index: int, last: int) -> PassageItem:
        seen = "".join(
            "\n" if span.token.type == "softbreak" else span.token.content
            for span in self.spans[index + 1 : last]
            if span.token.type != "html_inline"
        )
        kind = PassageKind.KEPT if seen.strip() else PassageKind.SINGLE
        return PassageItem(kind, self.spans[index].start, self.spans[last].end, " ".join(seen.split()))
