"""The page stays small: its scripts and styles are sent as they are, but for comments."""

from headwise.serve.page.page_routes import page_files, sent_bytes

TOTAL = 320_000
"""Bytes of all scripts, styles and HTML as they are sent, before compression."""


def sizes() -> dict[str, int]:
    return {name: len(sent_bytes(path)) for name, path in page_files().items() if path.suffix != ".json"}


def test_the_whole_page_is_within_its_budget() -> None:
    assert sum(sizes().values()) <= TOTAL


def test_scripts_are_small_files() -> None:
    for name, path in page_files().items():
        if path.suffix == ".js":
            lines = path.read_text(encoding="utf-8").splitlines()
            assert len(lines) <= 320, name
