"""Phi 1 to 2, which resemble GPT-J, and Phi 3 and 4, Llamas with fused matrices."""

from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.heads import decoder_head, decoder_in, grouped_heads
from headwise.models.published.rotary_rules import rotary_in, rotary_out, rotary_share
from headwise.models.published.rules import Names, Stacked, linear, rule, stacked
from headwise.recipe import model_config


def _shape_in(published: Published, head: Head) -> dict[str, Any]:
    """The fields under keys that both families share."""
    return {
        **decoder_in(published, head),
        **grouped_heads(published),
        "layers": published.need("num_hidden_layers"),
        "feed_forward.hidden": published.need("intermediate_size"),
        "positions.kind": "rotary",
        "dropout": published.get("resid_pdrop", 0.0),
        "attention.dropout": published.get("attention_dropout", 0.0),
    }


def _shape_out(config: ModelConfig) -> dict[str, Any]:
    described = {
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.attention.heads,
        "num_key_value_heads": config.attention.key_value_heads or config.attention.heads,
        "intermediate_size": config.feed_forward.hidden,
        "hidden_act": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "max_position_embeddings": config.positions.max_positions,
        **rotary_out(config),
        "partial_rotary_factor": rotary_share(config),
        "tie_word_embeddings": config.tie != "none",
        "embd_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "attention_dropout": config.attention.dropout,
    }
    if config.attention.head_width:
        described["head_dim"] = config.attention.head_width
    return described


def phi_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("qk_layernorm", False)
    shape = _shape_in(published, head)
    return model_config(
        {
            **shape,
            "feed_forward.activation": published.choose("hidden_act", ACTIVATIONS, "gelu_new"),
            "norm.order": "parallel_shared",
            "norm.epsilon": published.get("layer_norm_eps", 1e-5),
            "positions.max_positions": published.get("max_position_embeddings", 2048),
            **rotary_in(
                published, shape["attention.head_width"] or shape["width"] // shape["attention.heads"], share=0.5
            ),
            "attention.bias": True,
            "output.bias": head != "classifier",
        }
    )


def phi_out(config: ModelConfig) -> dict[str, Any]:
    return {**_shape_out(config), "layer_norm_eps": config.norm.epsilon or 1e-5}


def phi3_in(published: Published, head: Head) -> ModelConfig:
    published.refuse_unless("attention_bias", False)
    shape = _shape_in(published, head)
    rotary = rotary_in(published, shape["attention.head_width"] or shape["width"] // shape["attention.heads"])
    kind = rotary["positions.rotary.scaling"]["kind"]
    if kind == "longrope":
        published.need("original_max_position_embeddings")
    elif kind != "none":
        raise CheckpointError(f"{published.where}: a Phi-3 with {kind} rotary scaling is not supported, only longrope")
    return model_config(
        {
            **shape,
            "attention.window": published.get("sliding_window", None),
            "feed_forward.activation": published.choose("hidden_act", ACTIVATIONS, "silu"),
            "feed_forward.kind": "gated",
            "norm.kind": "rms",
            "norm.order": "pre",
            "norm.epsilon": published.get("rms_norm_eps", 1e-5),
            "positions.max_positions": published.get("max_position_embeddings", 4096),
            **rotary,
            "bias": False,
            "attention.bias": False,
        }
    )


def phi3_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **_shape_out(config),
        "rms_norm_eps": config.norm.epsilon or 1e-6,
        "sliding_window": config.attention.window or None,
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
    head_width = config.attention.head_width or config.width // config.attention.heads
    key_width = (config.attention.key_value_heads or config.attention.heads) * head_width
    attention = Stacked((config.attention.heads * head_width, key_width, key_width))
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
