"""What the elements and attributes of HTML mean for translation."""

from __future__ import annotations

from headwise.documents.markup.html_tokens import HtmlToken


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCK = _names("""
    address article aside audio base blockquote body button caption center col colgroup dd details dialog dir div dl dt
    embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe
    legend li link main menu menuitem meta nav noframes noscript object ol optgroup option p param pre search section
    select summary table tbody td template tfoot th thead title tr ul video xmp
    """)
"""Elements that end a paragraph where they begin and where they end; all others are parts of one."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements without content."""

KEPT = _names("code kbd math pre samp tt var xmp")
"""Elements whose content is shown but not translated."""

HIDDEN = _names("canvas iframe noembed noframes rp rt script style svg textarea")
"""Elements whose content is not part of the text around it."""

_ANYWHERE = _names("title alt placeholder aria-label aria-description aria-roledescription")
_LABELLED = _names("option optgroup track")
_BUTTONS = _names("submit button reset")
_DESCRIPTIONS = _names(
    "description og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt"
)


def is_kept(token: HtmlToken) -> bool:
    """Whether the content of an element that starts here is not to be translated."""
    if token.name in KEPT or token.name in HIDDEN:
        return True
    return is_protected(token)


def is_protected(token: HtmlToken) -> bool:
    """Whether the author of a page asks for no translation of an element."""
    if (token.attribute("translate") or "").strip().lower() == "no":
        return True
    return "notranslate" in (token.attribute("class") or "").split()


def is_translated(token: HtmlToken, name: str) -> bool:
    """Whether people read an attribute of this element."""
    if token.name in ("link", "style"):
        return False
    if name == "label":
        return token.name in _LABELLED
    if name == "summary":
        return token.name == "table"
    if name == "value":
        return token.name == "input" and (token.attribute("type") or "").lower() in _BUTTONS
    if name == "content":
        described = token.attribute("name") or token.attribute("property") or ""
        return token.name == "meta" and described.lower() in _DESCRIPTIONS
    return name in _ANYWHERE
