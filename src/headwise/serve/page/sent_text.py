"""The scripts and styles of the page as they are sent: without the comments and the indentation of their sources.

Lines stay where they are, so that an error in a browser names the line of the source.
"""

import re

_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*.*?\*/[ \t]*$)", re.M | re.S)
"""A comment that begins a line; what stands after code is left alone, as it may be part of a string."""
_INDENT = re.compile(r"^[ \t]+", re.M)


def sent_text(source: str) -> str:
    """A script or a style sheet without comments and indentation. Its texts must not span lines: a test checks that."""
    return _INDENT.sub("", _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source))
