"""The whole model, as properties that every variant has."""

import pytest
import torch
from torch import nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.masks import EVERYTHING
from headwise.nn.positions import Sinusoidal
from headwise.presets import PRESETS, preset_config
from tests.shapes import PAD, VARIANTS, VOCABULARY, max_difference, parameters, random_model, sentences, small

TIGHT = 2e-5

every_variant = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


@every_variant
def test_no_target_token_sees_the_future(config: ModelConfig) -> None:
    model = random_model(config)
    source, target = sentences(2, 7), sentences(2, 6)
    logits = model(source, target)
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 4 + 1) % (VOCABULARY - 4) + 4
    other = model(source, changed)
    assert max_difference(logits[:, :3], other[:, :3]) < TIGHT
    assert max_difference(logits[:, 3:], other[:, 3:]) > 1e-3


@every_variant
def test_a_leak_would_be_caught(config: ModelConfig) -> None:
    """The property above is not vacuous: without the causal mask the future does change the past."""
    model = random_model(config)
    for layer in model.decoder.layers:
        layer.pattern = EVERYTHING
    source, target = sentences(2, 7), sentences(2, 6)
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 4 + 1) % (VOCABULARY - 4) + 4
    assert max_difference(model(source, target)[:, :3], model(source, changed)[:, :3]) > 1e-4


@every_variant
def test_a_batch_gives_what_its_sentences_give_alone(config: ModelConfig) -> None:
    """Padding changes nothing, and neither do neighbours."""
    model = random_model(config)
    source, target = sentences(3, 8, shortest=2), sentences(3, 7, shortest=3)
    together = model(source, target)
    for row in range(3):
        alone_source, alone_target = source[row][source[row] != PAD], target[row][target[row] != PAD]
        alone = model(alone_source[None], alone_target[None])[0]
        assert max_difference(together[row, : len(alone_target)], alone) < TIGHT


@every_variant
def test_cached_steps_equal_the_parallel_pass(config: ModelConfig) -> None:
    model = random_model(config)
    source, target = sentences(3, 6, shortest=2), sentences(3, 7)
    parallel = model(source, target)
    encoded = model.encode(source)
    for chunk in (1, 3):  # one token at a time, and several
        cache, steps = (), []
        for start in range(0, target.size(1), chunk):
            output = model.decode(target[:, start : start + chunk], encoded, cache)
            cache = output.cache
            steps.append(model.output_projection(output.hidden))
        assert max_difference(torch.cat(steps, 1), parallel) < TIGHT


@every_variant
def test_captured_attention_is_a_distribution_and_changes_nothing(config: ModelConfig) -> None:
    model = random_model(config)
    source, target = sentences(2, 6, shortest=3), sentences(2, 5)
    encoded = model.encode(source, capture=True)
    output = model.decode(target, encoded, capture=True)
    assert max_difference(model.output_projection(output.hidden), model(source, target)) < TIGHT
    assert len(encoded.self_weights) == config.encoder_side.layers
    assert len(output.self_weights) == len(output.cross_weights) == config.layers
    for weights in (*encoded.self_weights, *output.self_weights, *output.cross_weights):
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-5, rtol=0)
    for weights in (*encoded.self_weights, *output.cross_weights):
        assert (weights[1, :, :, source[1] == PAD] == 0).all()
    for weights in output.self_weights:
        assert (weights.triu(1) == 0).all()


