"""Several processes train one model: the same result as one alone, from the same checkpoints, whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.errors import ConfigError
from headwise.interrupt import StopRequest
from headwise.models.folder.load import load
from headwise.models.folder.run_layout import checkpoints, load_weights, step_of
from headwise.models.folder.shards import load_whole
from headwise.train.checkpoint.run_state import read_state
from headwise.train.loop import fit
from headwise.train.processes.group import joined
from headwise.train.run import check, train
from headwise.train.step.loss import TokenLoss
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.processes.launch import begin, end, run, told
from tests.train.small_runs import Batches, Memory, fit_recipe, run_recipe, silent, some_batches, tiny_model, weights

SMOOTH = {"model.dropout": 0.0, "train.epsilon": 1e-3}
"""Adam divides by the size of a gradient: with its own tiny epsilon, the rounding of one that should be 0 is a step."""
CLOSE = {"rtol": 0.0, "atol": 2e-6}
"""Of the weights after 12 steps, which are about 1 in size and have moved by about 0.01. Measured: 2e-7."""

KINDS = ("replicate", "shard")


def train_there(corpus: Path, out: Path, settings: dict[str, Any]) -> None:
    outcome = train(run_recipe(corpus, out, settings), say=print)
    if outcome.interrupted:
        sys.exit(128 + outcome.signal)


def train_with(size: int, corpus: Path, out: Path, settings: dict[str, Any]) -> Path:
    run(size, out.with_name(f"{out.name}-{size}-told"), train_there, corpus, out, settings)
    return out


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def last_weights(folder: Path) -> dict[str, Tensor]:
    return load_whole(checkpoints(folder)[-1], "model.safetensors")


def check_close(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], **CLOSE)


def check_same_run(one: Path, other: Path) -> None:
    """To rounding: losses of training and validation, weights, the optimiser's state, the model that comes out."""
    assert losses(one) == pytest.approx(losses(other), abs=1e-5)
    for file in ("model.safetensors", "optimiser.safetensors", "average.safetensors"):
        check_close(*(load_whole(checkpoints(folder)[-1], file) for folder in (one, other)))
    check_close(load_weights(one), load_weights(other))
    assert (other / "README.md").is_file()
    load(other)


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 12 steps of 2 batches, by one process."""
    out = tmp_path_factory.mktemp("alone") / "run"
    train(run_recipe(corpus, out, SMOOTH), say=silent)
    return out


@pytest.mark.parametrize(("kind", "size"), [("replicate", 2), ("replicate", 4), ("shard", 2), ("shard", 4)])
def test_the_number_of_processes_does_not_matter(
    corpus: Path, alone: Path, tmp_path: Path, kind: str, size: int
) -> None:
    """Two processes take a batch each; four take rows of each of the two, some of which have fewer than four."""
    out = train_with(size, corpus, tmp_path / "run", {**SMOOTH, "train.parallel": kind})
    check_same_run(alone, out)
    said = told(tmp_path / f"run-{size}-told")
    assert said.count(f"on cpu, {size} processes") == 1, "one of them talks"
    assert "Warning" not in said


@pytest.mark.slow
@pytest.mark.parametrize("way", [("replicate 2", "replicate 4", "shard 2", "alone"), ("shard 2", "shard 4", "alone")])
def test_a_checkpoint_goes_on_with_another_number_of_processes(
    corpus: Path, alone: Path, tmp_path: Path, way: tuple[str, ...]
) -> None:
    steps = [*[3, 6, 9][: len(way) - 1], 12]
    for part, end_step in zip(way, steps, strict=True):
        kind, _, size = part.partition(" ")
        settings = {**SMOOTH, "train.steps": end_step, "train.validate_every": 4}
        if size:
            settings["train.parallel"] = kind
        train_with(int(size or 0), corpus, tmp_path / "run", settings)
        files = {path.name for path in checkpoints(tmp_path / "run")[-1].iterdir()}
        expected = f"model-00001-of-0000{size}.safetensors" if kind == "shard" else "model.safetensors"
        assert expected in files
    check_close(last_weights(alone), last_weights(tmp_path / "run"))


# --- faults --------------------------------------------------------------------------------------------

LONG = {"train.steps": 60, "train.checkpoint_every": 5, "train.validate_every": 30, "train.log_every": 10}
"""With dropout: each process goes on with its own random numbers."""


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of `LONG` by two processes, of each kind when it is asked for."""
    folder = tmp_path_factory.mktemp("undisturbed")

    def made(kind: str) -> Path:
        out = folder / kind
        return out if out.exists() else train_with(2, corpus, out, {**LONG, "train.parallel": kind})

    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sent"),
    [("replicate", signal.SIGKILL), ("shard", signal.SIGKILL), ("replicate", signal.SIGTERM)],
    ids=["replicate, killed", "shard, killed", "replicate, stopped"],
)
def test_a_process_that_is_killed_or_stopped_ends_the_run(
    corpus: Path, undisturbed: Any, tmp_path: Path, kind: str, sent: signal.Signals
) -> None:
    out = tmp_path / "run"
    settings = {**LONG, "train.parallel": kind}
    members = begin(2, tmp_path / "told", train_there, corpus, out, settings)
    while not checkpoints(out) and all(member.is_alive() for member in members):
        time.sleep(0.02)
    os.kill(members[1].pid, sent)
    began = time.monotonic()
    codes = end(members, 20)
    assert time.monotonic() - began < 15
    if sent == signal.SIGTERM:
        assert codes == [143, 143], told(tmp_path / "told")
    else:
        assert codes[1] == -signal.SIGKILL
        assert codes[0] not in (0, None), told(tmp_path / "told")
        assert "another process of this run has ended" in told(tmp_path / "told")
    stopped = step_of(checkpoints(out)[-1])
    assert 0 < stopped < 60
    assert read_state(checkpoints(out)[-1]).step == stopped

    train_with(2, corpus, out, settings)
    assert f"continuing from step {stopped}" in told(tmp_path / "run-2-told")
    whole = undisturbed(kind)
    expected, found = last_weights(whole), last_weights(out)
    assert all(torch.equal(expected[name], found[name]) for name in expected), "bit for bit"
    assert losses(out) == losses(whole)


