"""Terms of a glossary on the command line: whether there are any for a direction, and what became of them."""

from typing import TYPE_CHECKING

from headwise.cli.console import say

if TYPE_CHECKING:
    from headwise.decode.glossary.term_report import TermReport
    from headwise.decode.translation import TranslateOptions
    from headwise.text.language.codes import Direction


def check_glossary(options: "TranslateOptions", direction: "Direction") -> None:
    """Refuse a glossary that does not suit the direction, before any work is done."""
    from headwise.decode.auto_source import AUTO_SOURCE

    if options.glossary is not None and direction[0] != AUTO_SOURCE:
        options.glossary.check(direction)


def report_terms(terms: "TermReport", what: str) -> None:
    """Print how many terms were used, and the first that are missing."""
    for line in (str(terms), *terms.named(what)):
        say(f"headwise: {line}")
