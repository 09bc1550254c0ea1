"""Settings of the documentation site, which Sphinx builds from the Markdown files beside it: `scripts/docs`.

The README is the first page. Links to files that are not part of the site lead to the repository, whose address
GitHub's workflows know ($GITHUB_REPOSITORY); without it their text stays, and the link is dropped.
"""

import os
import re
from pathlib import Path
from typing import Any

import headwise

DOCS = Path(__file__).parent
ROOT = DOCS.parent

project, author = "Headwise", "The Headwise contributors"
version = release = headwise.__version__
html_title = f"Headwise {release}"
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["tour.template.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
autodoc_typehints = "description"
default_role = "code"

INDEX, README = "index", ROOT / "README.md"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^()\s#]+)(#[^()\s]*)?\)")
IMAGE = re.compile(r'src="docs/')


def repository() -> str:
    """The address of the files on the main branch; empty if it is not known."""
    name = os.environ.get("GITHUB_REPOSITORY", "")
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    return f"{server}/{name}/blob/main" if name else ""


def on_site(text: str, page: Path) -> str:
    """The text of a page with its links as the site needs them; `page` is the file that it comes from."""

    def link(match: re.Match[str]) -> str:
        mark, shown, target, anchor = match.groups()
        path = (page.parent / target).resolve()
        if not path.exists():  # Sphinx reports it
            return match[0]
        if path.is_relative_to(DOCS) and (mark or (path.suffix == ".md" and path.name not in exclude_patterns)):
            home = DOCS if page == README else page.parent
            return f"{mark}[{shown}]({os.path.relpath(path, home)}{anchor or ''})"
        address = repository()
        return f"[{shown}]({address}/{path.relative_to(ROOT).as_posix()}{anchor or ''})" if address else shown

    return LINK.sub(link, IMAGE.sub('src="', text))


def read_page(app: Any, name: str, source: list[str]) -> None:
    """Prepare the text of each page; the list of pages in index.md follows the README."""
    if name == INDEX:
        source[0] = on_site(README.read_text(encoding="utf-8"), README) + "\n" + source[0]
    else:
        source[0] = on_site(source[0], DOCS / f"{name}.md")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_page)
