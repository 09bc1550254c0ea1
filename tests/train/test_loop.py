"""The loop: what reaches the weights, what is kept, when it ends."""

import math
import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from headwise.errors import ConfigError, TrainingError
from headwise.files.tables import read_json
from headwise.files.tensors import load_tensors
from headwise.interrupt import StopRequest
from headwise.models.folder.run_layout import checkpoints
from headwise.train.step.loss import TokenLoss
from headwise.train.step.optimiser import clip_gradients, make_optimiser
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import (
    FILES,
    Memory,
    batch,
    counting,
    fit_recipe,
    joined,
    run_fit,
    same_tensors,
    scripted,
    some_batches,
    tiny_model,
    weights,
)


def steps_on_disk(run: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in checkpoints(run)]


# --- gradients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3])
def test_accumulation_equals_one_big_batch(tmp_path: Path, count: int) -> None:
    """The micro-batches differ in tokens: a mean of their means would be another gradient."""
    parts = [batch([9, 8, 7], 0), batch([1], 3), batch([2, 2], 4)][:count]
    results = []
    for name, batches, accumulate in (("parts", parts, count), ("whole", [joined(parts)], 1)):
        torch.manual_seed(1)
        model = tiny_model()
        _, reporter, model = run_fit(
            tmp_path / name, model=model, batches=batches, accumulate=accumulate, steps=3, epsilon=1e-3
        )
        results.append((weights(model), reporter.records))
    (parts_weights, parts_log), (whole_weights, whole_log) = results
    for name, tensor in whole_weights.items():
        torch.testing.assert_close(parts_weights[name], tensor, rtol=1e-4, atol=2e-6)
    for one, other in zip(parts_log, whole_log, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-5)
        assert one["gradient_norm"] == pytest.approx(other["gradient_norm"], rel=1e-4)
        assert one["tokens"] == other["tokens"]


def test_the_loss_is_a_mean_over_real_tokens(tmp_path: Path) -> None:
    batches = some_batches(3)
    model = tiny_model()
    expected = sum(teacher_forcing(0.1)(model, each).nll.item() for each in batches)
    _, reporter, _ = run_fit(tmp_path, model=model, batches=batches, accumulate=3, steps=1)
    assert reporter.records[0]["nll"] == pytest.approx(expected / sum(each.target_tokens for each in batches))


def test_clipping_limits_the_norm_and_tells_the_one_before() -> None:
    model = nn.Linear(3, 2)
    for limit, after in ((0.5, 0.5), (0.0, 10.0), (20.0, 10.0)):
        model.weight.grad, model.bias.grad = torch.zeros(2, 3), torch.tensor([6.0, 8.0])
        assert clip_gradients(model, limit) == pytest.approx(10)
        assert model.bias.grad.norm().item() == pytest.approx(after, rel=1e-4)


def test_weight_decay_is_for_matrices() -> None:
    model = tiny_model()
    groups = make_optimiser(model, fit_recipe(weight_decay=0.1)).param_groups
    assert {tensor.dim() for tensor in groups[0]["params"]} == {2}
    assert {tensor.dim() for tensor in groups[1]["params"]} == {1}
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))


def test_bfloat16_trains_weights_that_stay_float32(tmp_path: Path) -> None:
    _, exact, _ = run_fit(tmp_path / "float", steps=4)
    _, rounded, model = run_fit(tmp_path / "bfloat", steps=4, autocast=torch.bfloat16)
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}
    ours, theirs = ([record["loss"] for record in each.records] for each in (rounded, exact))
    assert ours == pytest.approx(theirs, rel=0.02)
    assert ours != theirs


# --- non-finite steps ----------------------------------------------------------------------------------


def nan_loss(model: nn.Module, loss: TokenLoss) -> TokenLoss:
    return TokenLoss(loss.loss * math.nan, loss.nll)


def infinite_gradient(model: nn.Module, loss: TokenLoss) -> TokenLoss:
    """The loss itself stays as it is: the root of 0 is 0, but no slope is steeper."""
    parameter = next(model.parameters())
    return TokenLoss(loss.loss + (parameter - parameter.detach()).abs().sum().sqrt(), loss.nll)