@pytest.mark.slow
def test_torchrun_starts_the_command(corpus: Path, tmp_path: Path) -> None:
    """Ctrl-C in a terminal reaches torchrun and its processes, which torchrun then asks again."""
    options = [
        "--pairs",
        corpus,
        "--from",
        "xx",
        "--to",
        "yy",
        "--device",
        "cpu",
        "--preset",
        "tiny",
        "--vocabulary",
        300,
    ]
    settings = ["train.batch_tokens=160", "train.accumulate=2", "train.checkpoint_every=5", "train.validate_every=1000"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "-m", "headwise", "train", *options, "--set", *settings, "--out", tmp_path / "run"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (tmp_path / "told").open("w") as file:
        process = subprocess.Popen(
            [*map(str, command)], env=environment, stdout=file, stderr=file, start_new_session=True
        )
        until = time.monotonic() + 90
        while not checkpoints(tmp_path / "run") and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(40) != 0
    said = (tmp_path / "told").read_text()
    assert said.count("everything is saved: run the same command again to continue") == 1, said
    stopped = step_of(checkpoints(tmp_path / "run")[-1])
    command += ["--steps", str(stopped + 2)]
    done = subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"continuing from step {stopped}") == 1
    assert done.stderr.count("done: ") == 1


def test_a_refused_recipe_is_told_once(corpus: Path, tmp_path: Path) -> None:
    members = begin(2, tmp_path / "told", train_there, corpus, tmp_path / "run", {"train.select_by": "beauty"})
    assert all(code not in (0, None) for code in end(members, 30))
    said = told(tmp_path / "told")
    assert said.count("train.select_by = 'beauty'") >= 1
    assert "process 1" not in said
    assert not (tmp_path / "run" / "recipe.json").exists()


# --- the loop ------------------------------------------------------------------------------------------


