"""The picture of quality against speed can be read."""

import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest


def test_no_label_lies_over_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    speed_quality = importlib.import_module("speed_quality")
    place, axes = speed_quality.place_labels, list[Any]()

    def watched(axis: Any, labels: list[tuple[str, float, float, str]]) -> None:
        place(axis, labels)
        axes.append(axis)

    monkeypatch.setattr(speed_quality, "place_labels", watched)
    places = {
        "base": (100, 27.3),
        "big": (95, 27.4),
        "deep": (110, 27.2),
        "small": (400, 25.0),
        "small, int8": (410, 25.0),
    }
    rows = [
        {"model": name, "beam": beam, "words/s": speed * (5 - beam), "BLEU": bleu}
        for beam in (4, 1)
        for name, (speed, bleu) in places.items()
    ]
    speed_quality.plot(rows, tmp_path / "picture.png")
    boxes = [text.get_window_extent() for text in axes[0].texts]
    assert len(boxes) == len(rows)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
