"""What is said of the engines is what they do."""

import copy
from importlib.metadata import PackageNotFoundError

import pytest
import torch

from headwise.decode.engines import ENGINES, availability
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from tests.taught import SOURCES, TARGETS, taught


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_runs_where_it_is_said_to(engine: str) -> None:
    device, said = "cuda" if engine == "gpu" and torch.cuda.is_available() else "cpu", list[str]()
    found = availability.availability()[engine]
    assert found.startswith(("yes", "no: "))
    try:
        translator = Translator(copy.deepcopy(taught()), device, engine, said.append)
    except ConfigError:
        assert found.startswith("no: ")
        return
    assert (translator.engine == engine) is found.startswith("yes"), said
    assert [each.text for each in translator.translate(SOURCES[:3])] == TARGETS[:3]


def test_why_an_engine_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "why_not", lambda: "no compiler\nlooked for: g++")
    monkeypatch.setattr(availability.int8, "is_fast_here", lambda: True)
    assert availability.availability()["int8"] == "yes, on the CPU, but slower without the native one (no compiler)"
    monkeypatch.setattr(availability.int8, "is_fast_here", lambda: False)
    assert availability.availability()["int8"] == "no: this CPU has no instructions for int8 (VNNI)"

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(availability, "version", missing)
    found = availability.availability()
    assert found["ctranslate2"] == found["ctranslate2-int8"]
    assert "pip install 'headwise[export]'" in found["ctranslate2"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert availability.availability()["gpu"] == "no: PyTorch finds no NVIDIA GPU"
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "without CUDA" in availability.availability()["gpu"]
