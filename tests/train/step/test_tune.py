"""What learns, and how fast: frozen weights stay bit for bit, low-rank runs resume exactly, layers have their rates."""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise.config import Recipe, TuneConfig
from headwise.data.batch.stream import Planned
from headwise.errors import ConfigError
from headwise.interrupt import StopRequest
from headwise.models.build import build
from headwise.models.folder.run_layout import step_folder
from headwise.nn.lora import LoraLinear, merge_lora
from headwise.presets import resolve
from headwise.recipe import model_config
from headwise.train.loop import fit
from headwise.train.step.loss import TokenLoss
from headwise.train.step.tune import begins, check_tuning, freeze, layer_scales, parameter_groups, tune
from tests.train.small_runs import FILES, TINY, Memory, same_tensors, weights

SHAPE: dict[str, Any] = {**TINY, "family": "masked_lm", "layers": 3, "classes": 2, "embedding.segments": 2}
VOCABULARY = 11


def recipe(init: str = "somewhere", weight_decay: float = 0.0, **settings: Any) -> Recipe:
    made = resolve({"train": {"weight_decay": weight_decay, "learning_rate": 0.01, "warmup": 2, "steps": 6}})
    model = model_config(SHAPE)
    return dataclasses.replace(made, init=init, model=model, tune=TuneConfig(**settings))


def model(dropout: float = 0.1) -> nn.Module:
    torch.manual_seed(1)
    return build(model_config({**SHAPE, "dropout": dropout}), VOCABULARY, 0)


def learning(changed: nn.Module) -> set[str]:
    return {name for name, parameter in changed.named_parameters() if parameter.requires_grad}


@dataclasses.dataclass
class Texts:
    tokens: Tensor
    count: int = 4

    def __len__(self) -> int:
        return len(self.tokens)

    def part(self, rows: slice) -> "Texts":
        return Texts(self.tokens[rows])

    def to(self, device: torch.device) -> "Texts":
        return self


class Stream:
    """Four texts a batch, told by their number alone."""

    uniform = False
    makers = 1

    def epoch(self, epoch: int) -> Iterator[Planned[Any]]:
        for number in itertools.count():
            yield Planned(4, lambda rows, number=number: self._texts(number))  # type: ignore[misc]

    def _texts(self, number: int) -> Texts:
        rng = torch.Generator().manual_seed(number)
        return Texts(torch.randint(1, VOCABULARY, (4, 6), generator=rng))

    def longest(self, batch_tokens: int) -> Any:
        return self._texts(0)

    def lines(self, batch: Any) -> list[str]:
        return []


def objective(classifier: nn.Module, batch: Texts) -> TokenLoss:
    loss = nn.functional.cross_entropy(classifier(batch.tokens), batch.tokens[:, 0] % 2, reduction="sum")
    return TokenLoss(loss, loss.detach())


def trained(run: Path, config: Recipe, steps: int = 6) -> nn.Module:
    """Of the same first weights, to `steps` from wherever `run` is."""
    changed = model()
    tune(changed, config)
    config = dataclasses.replace(config, train=dataclasses.replace(config.train, steps=steps, checkpoint_every=3))
    fit(changed, objective, Stream(), config, run, validate=None, reporter=Memory(), stop=StopRequest())
    return changed


def test_names_begin_in_whole_parts_with_or_without_the_body() -> None:
    assert begins("body.encoder.layers.1.self_attention.query.weight", "encoder.layers.1")
    assert begins("body.encoder.layers.1.self_attention.query.weight", "body.encoder")
    assert not begins("body.encoder.layers.10.self_attention.query.weight", "encoder.layers.1")
    assert not begins("body.embedding_norm.weight", "embedding")
    assert not begins("anything", "")


def test_freezing_what_is_not_there_lists_what_is() -> None:
    with pytest.raises(ConfigError, match=r"begins with 'encoder.layer.1'; there are: .*encoder.layers.1"):
        freeze(model(), ["encoder.layer.1"])
    with pytest.raises(ConfigError, match=r"there are: embedding, .*encoder"):
        freeze(model(), ["zzz"])
    with pytest.raises(ConfigError, match="nothing to learn"):
        tune(model(), recipe(freeze=("body", "output")))


def test_frozen_weights_stay_bit_for_bit_and_the_others_move(tmp_path: Path) -> None:
    config = recipe(weight_decay=0.1, freeze=("embedding", "encoder.layers.0"))
    before, after = weights(model()), weights(trained(tmp_path, config))
    for name, tensor in before.items():
        frozen = begins(name, "embedding") or begins(name, "encoder.layers.0")
        unused = name.startswith(("body.head", "body.segments"))
        assert torch.equal(tensor, after[name]) == frozen or unused, name


