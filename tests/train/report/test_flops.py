"""The operations of training: counted on short inputs, they give those of any length, for every family."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headwise.config import LanguageConfig, ModelConfig, TrainConfig
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.presets import preset_config
from headwise.train.report.flops import blank, flops_per_unit, multiply_adds, row_cost, sentence_cost
from tests.shapes import PAD, VOCABULARY, small


def counted(run: Any) -> int:
    """By PyTorch, which sees the operations themselves."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def ids(length: int) -> torch.Tensor:
    return torch.full((1, length), 5)


TRANSLATORS = {
    "paper": small(),
    "pre-norm": small(norm__order="pre"),
    "gated": small(
        feed_forward__kind="gated",
        feed_forward__activation="silu",
        norm__kind="rms",
        positions__kind="rotary",
        bias=False,
    ),
    "wider encoder": small(encoder__width=40, encoder__heads=2, encoder__hidden=48, tie="decoder"),
    "shared layers": small(shared_layers=1),
    "wide heads": small(attention__head_width=10),
    "untied": small(tie="none"),
}


@pytest.mark.parametrize("name", TRANSLATORS)
@pytest.mark.parametrize(("source", "target"), [(1, 1), (11, 6), (300, 200)])
def test_the_lengths_of_a_pair_tell_its_cost(name: str, source: int, target: int) -> None:
    model = build(TRANSLATORS[name], VOCABULARY, PAD).eval()
    wanted = multiply_adds(model, lambda: model(ids(source), ids(target)))
    [found] = sentence_cost(model)(np.array([source]), np.array([target]))
    assert found == pytest.approx(wanted, rel=1e-9)


def test_training_has_three_times_the_forward() -> None:
    """But for the embeddings: nothing is asked for the gradient of what goes into the first layer."""
    model = build(small(width=64, feed_forward__hidden=128), VOCABULARY, PAD)

    def learn() -> None:
        model(ids(12), ids(10)).sum().backward()

    forward = 2 * multiply_adds(model, lambda: model(ids(12), ids(10)))
    assert 2.99 * forward < counted(learn) <= 3 * forward


def test_groups_share_keys_but_save_no_products() -> None:
    whole, shared = (build(small(attention__key_value_heads=heads), VOCABULARY, PAD).eval() for heads in (4, 1))
    costs = [multiply_adds(model, lambda model=model: model(ids(7), ids(9))) for model in (whole, shared)]
    config = small()
    projections = (
        2 * config.width * (config.width - config.width // config.attention.heads)
    )  # of keys and of values, a token
    tokens = config.encoder_side.layers * 7 + config.layers * (9 + 7)
    assert costs[0] - costs[1] == projections * tokens


def test_an_lstm() -> None:
    """PyTorch's counter does not know LSTMs: by their definition."""
    model = build(small(stack="lstm", positions__kind="none", attention__heads=1, tie="all"), VOCABULARY, PAD).eval()
    width = small().width
    encoder = small().encoder_side.layers * 2 * 4 * (width // 2) * (width + width // 2)
    decoder = small().layers * 4 * width * 2 * width
    attention = 2 * width * width  # query and output, a target token; key and value, a source token
    a_target = decoder + attention + 2 * width * width + width * VOCABULARY  # mix; output
    wanted = 7 * (encoder + attention) + 9 * a_target + 2 * 7 * 9 * width
    assert multiply_adds(model, lambda: model(ids(7), ids(9))) == wanted
    assert sentence_cost(model)(np.array([7]), np.array([9]))[0] == pytest.approx(wanted)


ROWS = {
    "gpt": small(family="causal_lm", norm__order="pre", positions__kind="learned"),
    "llama": small(
        family="causal_lm",
        norm__order="pre",
        feed_forward__kind="gated",
        positions__kind="rotary",
        attention__key_value_heads=2,
    ),
    "bert": small(family="masked_lm", positions__kind="learned", embedding__segments=2, output__bias=True),
    "classifier": small(
        family="masked_lm", positions__kind="learned", classes=3, output__language_head=False, pooling__pooler="tanh"
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_models_of_one_stack(name: str) -> None:
    model = build(ROWS[name], VOCABULARY, PAD).eval()
    for length in (1, 20):
        assert 2 * row_cost(model)(np.array([length]))[0] == pytest.approx(counted(lambda n=length: model(ids(n))))


@pytest.mark.parametrize("patches", ["linear", "convolutional"])
def test_pictures(patches: str) -> None:
    shape = {
        "family": "vision",
        "patches.image_size": 16,
        "patches.patch_size": 4,
        "classes": 3,
        "patches.kind": patches,
    }
    config = small(**shape, positions__kind="learned")
    model = build(config, 0, 0).eval()
    picture = torch.zeros(1, 3, 16, 16)
    job = SimpleNamespace(loaded=LoadedModel(model, Description(config, None, Task(kind="images"))))
    assert flops_per_unit(job) == 3 * counted(lambda: model(picture))  # type: ignore[arg-type]


def a_job(config: ModelConfig, kind: str, **more: Any) -> Any:
    model = build(config, VOCABULARY, PAD)
    loaded = LoadedModel(model, Description(config, None, Task(kind=kind), vocabulary=VOCABULARY))
    return SimpleNamespace(loaded=loaded, **more)


def test_a_masked_model_makes_logits_of_the_hidden_tokens_alone() -> None:
    job = a_job(ROWS["bert"], "masked_lm", recipe=SimpleNamespace(language=LanguageConfig(block=20, mask=0.5)))
    model = job.loaded.model.eval()
    stack, whole = counted(lambda: model.encode(ids(20))), counted(lambda: model(ids(20)))
    assert flops_per_unit(job) == pytest.approx(3 * (stack + (whole - stack) / 2) / 10)


def test_the_mean_over_pairs_and_weights() -> None:
    class Tokenizer:
        def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
            return [], [2]

        def target_start(self, target: str) -> list[int]:
            return []

    def corpus(source: list[int], target: list[int], weight: float) -> Any:
        sides = {"source": np.array(source, np.int32), "target": np.array(target, np.int32)}
        lengths = SimpleNamespace(**{name: SimpleNamespace(lengths=side) for name, side in sides.items()})
        return SimpleNamespace(corpus=lengths, weight=weight, source_language="", target_language="")

    corpora = [corpus([3, 8], [4, 9], 1.0), corpus([20], [10], 3.0)]
    data = SimpleNamespace(tokenizer=Tokenizer(), train=corpora)
    job = a_job(small(), "translation", prepared=data, recipe=SimpleNamespace(train=TrainConfig()))
    model = job.loaded.model.eval()
    seen = [(4, 5), (9, 10), *[(21, 11)] * 3]
    spent = 3 * sum(counted(lambda s=s, t=t: model(ids(s), ids(t))) for s, t in seen)
    assert flops_per_unit(job) == pytest.approx(spent / sum(t for _, t in seen))
    job.recipe.train = TrainConfig(agreement=5.0)
    assert flops_per_unit(job) == pytest.approx(2 * spent / sum(t for _, t in seen))


def test_the_base_model_has_about_six_operations_a_weight() -> None:
    """The rule of thumb: with as many source as target tokens, each weight is passed by one of the two."""
    description = Description(preset_config("base"), None, Task(), vocabulary=37_000)
    weights = sum(p.numel() for p in description.empty("").parameters())
    model: Any = blank(description)
    spent = 6 * sentence_cost(model)(np.array([25]), np.array([25]))[0]
    assert 1 < spent / (6 * 25 * weights) < 1.02
