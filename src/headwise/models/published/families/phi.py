"""Phi 1 to 2, which resemble GPT-J, and Phi 3 and 4, Llamas with fused matrices."""

from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.heads import GROUPED_HEADS, decoder_head, decoder_in, grouped_heads
from headwise.models.published.rotary_rules import rotary_in, rotary_out, rotary_share
from headwise.models.published.rules import Names, Stacked, linear, rule, stacked
from headwise.recipe import model_config

KEYS: tuple[Key, ...] = (
    ("num_hidden_layers", "layers"),
    ("intermediate_size", "feed_forward.hidden"),
    ("tie_word_embeddings", "tie", False),
    ("resid_pdrop", "dropout", 0.0),
    ("attention_dropout", "attention.dropout", 0.0),
)
PHI_KEYS: tuple[Key, ...] = (
    *KEYS,
    ("hidden_act", "feed_forward.activation", "gelu_new"),
    ("layer_norm_eps", "norm.epsilon", 1e-5),
    ("max_position_embeddings", "positions.max_positions", 2048),
)
PHI3_KEYS: tuple[Key, ...] = (
    *KEYS,
    ("hidden_act", "feed_forward.activation", "silu"),
    ("rms_norm_eps", "norm.epsilon", 1e-5),
    ("max_position_embeddings", "positions.max_positions", 4096),
)


def _shape_in(published: Published, head: Head, keys: tuple[Key, ...], share: float) -> dict[str, Any]:
    """The fields that both families share; a `share` of each head is rotated by default."""
    heads = grouped_heads(published)
    head_width = heads["attention.head_width"] or heads["width"] // heads["attention.heads"]
    rotary = rotary_in(published, head_width, share)
    fields = {**decoder_in(published, head), **heads, **keys_in(published, keys), **rotary}
    return {**fields, "positions.kind": "rotary"}


def _shape_out(config: ModelConfig, keys: tuple[Key, ...]) -> dict[str, Any]:
    return {
        **keys_out(config, (*GROUPED_HEADS, *keys)),
        **rotary_out(config),
        "partial_rotary_factor": rotary_share(config),
        "embd_pdrop": config.dropout,
    }


def phi_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("qk_layernorm", False)
    return model_config(
        {
            **_shape_in(published, head, PHI_KEYS, share=0.5),
            "norm.order": "parallel_shared",
            "attention.bias": True,
            "output.bias": head != "classifier",
        }
    )


def phi_out(config: ModelConfig) -> dict[str, Any]:
    return _shape_out(config, PHI_KEYS)


def phi3_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("attention_bias", False)
    shape = _shape_in(published, head, PHI3_KEYS, share=1.0)
    kind = shape["positions.rotary.scaling"]["kind"]
    if kind == "longrope":
        published.need("original_max_position_embeddings")
    elif kind != "none":
        raise CheckpointError(f"{published.where}: a Phi-3 with {kind} rotary scaling is not supported, only longrope")
    return model_config(
        {
            **shape,
            "attention.window": published.get("sliding_window", None),
            "feed_forward.kind": "gated",
            "norm.kind": "rms",
            "norm.order": "pre",
            "bias": False,
            "attention.bias": False,
        }
    )


def phi3_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **_shape_out(config, PHI3_KEYS),
        "sliding_window": config.attention.window,
        "original_max_position_embeddings": config.positions.rotary.scaling.original_positions
        or config.positions.max_positions,
    }


def phi_names(config: ModelConfig) -> Names:
    body = body_of(config)
    yield rule("model.embed_tokens.weight", f"{body}embedding.weight")
    for i in range(config.layers):
        theirs, ours = f"model.layers.{i}", f"{body}decoder.layers.{i}"
        yield from linear(f"{theirs}.input_layernorm", f"{ours}.self_norm")
        for their_name, our_name in (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("dense", "output")):
            yield from linear(f"{theirs}.self_attn.{their_name}", f"{ours}.self_attention.{our_name}")
        yield from linear(f"{theirs}.mlp.fc1", f"{ours}.feed_forward.expand")
        yield from linear(f"{theirs}.mlp.fc2", f"{ours}.feed_forward.contract")
    yield from linear("model.final_layernorm", f"{body}decoder.final_norm")
    yield from decoder_head(config, "model.embed_tokens.weight")


def phi3_names(config: ModelConfig) -> Names:
    body = body_of(config)
    key_width = (config.attention.key_value_heads or config.attention.heads) * config.head_width
    attention = Stacked((config.attention.heads * config.head_width, key_width, key_width))
    yield rule("model.embed_tokens.weight", f"{body}embedding.weight")
    for i in range(config.layers):
        theirs, ours = f"model.layers.{i}", f"{body}decoder.layers.{i}"
        yield rule(f"{theirs}.input_layernorm.weight", f"{ours}.self_norm.norm.weight")
        yield rule(f"{theirs}.post_attention_layernorm.weight", f"{ours}.feed_forward_norm.norm.weight")
        together = [f"{ours}.self_attention.{part}" for part in ("query", "key", "value")]
        yield from stacked(f"{theirs}.self_attn.qkv_proj", together, attention, bias=False)
        yield rule(f"{theirs}.self_attn.o_proj.weight", f"{ours}.self_attention.output.weight")
        together = [f"{ours}.feed_forward.{part}" for part in ("gate", "expand")]
        yield from stacked(
            f"{theirs}.mlp.gate_up_proj", together, Stacked((config.feed_forward.hidden,) * 2), bias=False
        )
        yield rule(f"{theirs}.mlp.down_proj.weight", f"{ours}.feed_forward.contract.weight")
    yield rule("model.norm.weight", f"{body}decoder.final_norm.weight")
    yield from decoder_head(config, "model.embed_tokens.weight")


PHI = Family(
    model_type="phi",
    architectures={"PhiForCausalLM": "language", "PhiForSequenceClassification": "classifier"},
    config_in=phi_in,
    config_out=phi_out,
    names=phi_names,
    ignored=(r"rotary_emb\.inv_freq$",),
)

PHI3 = Family(
    model_type="phi3",
    architectures={"Phi3ForCausalLM": "language", "Phi3ForSequenceClassification": "classifier"},
    config_in=phi3_in,
    config_out=phi3_out,
    names=phi3_names,
    ignored=(r"rotary_emb\.inv_freq$",),
)