def test_low_rank_changes_nothing_else(tmp_path: Path) -> None:
    changed = trained(tmp_path, recipe(lora_rank=2, lora_dropout=0.1, weight_decay=0.1))
    before, after = weights(model()), weights(changed)
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]) == (not name.startswith("output.")), name
    assert learning(changed) == {name for name in after if name.endswith(("lora_up", "lora_down"))} | {
        name for name in after if name.startswith("output.")
    }
    adapted = {name.rpartition(".")[0] for name in after if name.endswith("lora_up")}
    assert all(".self_attention." in name or ".feed_forward." in name for name in adapted)
    assert len(adapted) == 3 * (4 + 2)
    tokens = torch.randint(1, VOCABULARY, (5, 7))
    expected = changed.eval()(tokens)
    merge_lora(changed)
    assert not any(isinstance(module, LoraLinear) for module in changed.modules())
    assert weights(changed).keys() == before.keys()
    torch.testing.assert_close(changed.eval()(tokens), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "settings", [{"lora_rank": 2, "lora_dropout": 0.2}, {"freeze": ("embedding",), "layer_decay": 0.5}]
)
def test_a_run_that_was_stopped_goes_on_exactly(tmp_path: Path, settings: dict[str, Any]) -> None:
    trained(tmp_path / "whole", recipe(**settings))
    trained(tmp_path / "parts", recipe(**settings), steps=3)
    trained(tmp_path / "parts", recipe(**settings))
    for name in FILES:
        assert same_tensors(step_folder(tmp_path / "whole", 6) / name, step_folder(tmp_path / "parts", 6) / name)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="no attention"):
        tune(nn.Sequential(nn.Linear(2, 2)), recipe(lora_rank=2))
    for settings in ({"lora_rank": 2}, {"freeze": ("embedding",)}, {"layer_decay": 0.5}):
        with pytest.raises(ConfigError, match="init"):
            check_tuning(recipe(init="", **settings))
        check_tuning(recipe(**settings))
    for wrong in (
        {"lora_dropout": 1.0},
        {"lora_rank": -1},
        {"lora_alpha": 0.0},
        {"layer_decay": 0.0},
        {"layer_decay": 2.0},
    ):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            check_tuning(recipe(**wrong))


def test_without_tuning_the_groups_are_matrices_and_the_rest() -> None:
    whole = model()
    tune(whole, recipe())
    matrices, others = parameter_groups(whole, recipe(weight_decay=0.1))
    assert (matrices["weight_decay"], matrices["scale"]) == (0.1, 1.0)
    assert (others["weight_decay"], others["scale"]) == (0.0, 1.0)
    own = [id(parameter) for parameter in whole.parameters()]
    assert sorted(own) == sorted(id(p) for group in (matrices, others) for p in group["params"])
    assert all(parameter.dim() > 1 for parameter in matrices["params"])
    assert all(parameter.dim() <= 1 for parameter in others["params"])


def test_each_layer_has_the_rate_of_the_one_above_times_the_decay() -> None:
    whole = model()
    groups = parameter_groups(whole, recipe(layer_decay=0.5))
    names = {id(parameter): name for name, parameter in whole.named_parameters()}
    scales = {names[id(parameter)]: group["scale"] for group in groups for parameter in group["params"]}
    assert len(scales) == len(names)
    expected = {"output": 1.0, "encoder.layers.2": 0.5, "encoder.layers.0": 0.125}
    expected |= {"embedding": 0.0625, "segments": 0.0625}
    for beginning, scale in expected.items():
        found = {scales[name] for name in scales if begins(name, beginning)}
        assert found == {scale}, beginning


def test_two_stacks_count_their_own_layers() -> None:
    names = [
        "embedding.weight",
        "encoder.layers.0.a",
        "encoder.layers.1.a",
        "decoder.layers.0.a",
        "decoder.final_norm.a",
    ]
    assert list(layer_scales(names, 0.5).values()) == [0.125, 0.25, 0.5, 0.5, 1.0]


def test_the_rate_of_a_group_is_the_schedules_times_its_scale(tmp_path: Path) -> None:
    """One step of Adam is about the learning rate, whatever the gradient."""
    config = recipe(layer_decay=0.1)
    before, after = weights(model()), weights(trained(tmp_path, config, steps=1))

    def moved(beginning: str) -> float:
        return max(
            (after[n] - before[n]).abs().max().item() for n in before if begins(n, beginning) and "head" not in n
        )

    assert moved("encoder.layers.2") == pytest.approx(0.1 * moved("output"), rel=0.05)
    assert moved("encoder.layers.1") == pytest.approx(0.01 * moved("output"), rel=0.05)
