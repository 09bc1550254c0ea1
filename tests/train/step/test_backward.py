"""A recorded pass is the plain one, played back: the same loss, the same gradients, the same random numbers."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.config import RotaryScaling
from headwise.data.batch.text_rows import TextBatch
from headwise.models.build import build
from headwise.presets import resolve
from headwise.recipe import model_config
from headwise.train.step.backward import Graphed, Plain, can_be_graphed
from headwise.train.step.optimiser import make_optimiser, update
from headwise.train.tasks.causal_lm_task import next_token
from tests.train.texts import CAUSAL

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA's")
VOCABULARY = 20


def model(device: str, dropout: float = 0.0) -> Any:
    torch.manual_seed(0)
    shape = {key: value for key, value in CAUSAL.items() if key != "preset"}
    config = dataclasses.replace(model_config(shape), dropout=dropout)  # type: ignore[arg-type]
    return build(config, VOCABULARY, 0).to(device).train()


def batches(device: str) -> list[TextBatch]:
    torch.manual_seed(1)
    shapes = [(4, 17), (4, 17), (2, 17)]
    made = [TextBatch(torch.randint(4, VOCABULARY, shape), np.zeros(shape[0], np.int64)) for shape in shapes]
    return [batch.to(torch.device(device)) for batch in made]


def gradients(of: Any) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in of.parameters()]


def test_gradients_of_batches_add_up_to_the_mean_over_all() -> None:
    one, other = model("cpu"), model("cpu")
    backward = Plain(one, next_token(0.0), None)
    parts = batches("cpu")
    count = sum(batch.count for batch in parts)
    losses = [backward(batch, count).loss for batch in parts]
    mean = sum(next_token(0.0)(other, batch).loss for batch in parts) / count
    mean.backward()
    torch.testing.assert_close(sum(losses) / count, mean.detach())
    for ours, theirs in zip(gradients(one), gradients(other), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_step_that_is_not_finite_changes_nothing() -> None:
    trained = model("cpu")
    recipe = resolve({"task": "causal_lm", "model": CAUSAL})
    optimiser = make_optimiser(trained, recipe)
    Plain(trained, next_token(0.0), None)(batches("cpu")[0], 1)
    before = [parameter.detach().clone() for parameter in trained.parameters()]
    for group in optimiser.param_groups:
        group["lr"] = 0.1
    update(optimiser, torch.tensor(False))
    assert all(torch.equal(*pair) for pair in zip(before, trained.parameters(), strict=True))
    assert all(state["step"] == 0 for state in optimiser.state.values())
    update(optimiser, torch.tensor(True))
    assert not all(torch.equal(*pair) for pair in zip(before, trained.parameters(), strict=True))
    assert all(state["step"] == 1 for state in optimiser.state.values())


@CUDA
@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
def test_a_recorded_pass_is_the_plain_one(autocast: torch.dtype | None) -> None:
    plain, recorded = model("cuda"), model("cuda")
    ways = Plain(plain, next_token(0.0), autocast), Graphed(recorded, next_token(0.0), autocast)
    for batch in [*batches("cuda"), *batches("cuda")]:
        expected, found = (way(batch, 100) for way in ways)
        torch.testing.assert_close(found.loss, expected.loss, rtol=1e-3, atol=1e-3)
        for ours, theirs in zip(gradients(recorded), gradients(plain), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-4)


@CUDA
def test_recording_takes_no_random_numbers() -> None:
    """Else a run that was stopped would go on with others."""
    trained = model("cuda", dropout=0.3)
    batch = batches("cuda")[0]
    losses = []
    for _ in range(2):
        fresh = Graphed(trained, next_token(0.0), None)
        torch.cuda.manual_seed(5)
        losses.append([fresh(batch, 1).loss.item() for _ in range(3)])
        state = torch.cuda.get_rng_state()
        again = fresh(batch, 1).loss.item()
        torch.cuda.set_rng_state(state)
        assert fresh(batch, 1).loss.item() == again
    assert losses[0] == losses[1]
    assert len(set(losses[0])) == 3, "each pass draws others"


@CUDA
def test_a_weight_that_the_loss_does_not_reach_has_no_gradient() -> None:
    """With a gradient of 0 it would still decay."""
    trained = model("cuda")
    trained.unused = torch.nn.Parameter(torch.ones(3, 3, device="cuda"))
    backward = Graphed(trained, next_token(0.0), None)
    for batch in batches("cuda"):
        backward(batch, 100)
    reached = {name for name, parameter in trained.named_parameters() if parameter.grad is not None}
    assert reached == {name for name, _ in trained.named_parameters()} - {"unused"}


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, True),
        ({"positions.kind": "rotary"}, True),
        ({"positions.kind": "rotary", "positions.rotary.scaling": RotaryScaling("dynamic", 2.0)}, False),
        ({"stack": "lstm", "positions.kind": "none"}, True),
        ({"family": "masked_lm", "stack": "lstm", "positions.kind": "none"}, False),
    ],
)
def test_what_asks_for_values_is_not_recorded(changes: dict[str, Any], possible: bool) -> None:
    shape = {key: value for key, value in CAUSAL.items() if key != "preset"} | changes
    assert can_be_graphed(build(model_config(shape), VOCABULARY, 0)) == possible  # type: ignore[arg-type]
