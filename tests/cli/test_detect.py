"""`headwise detect`."""

import json
from pathlib import Path

from tests.commands import Capture, lines_file, ok, shell, wrong


def test_arguments(capsys: Capture) -> None:
    out = ok(capsys, "detect", "--languages", "en,de", "Guten Morgen", "Where is the station?", "12")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [(row[0], row[2]) for row in rows] == [
        ("de", "Guten Morgen"),
        ("en", "Where is the station?"),
        ("und", "12"),
    ]
    assert float(rows[0][1]) > 0.9


def test_a_file_gives_a_line_per_line(tmp_path: Path, capsys: Capture) -> None:
    given = lines_file(tmp_path / "in.txt", ["Grazie mille", "", "Merci beaucoup"])
    ok(capsys, "detect", "--languages", "it fr", "--input", given, "--output", tmp_path / "out")
    assert [line.split("\t")[0] for line in (tmp_path / "out").read_text().splitlines()] == ["it", "und", "fr"]


def test_standard_input_and_json() -> None:
    done = shell("detect", "--json", given="¿Dónde está la estación?\n".encode())
    found = json.loads(done.stdout)
    assert found["text"] == "¿Dónde está la estación?"
    assert found["language"] == "es"
    assert found["probabilities"]["es"] == found["probability"]


def test_an_unknown_language_is_refused_before_the_output_is_touched(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert "'tlh' cannot be detected" in wrong(capsys, "detect", "--languages", "en,tlh", "--output", out, "x")
    assert not out.exists()
