"""A decoder alone, as properties that every variant has."""

import pytest
import torch

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.build import build
from tests.shapes import DECODER_VARIANTS, PAD, VOCABULARY, max_difference, random_model, sentences, small

TIGHT = 2e-5

every_variant = pytest.mark.parametrize("config", DECODER_VARIANTS.values(), ids=DECODER_VARIANTS)


@every_variant
def test_no_token_sees_the_future_and_none_beyond_its_window(config: ModelConfig) -> None:
    model, tokens = random_model(config), sentences(2, 12)
    changed = tokens.clone()
    changed[:, 3] = (changed[:, 3] - 4 + 1) % (VOCABULARY - 4) + 4
    moved = (model(tokens) - model(changed)).abs().amax((0, 2))
    assert moved[:3].max() < TIGHT
    assert moved[3] > 1e-3
    if config.attention.window:  # each layer reaches one window further
        assert moved[3 + config.layers * (config.attention.window - 1) + 1 :].max() < TIGHT
    else:
        assert moved[-1] > TIGHT


@every_variant
def test_cached_steps_equal_the_parallel_pass(config: ModelConfig) -> None:
    model, tokens = random_model(config), sentences(3, 7)
    parallel = model(tokens)
    for chunk in (1, 3):  # one token at a time, and several
        cache, steps = (), []
        for start in range(0, tokens.size(1), chunk):
            output = model.decode(tokens[:, start : start + chunk], cache)
            cache = output.cache
            steps.append(model.output_projection(output.hidden))
        assert max_difference(torch.cat(steps, 1), parallel) < TIGHT


@every_variant
def test_a_batch_gives_what_its_texts_give_alone(config: ModelConfig) -> None:
    """Padding at the end needs no mask; at the start it needs a mask and positions. Neighbours change nothing."""
    model, tokens = random_model(config), sentences(3, 8, shortest=3)
    at_end, at_start = tokens, tokens.flip(1)
    mask = at_start != PAD
    together = model(at_end), model(at_start, mask, (mask.long().cumsum(1) - 1).clamp(min=0))
    for row in range(3):
        length = int((at_end[row] != PAD).sum())
        alone = model(at_end[row : row + 1, :length])[0]
        assert max_difference(together[0][row, :length], alone) < TIGHT
        alone = model(at_start[row : row + 1, 8 - length :])[0]
        assert max_difference(together[1][row, 8 - length :], alone) < TIGHT


@every_variant
def test_steps_after_padding_at_the_start(config: ModelConfig) -> None:
    """As texts of different lengths are continued together."""
    model, tokens = random_model(config), sentences(3, 8, shortest=3).flip(1)
    mask = tokens != PAD
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    whole = model(tokens, mask, positions)
    cache = model.decode(tokens[:, :6], (), mask[:, :6], positions[:, :6]).cache
    for t in (6, 7):
        output = model.decode(tokens[:, t : t + 1], cache, mask[:, : t + 1], positions[:, t : t + 1])
        cache = output.cache
        assert max_difference(model.output_projection(output.hidden)[:, 0], whole[:, t]) < TIGHT


@every_variant
def test_captured_attention_is_a_distribution_and_changes_nothing(config: ModelConfig) -> None:
    model, tokens = random_model(config), sentences(2, 6)
    output = model.decode(tokens, capture=True)
    assert max_difference(output.hidden, model.decode(tokens).hidden) < TIGHT
    assert len(output.self_weights) == config.layers
    for weights in output.self_weights:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-5, rtol=0)
        assert (weights.triu(1) == 0).all()
        if config.attention.window:
            assert (weights.tril(-config.attention.window) == 0).all()


@every_variant
def test_the_kernel_and_the_formula_agree(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = random_model(config), sentences(2, 7)
    explicit = model(tokens)
    monkeypatch.setattr("headwise.nn.attention.SHORT", 0)
    assert max_difference(model(tokens), explicit) < TIGHT


@every_variant
def test_every_parameter_gets_a_gradient(config: ModelConfig) -> None:
    model = random_model(config)
    model(sentences(2, 6)).log_softmax(-1)[..., 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_a_tied_head_is_the_embedding() -> None:
    tied, untied = (build(small(family="causal_lm", tie=tie), VOCABULARY, PAD) for tie in ("all", "none"))
    assert tied.output_projection.weight is tied.embedding.weight
    assert untied.output_projection.weight is not untied.embedding.weight
    headless = build(small(family="causal_lm", tie="none", output__language_head=False), VOCABULARY, PAD)
    assert headless.output_projection.weight is headless.embedding.weight  # nothing is kept for a head it lacks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm.order": "sideways"}, "norm.order.*parallel"),
        ({"positions.kind": "rotary", "positions.rotary.width": 8}, r"rotary\.width"),
        ({"positions.kind": "rotary", "positions.rotary.width": 3}, "even"),
        ({"attention.window": -1}, "window"),
        ({"shared_layers": 4}, "shared_layers"),
        ({"tie": "embeddings"}, "one embedding"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(small(family="causal_lm", **changes), VOCABULARY, PAD)


def test_an_encoder_decoder_has_no_parallel_layers() -> None:
    with pytest.raises(ConfigError, match="cross-attention"):
        build(small(norm__order="parallel"), VOCABULARY, PAD)