@pytest.mark.parametrize("action", [nan_loss, infinite_gradient])
def test_a_non_finite_step_never_reaches_the_weights(tmp_path: Path, action: object) -> None:
    objective = counting(teacher_forcing(0.1), at=6, action=action)  # the second micro-batch of step 3
    progress, reporter, model = run_fit(tmp_path, objective=objective, accumulate=2, steps=5, ema=0.9)
    second, third, fourth = checkpoints(tmp_path)[1:4]
    for name in ("model.safetensors", "optimiser.safetensors", "average.safetensors"):
        assert same_tensors(second / name, third / name)
        assert not same_tensors(third / name, fourth / name)
    assert all(tensor.isfinite().all() for tensor in model.parameters())
    assert (progress.nonfinite, progress.nonfinite_row) == (1, 0)
    [note] = [note for note in reporter.notes if "skipped" in note]
    assert note.startswith("step 3: ")
    wanted = [f"corpus.tsv:{line}" for line in (*range(13, 16), *range(1, 4))]  # batches 5 and 6 of 5
    assert note.endswith("Its lines: " + ", ".join(wanted))
    # The data goes on behind the step that was thrown away.
    assert read_json(third / "state.json")["position"]["batch"] == 6


def test_the_log_tells_no_loss_where_every_step_was_thrown_away(tmp_path: Path) -> None:
    objective = counting(teacher_forcing(0.1), at=2, action=nan_loss)
    _, reporter, _ = run_fit(tmp_path, objective=objective, steps=3)
    losses = [record["loss"] for record in reporter.records]
    assert [math.isnan(loss) for loss in losses] == [False, True, False]


def test_several_non_finite_steps_in_a_row_end_the_run(tmp_path: Path) -> None:
    kept: list[dict[str, Tensor]] = []

    def objective(model: nn.Module, batch: object) -> TokenLoss:
        kept.append(weights(model))
        loss = teacher_forcing(0.1)(model, batch)  # type: ignore[arg-type]
        return loss if len(kept) in (1, 2, 5, 6) else nan_loss(model, loss)

    model = tiny_model()
    reporter = Memory()
    with pytest.raises(TrainingError, match=r"3 steps in a row .*checkpoint is of step 6"):
        run_fit(tmp_path, model=model, objective=objective, steps=20, max_nonfinite=3, reporter=reporter)
    assert len(kept) == 9, "two in a row (3 and 4) are forgiven, 7 to 9 are not"
    assert len([note for note in reporter.notes if "skipped" in note]) == 5
    assert all(torch.equal(kept[6][name], tensor) for name, tensor in weights(model).items())
    assert steps_on_disk(tmp_path)[-1] == 8


# --- validation ----------------------------------------------------------------------------------------


def test_early_stopping_waits_for_patience(tmp_path: Path) -> None:
    losses = [5.0, 4.0, 4.5, 4.1, 3.9, 4.0, 3.9, 4.2, 1.0]
    progress, reporter, _ = run_fit(tmp_path, validate=scripted(losses), patience=3, steps=50)
    assert (progress.step, progress.best_step, progress.finished) == (8, 5, True)
    assert [step for step, best in reporter.validations if best] == [1, 2, 5]
    assert any("loss has not improved in 3 validations" in note for note in reporter.notes)
    assert steps_on_disk(tmp_path)[-1] == 8


def test_a_run_that_stopped_early_stays_stopped(tmp_path: Path) -> None:
    """Else a run that was killed between its last step and its last file would be another one."""
    run_fit(tmp_path, validate=scripted([1.0, 2.0, 3.0]), patience=2, steps=50)
    progress, _, _ = run_fit(tmp_path, validate=scripted([]), patience=2, steps=50)
    assert (progress.step, progress.finished) == (3, True)
    progress, _, _ = run_fit(tmp_path, validate=scripted([2.0] * 9), patience=4, steps=50)
    assert (progress.step, progress.stale) == (5, 4), "more patience goes on, and counts on"


@pytest.mark.parametrize(("select_by", "best"), [("loss", 3), ("bleu", 2)])
def test_the_best_is_chosen_by_what_the_recipe_says(tmp_path: Path, select_by: str, best: int) -> None:
    values = iter([(5.0, 1.0), (4.0, 9.0), (3.0, 2.0), (3.5, 9.0)])

    def validate(model: nn.Module) -> dict[str, float]:
        loss, bleu = next(values)
        return {"loss": loss, "bleu": bleu}

    progress, _, _ = run_fit(tmp_path, validate=validate, select_by=select_by, steps=4)
    assert progress.best_step == best


def test_a_validation_that_is_no_number_is_never_the_best_for_long(tmp_path: Path) -> None:
    progress, _, _ = run_fit(tmp_path, validate=scripted([math.nan, 3.0, math.nan, 4.0]), steps=4)
    assert (progress.best_step, progress.best_metric) == (2, 3.0)


def test_checkpoints_are_the_newest_and_the_best(tmp_path: Path) -> None:
    losses = [5.0, 1.0, 3.0, 4.0, 3.0, 3.0, 3.0]
    run_fit(tmp_path, validate=scripted(losses), keep=2, steps=7)
    assert steps_on_disk(tmp_path) == [2, 6, 7]