class WithUnused(nn.Module):
    """Gives the model a weight that no loss reaches."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.unused = nn.Parameter(torch.ones(3, 3))


def fit_there(folder: Path, train_settings: dict[str, Any], bad: bool) -> None:
    """`fit` on given batches, with a weight that is not used; `bad`: the loss of the last process is NaN once."""
    torch.manual_seed(3)
    model = WithUnused(tiny_model())
    with joined("cpu") as (group, _):

        def objective(holder: Any, batch: PaddedBatch) -> TokenLoss:
            loss, nll = teacher_forcing(0.1)(holder.model, batch)
            broken = bad and batch.examples[0] == (0, 13) and group.rank == group.size - 1  # in step 2, and in no other
            return TokenLoss(loss * float("nan"), nll) if broken else TokenLoss(loss, nll)

        reporter = Memory()
        recipe = fit_recipe(**{"weight_decay": 0.1, "epsilon": 1e-3, **train_settings})
        scores = iter([3.0, 2.0, 2.5, 2.6, 1.0, 1.0, 1.0])
        progress = fit(
            model,
            objective,
            Batches(some_batches()),
            recipe,
            folder / "run",
            validate=lambda model: {"loss": next(scores)},
            reporter=reporter,
            stop=StopRequest(),
            group=group,
        )
        torch.save(
            {
                "weights": weights(model) if train_settings.get("parallel") != "shard" else {},
                "notes": reporter.notes,
                "losses": [record["loss"] for record in reporter.records],
                "step": progress.step,
                "nonfinite": progress.nonfinite,
            },
            folder / f"result-{group.rank}.pt",
        )


def results(folder: Path, size: int, settings: dict[str, Any], bad: bool = False) -> list[dict[str, Any]]:
    run(size, folder, fit_there, folder, settings, bad)
    return [torch.load(folder / f"result-{rank}.pt") for rank in range(max(size, 1))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_is_not_finite_in_one_process_is_skipped_by_all(tmp_path: Path, kind: str) -> None:
    """3 batches a step, 2 processes: the rows of each batch are dealt out."""
    settings = {"steps": 3, "accumulate": 3, "parallel": kind}
    first, second = results(tmp_path / "bad", 2, settings, bad=True)
    assert first["nonfinite"] == second["nonfinite"] == 1
    assert first["step"] == second["step"] == 3
    note = next(note for note in first["notes"] if "skipped" in note)
    assert note.startswith("step 2")
    assert "corpus.tsv:" in note
    for result in (first, second):
        assert all(torch.equal(result["weights"][name], first["weights"][name]) for name in first["weights"])
    (alone,) = results(tmp_path / "alone", 0, {"steps": 1, "accumulate": 3})
    assert first["losses"][0] == pytest.approx(alone["losses"][0], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_patience_unused_weights_and_clipping(tmp_path: Path, kind: str) -> None:
    """Weights that the loss does not reach neither hang the group nor decay; all processes stop at the same step."""
    settings = {"steps": 7, "patience": 2, "clip": 0.05, "ema": 0.5}
    (alone,) = results(tmp_path / "alone", 0, settings)
    many = results(tmp_path / "many", 3, {**settings, "parallel": kind})
    assert alone["step"] == 4
    assert [result["step"] for result in many] == [4, 4, 4]
    assert many[0]["losses"] == pytest.approx(alone["losses"], abs=1e-5)
    found = load_whole(checkpoints(tmp_path / "many" / "run")[-1], "model.safetensors")
    assert torch.equal(found["unused"], torch.ones(3, 3))
    check_close(found, load_whole(checkpoints(tmp_path / "alone" / "run")[-1], "model.safetensors"))


def test_muon_turns_whole_matrices(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="replicate"):
        check(run_recipe(corpus, tmp_path / "run", {"train.optimiser": "muon", "train.parallel": "shard"}))
    settings = {"steps": 3, "optimiser": "muon"}
    (alone,) = results(tmp_path / "alone", 0, settings)
    many = results(tmp_path / "many", 2, settings)
    assert many[0]["losses"] == pytest.approx(alone["losses"], abs=1e-3)  # its matrices are bfloat16
