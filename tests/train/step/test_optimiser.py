"""Muon beside what defines it: singular values near 1, a step of Adam's size, nothing for a step that is not finite."""

import copy

import pytest
import torch
from torch import nn

from headwise.train.step.optimiser import Muon, inner_matrices, make_optimiser, orthogonal, update
from tests.train.test_loop import fit_recipe


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 40), (2, 40, 8)])
def test_singular_values_come_near_one(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape)).float())
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_singular_vectors_stay() -> None:
    """The nearest orthogonal matrix is U V of the decomposition U S V."""
    torch.manual_seed(1)
    matrix = torch.randn(1, 12, 12) + 3 * torch.eye(12)
    u, _, v = torch.linalg.svd(matrix)
    similarity = nn.functional.cosine_similarity(orthogonal(matrix).float().flatten(), (u @ v).flatten(), dim=0)
    assert similarity > 0.97


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(2)])
        self.output = nn.Linear(8, 7)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer(x)
        logits: torch.Tensor = self.output(x)
        return logits


def small() -> tuple[Small, Muon]:
    torch.manual_seed(0)
    model = Small()
    optimiser = make_optimiser(model, fit_recipe(optimiser="muon", weight_decay=0.1))
    assert isinstance(optimiser, Muon)
    for group in optimiser.param_groups:
        group["lr"] = 0.01
    return model, optimiser


def backward(model: Small) -> None:
    ids = torch.arange(7)
    nn.functional.cross_entropy(model(ids), ids.roll(1)).backward()


def test_only_matrices_of_layers_are_orthogonalised() -> None:
    model, optimiser = small()
    groups = [group["params"] for group in optimiser.param_groups if group["orthogonalised"]]
    found = [parameter for group in groups for parameter in group]
    assert {*found} == {*inner_matrices(model)} == {layer[i].weight for layer in model.layers for i in (0, 2)}
    assert sum(len(group["params"]) for group in optimiser.param_groups) == len([*model.parameters()])


def test_step_has_the_size_of_adams() -> None:
    model, optimiser = small()
    before = copy.deepcopy(model)
    backward(model)
    update(optimiser, torch.tensor(True))
    change = model.layers[0][0].weight - before.layers[0][0].weight * (1 - 0.01 * 0.1)
    assert 0.1 * 0.01 < change.square().mean().sqrt() < 0.3 * 0.01
    assert not torch.equal(model.embedding.weight, before.embedding.weight)


def test_learns() -> None:
    model, optimiser = small()
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        ids = torch.arange(7)
        loss = nn.functional.cross_entropy(model(ids), ids.roll(1))
        loss.backward()
        update(optimiser, torch.isfinite(loss))
        losses.append(loss.item())
    assert losses[-1] < 0.1 < losses[0]


def test_a_step_that_is_not_finite_changes_nothing() -> None:
    model, optimiser = small()
    backward(model)
    update(optimiser, torch.tensor(True))
    weights = copy.deepcopy(model.state_dict())
    momentum = {key: state["momentum"].clone() for key, state in optimiser.state.items() if "momentum" in state}
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, float("nan"))
    update(optimiser, torch.tensor(False))
    assert all(torch.equal(weights[name], now) for name, now in model.state_dict().items())
    assert momentum
    assert all(torch.equal(old, optimiser.state[key]["momentum"]) for key, old in momentum.items())
