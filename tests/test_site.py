"""The documentation site: built in strict mode, with every page and every public name on it."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import headwise

pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'headwise[docs]'")

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "cache")]
    environment = {**os.environ, "GITHUB_REPOSITORY": "somebody/headwise"}
    result = subprocess.run(
        [*command, str(DOCS), str(folder / "html")], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    return folder / "html"


def words(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_page_is_on_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        if page.name != "tour.template.md":
            assert (site / page.relative_to(DOCS).with_suffix(".html")).is_file()


def test_the_first_page_is_the_readme(site: Path) -> None:
    shown = words(site / "index.html")
    for heading in re.findall(r"^## (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert heading in shown


def test_pictures_and_links_lead_somewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r'(?:src|href)="(?!https?:|mailto:|data:)([^"#?]+)', text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
    assert "https://github.com/somebody/headwise/blob/main/src/headwise/nn/attention.py" in (
        site / "tour.html"
    ).read_text(encoding="utf-8")


def test_public_names_are_explained(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in headwise.__all__:
        if name not in ("__version__", "train"):
            assert f'id="headwise.{name}"' in text, name


def test_docstrings_are_on_the_page(site: Path) -> None:
    shown = words(site / "api.html")
    assert "Translate one text, or several" in shown
    assert "headwise.train.one_call." in shown