@every_variant
def test_the_kernel_and_the_formula_agree(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sentences take the explicit path on a CPU; sent through the fused one, they give the same."""
    model = random_model(config)
    source, target = sentences(3, 8, shortest=2), sentences(3, 7)
    explicit = model(source, target)
    monkeypatch.setattr("headwise.nn.attention.SHORT", 0)
    assert max_difference(model(source, target), explicit) < TIGHT


@every_variant
def test_every_parameter_gets_a_gradient(config: ModelConfig) -> None:
    model = random_model(config)
    model(sentences(2, 6), sentences(2, 5)).log_softmax(-1)[..., 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_without_positions_the_encoder_is_permutation_equivariant() -> None:
    order = torch.randperm(7)
    source = sentences(1, 7)
    without = random_model(small(positions__kind="none"))
    memory, permuted = without.encode(source).memory, without.encode(source[:, order]).memory
    assert max_difference(memory[:, order], permuted) < TIGHT
    with_positions = random_model(small(positions__kind="sinusoidal"))
    moved = with_positions.encode(source[:, order]).memory
    assert max_difference(with_positions.encode(source).memory[:, order], moved) > 1e-2


def test_every_decoder_layer_reads_the_last_encoder_layer() -> None:
    model = random_model(small())
    source, target = sentences(1, 5), sentences(1, 4)
    encoded = model.encode(source)
    cache = model.decode(target, encoded).cache
    for layer, kept in zip(model.decoder.layers, cache, strict=True):
        expected = layer.cross_attention.keys_values(encoded.memory)
        assert torch.equal(kept.memory.key, expected.key)
        assert torch.equal(kept.memory.value, expected.value)


@pytest.mark.parametrize(("tie", "matrices"), [("all", 1), ("decoder", 2), ("none", 3)])
def test_tied_matrices_are_one(tie: str, matrices: int) -> None:
    model = build(small(tie=tie), VOCABULARY, PAD)
    weights = {id(part.weight) for part in (model.source_embedding, model.target_embedding, model.output_projection)}
    assert len(weights) == matrices
    untied = parameters(build(small(tie="none"), VOCABULARY, PAD))
    assert untied - parameters(model) == (3 - matrices) * VOCABULARY * 24


def test_dropout_is_on_in_training_alone() -> None:
    model = build(small(dropout=0.5), VOCABULARY, PAD)
    source, target = sentences(1, 5), sentences(1, 4)
    assert max_difference(model.train()(source, target), model(source, target)) > 0
    assert max_difference(model.eval()(source, target), model(source, target)) == 0


def test_initial_logits_are_of_unit_scale() -> None:
    model = build(preset_config("small"), 1000, PAD)
    logits = model.eval()(sentences(8, 20), sentences(8, 20))
    assert 0.3 < logits.std().item() < 3


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_order", ["post", "pre"])
def test_equal_to_torch_nn_transformer(norm_order: str) -> None:
    ours = random_model(small(norm__order=norm_order, positions__kind="sinusoidal"))
    theirs = nn.Transformer(24, 4, 2, 3, 32, dropout=0.0, batch_first=True, norm_first=norm_order == "pre").eval()
    copy_to_torch(ours, theirs, norm_order)
    source, target = sentences(3, 7, shortest=3), sentences(3, 6)

    def embed(tokens: torch.Tensor) -> torch.Tensor:
        vectors = ours.source_embedding.weight[tokens] * 24**0.5
        return vectors + Sinusoidal(24).table(torch.arange(tokens.size(1)))

    hidden = theirs(
        embed(source),
        embed(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(6),
        src_key_padding_mask=(source == PAD).float().masked_fill(source == PAD, float("-inf")),
        memory_key_padding_mask=(source == PAD).float().masked_fill(source == PAD, float("-inf")),
    )
    assert max_difference(hidden @ ours.source_embedding.weight.T, ours(source, target)) < TIGHT


def copy_to_torch(ours: EncoderDecoder, theirs: nn.Transformer, norm_order: str) -> None:
    """Copy the weights into PyTorch's own Transformer. It always ends in a norm; without one of ours, drop it."""

    def attention(mine: nn.Module, its: nn.MultiheadAttention) -> None:
        its.in_proj_weight.copy_(torch.cat([mine.query.weight, mine.key.weight, mine.value.weight]))
        its.in_proj_bias.copy_(torch.cat([mine.query.bias, mine.key.bias, mine.value.bias]))
        its.out_proj.load_state_dict(mine.output.state_dict())

    with torch.no_grad():
        for stack, its_stack in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
            for layer, its in zip(stack.layers, its_stack.layers, strict=True):
                attention(layer.self_attention, its.self_attn)
                its.norm1.load_state_dict(layer.self_norm.norm.state_dict())
                last = its.norm2
                if layer.cross_attention is not None:
                    attention(layer.cross_attention, its.multihead_attn)
                    its.norm2.load_state_dict(layer.cross_norm.norm.state_dict())
                    last = its.norm3
                last.load_state_dict(layer.feed_forward_norm.norm.state_dict())
                its.linear1.load_state_dict(layer.feed_forward.expand.state_dict())
                its.linear2.load_state_dict(layer.feed_forward.contract.state_dict())
            if norm_order == "pre":
                its_stack.norm.load_state_dict(stack.final_norm.state_dict())
            else:
                its_stack.norm = None


@pytest.mark.parametrize(
    ("name", "millions"),
    # Table 3 of the paper gives 65 and 213 million for base and big with a shared vocabulary of about 37,000.
    [("base", 65), ("big", 213)],
)
def test_presets_have_the_papers_size(name: str, millions: int) -> None:
    with torch.device("meta"):
        model = build(preset_config(name), 37_000, PAD)
    assert parameters(model) / 1e6 == pytest.approx(millions, rel=0.03)


def test_presets_are_the_rows_of_table_3() -> None:
    base, big = preset_config("base"), preset_config("big")
    assert (base.encoder_side.layers, base.layers, base.width, base.feed_forward.hidden, base.attention.heads) == (
        6,
        6,
        512,
        2048,
        8,
    )
    assert (big.encoder_side.layers, big.layers, big.width, big.feed_forward.hidden, big.attention.heads) == (
        6,
        6,
        1024,
        4096,
        16,
    )
    assert (base.dropout, big.dropout) == (0.1, 0.3)
    assert (preset_config("tiny").encoder_side.layers, preset_config("tiny").width) == (4, 128)
    assert preset_config("deep").encoder_side.layers > 3 * preset_config("deep").layers
    assert {"tiny", "small", "base", "big", "deep"} <= PRESETS.keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions.kind": "rotray"}, "positions.*sinusoidal"),
        ({"norm.kind": "batch"}, "norm"),
        ({"family": "encoder"}, "family"),
        ({"attention.heads": 5}, "5 heads"),
        ({"attention.heads": 4, "attention.key_value_heads": 3}, "key/value"),
        ({"encoder.width": 32}, "tie"),
        ({"positions.kind": "rotary", "width": 20, "attention.heads": 4}, "even"),
        ({"dropout": 1.0}, "dropout"),
        ({"layers": 0}, "model.layers"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(small(**changes), VOCABULARY, PAD)