def test_enough_checkpoints_are_kept_to_average(tmp_path: Path) -> None:
    run_fit(tmp_path, validate=scripted([1.0] * 8), keep=1, average=3, steps=8)
    assert steps_on_disk(tmp_path) == [1, 6, 7, 8]


def test_a_better_validation_is_saved_between_checkpoints(tmp_path: Path) -> None:
    losses = [5.0, 6.0, 4.0, 6.0, 6.0]
    run_fit(tmp_path, validate=scripted(losses), checkpoint_every=100, steps=5)
    assert steps_on_disk(tmp_path) == [1, 3, 5]


def test_validation_sees_the_averaged_weights_without_dropout_or_gradients(tmp_path: Path) -> None:
    seen: list[dict[str, Tensor]] = []

    def validate(model: nn.Module) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        seen.append(weights(model))
        return {"loss": 1.0}

    _, _, model = run_fit(tmp_path / "validated", validate=validate, ema=0.8, steps=4)
    for path, shown in zip(checkpoints(tmp_path / "validated"), seen, strict=True):
        averaged, own = load_tensors(path / "average.safetensors"), load_tensors(path / "model.safetensors")
        assert all(torch.equal(shown[name], averaged[name]) for name in shown)
        assert not all(torch.equal(shown[name], own[name]) for name in shown)
    run_fit(tmp_path / "not", ema=0.8, steps=4)
    assert same_tensors(
        checkpoints(tmp_path / "not")[-1] / "model.safetensors",
        checkpoints(tmp_path / "validated")[-1] / "model.safetensors",
    ), "validating changes nothing"
    assert model.training


def test_the_moving_average_is_its_formula(tmp_path: Path) -> None:
    decay, steps = 0.3, 6
    torch.manual_seed(3)
    first = {name: tensor.double() for name, tensor in weights(tiny_model(dropout=0.1)).items()}
    run_fit(tmp_path, ema=decay, steps=steps)
    expected = first
    for step, path in enumerate(checkpoints(tmp_path), 1):
        rate = min(decay, (1 + step) / (10 + step))
        own, averaged = load_tensors(path / "model.safetensors"), load_tensors(path / "average.safetensors")
        expected = {name: rate * expected[name] + (1 - rate) * own[name].double() for name in expected}
        for name, tensor in averaged.items():
            torch.testing.assert_close(tensor.double(), expected[name], rtol=1e-5, atol=1e-7)


def test_without_validation_the_run_goes_its_way(tmp_path: Path) -> None:
    progress, reporter, _ = run_fit(tmp_path, validate=None, steps=3, patience=1)
    assert (progress.step, progress.best_step, reporter.validations) == (3, 0, [])


def test_an_unknown_schedule_trains_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="schedule"):
        run_fit(tmp_path, schedule="none", steps=2)


# --- stopping ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_step_and_saves(tmp_path: Path, number: signal.Signals) -> None:
    def ask(model: nn.Module, loss: TokenLoss) -> TokenLoss:
        os.kill(os.getpid(), number)
        return loss

    objective = counting(teacher_forcing(0.1), at=5, action=ask)  # the first micro-batch of step 3
    with StopRequest() as stop:
        progress, _, _ = run_fit(
            tmp_path / "b", objective=objective, stop=stop, accumulate=2, steps=6, checkpoint_every=100
        )
    assert stop
    assert progress.step == 3
    assert steps_on_disk(tmp_path / "b") == [3]
    run_fit(tmp_path / "b", accumulate=2, steps=6)
    run_fit(tmp_path / "a", accumulate=2, steps=6)
    for name in FILES:
        assert same_tensors(checkpoints(tmp_path / "a")[-1] / name, checkpoints(tmp_path / "b")[-1] / name)


@pytest.mark.parametrize("moment", range(1, 9))
def test_whenever_the_request_comes_the_last_step_is_saved(tmp_path: Path, moment: int) -> None:
    """Also between the question whether to save and the question whether to go on."""

    class Request:
        asked = 0

        def __bool__(self) -> bool:
            self.asked += 1
            return self.asked >= moment

    progress, _, _ = run_fit(tmp_path, stop=Request(), steps=50, checkpoint_every=100)
    assert 0 < progress.step < 50
    assert steps_on_disk(tmp_path) == [progress.step]


def test_a_second_signal_stops_at_once_and_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopRequest() as stop:
        assert not stop
        os.kill(os.getpid(), signal.SIGINT)
        assert stop
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_run_in_a_thread_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def inside() -> None:
        with StopRequest() as stop:
            seen.append((signal.getsignal(signal.SIGINT), bool(stop)))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
