"""What a run has cost, in its folder, its card and its log."""

import io
import json
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headwise.data.batch.padded_pairs import ordered_pairs
from headwise.files.tables import read_json
from headwise.train.checkpoint.run_state import RunState
from headwise.train.report import console as report
from headwise.train.report.console import RunReporter, read_log
from headwise.train.report.cost import Cost, training_cost
from headwise.train.report.energy import EnergyMeter
from headwise.train.run import train
from headwise.train.tasks.translation_task import open_job
from tests.train.report.test_console import RECORD
from tests.train.small_runs import run_recipe, silent


def test_a_run_tells_its_cost(tmp_path: Path, corpus: Path) -> None:
    said: list[str] = []
    outcome = train(run_recipe(corpus, tmp_path, {"train.steps": 4}), said.append)
    cost = read_json(tmp_path / "cost.json")
    assert cost["units"] == outcome.progress.tokens
    assert cost["seconds"] == outcome.progress.seconds
    assert cost["watt_hours"] is None, "a CPU does not tell"
    lines = said[-1].splitlines()
    assert [line.split()[0] for line in lines] == ["wall", "speed", "FLOPs"]
    assert said[-1] in (tmp_path / "README.md").read_text()
    speeds = [record["tokens_per_second"] for record in read_log(tmp_path) if record["kind"] == "train"]
    assert min(speeds) <= cost["units_per_second"] <= max(speeds)


def test_the_operations_of_an_epoch(tmp_path: Path, corpus: Path) -> None:
    """Those that PyTorch counts when it is given each pair of the corpus by itself, so without padding."""
    recipe = run_recipe(corpus, tmp_path)
    job = open_job(recipe, tmp_path, torch.device("cpu"), silent)
    model, tokenizer = job.loaded.model.eval(), job.prepared.tokenizer
    [each] = job.prepared.train
    forward = tokens = 0
    for batch in ordered_pairs(each.corpus, tokenizer, 1, limit=30):  # a budget of 1: a batch a pair
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(batch.source, batch.target[:, :-1])
        forward += counter.get_total_flops()
        tokens += batch.count
    cost = training_cost(tmp_path, job, RunState(step=1, tokens=tokens, seconds=2.0))
    assert cost.flops is not None
    # The 30 pairs are a part of the corpus: the mean a token differs a little.
    assert cost.flops == pytest.approx(3 * forward, rel=0.05)


class Meter:
    """A GPU that uses half a watt-hour between two looks."""

    def __init__(self) -> None:
        self.used = 0.0

    def watt_hours(self) -> float:
        self.used += 0.5
        return self.used


def test_energy_goes_on_over_a_second_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "EnergyMeter", Meter)
    for steps in ([1, 2, 3], [3, 4]):  # killed after the third, of which there was no checkpoint yet
        with RunReporter(tmp_path, 20, stream=io.StringIO()) as reporter:
            reporter.started(steps[0] - 1, 0)
            for step in steps:
                reporter.trained({**RECORD, "step": step})
    assert [record["watt_hours"] for record in read_log(tmp_path)] == [0.5, 1.0, 1.5, 2.0]


def test_no_gpu_no_energy() -> None:
    assert torch.cuda.is_available() or EnergyMeter().watt_hours() is None


def test_a_line_a_figure() -> None:
    cost = Cost(3725.4, 10**9, "tokens", 123456.7, 3.3e18, 812.345)
    assert str(cost).splitlines() == [
        "wall time 1:02:05",
        "speed 123,457 tokens/s, 1,000,000,000 in all",
        "FLOPs 3.30e+18, 8.86e+14 per second",
        "energy 812.35 Wh",
    ]
    assert json.loads(json.dumps(cost.as_dict()))["flops"] == 3.3e18
