"""The table of engines: what it reports is what the engines do, and help and documentation follow it."""

import copy
import re
from pathlib import Path

import pytest
import torch

from headwise.decode.engines import table
from headwise.decode.engines.native import library
from headwise.decode.engines.native.levels import NAMES
from headwise.decode.engines.table import ENGINES, availability, engine_help
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.nn import int8
from tests.taught import SOURCES, TARGETS, taught

DOCS = Path(__file__).parents[3] / "docs" / "engines.md"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_runs_where_it_is_said_to(engine: str) -> None:
    device, notes = "cuda" if engine == "gpu" and torch.cuda.is_available() else "cpu", list[str]()
    found = availability()[engine]
    assert found.startswith((table.YES, table.NO))
    try:
        translator = Translator(copy.deepcopy(taught()), device=device, engine=engine, say=notes.append)
    except ConfigError:
        assert found.startswith(table.NO)
        return
    assert (translator.engine == engine) is found.startswith(table.YES), notes
    assert [each.text for each in translator.translate(SOURCES[:3])] == TARGETS[:3]


def test_why_an_engine_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_found", lambda: "no compiler")
    monkeypatch.setattr(int8, "is_fast_here", lambda: True)
    assert availability()["int8"] == "yes, on the CPU, but slower without the native engine (no compiler)"
    monkeypatch.setattr(int8, "is_fast_here", lambda: False)
    assert availability()["int8"].startswith("no: without the native engine")
    assert "no compiler" in availability()["int8"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert availability()["gpu"] == "no: PyTorch finds no NVIDIA GPU"
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "without CUDA" in availability()["gpu"]


@pytest.mark.parametrize(("engine", "advice"), [("int8", "is for CPUs: give --device cpu"), ("gpu", "needs a GPU")])
def test_an_engine_of_another_device_is_refused_with_advice(engine: str, advice: str) -> None:
    device = torch.device("meta" if engine == "int8" else "cpu")
    with pytest.raises(ConfigError, match=advice):
        table.make_engine(engine, taught(), device)


def test_help_and_documentation_name_every_engine_and_level() -> None:
    documented = re.findall(r"^\| `([\w-]+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert documented == [*ENGINES, *NAMES]
    assert all(f"{name}: {row.help}" in engine_help() for name, row in ENGINES.items())
    assert "auto (default)" in engine_help()
