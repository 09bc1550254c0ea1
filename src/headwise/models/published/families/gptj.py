"""GPT-J: parallel attention and feed-forward that share one norm, and rotary pairs that are neighbours."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.heads import decoder_head, decoder_in
from headwise.models.published.rules import SAME, Names, Unpaired, linear, rule
from headwise.recipe import model_config


def config_in(published: Published, head: Head) -> ModelConfig:
    width, heads = published.need("n_embd"), published.need("n_head")
    rotated = published.need("rotary_dim")
    return model_config(
        {
            **decoder_in(published, head),
            "width": width,
            "layers": published.need("n_layer"),
            "attention.heads": heads,
            "feed_forward.hidden": published.get("n_inner", 4 * width),
            "feed_forward.activation": published.choose("activation_function", ACTIVATIONS, "gelu_new"),
            "norm.order": "parallel_shared",
            "norm.epsilon": published.get("layer_norm_epsilon", 1e-5),
            "positions.kind": "rotary",
            "positions.max_positions": published.get("n_positions", 2048),
            "positions.rotary.width": rotated if rotated != width // heads else None,
            "attention.bias": False,
            "output.bias": head != "classifier",
            "dropout": published.get("resid_pdrop", 0.0),
            "attention.dropout": published.get("attn_pdrop", 0.0),
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.attention.heads,
        "n_inner": config.feed_forward.hidden,
        "activation_function": THEIR_ACTIVATIONS[config.feed_forward.activation],
        "layer_norm_epsilon": config.norm.epsilon or 1e-5,
        "n_positions": config.positions.max_positions,
        "rotary_dim": config.positions.rotary.width or config.width // config.attention.heads,
        "tie_word_embeddings": config.tie != "none",
        "embd_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "attn_pdrop": config.attention.dropout,
    }


def names(config: ModelConfig) -> Names:
    body = body_of(config)
    unpaired = Unpaired(config.attention.heads, config.positions.rotary.width or config.width // config.attention.heads)
    attention = (("q", "query", unpaired), ("k", "key", unpaired), ("v", "value", SAME), ("out", "output", SAME))
    yield rule("transformer.wte.weight", f"{body}embedding.weight")
    for i in range(config.layers):
        theirs, ours = f"transformer.h.{i}", f"{body}decoder.layers.{i}"
        yield from linear(f"{theirs}.ln_1", f"{ours}.self_norm")
        for their_name, our_name, change in attention:
            yield rule(f"{theirs}.attn.{their_name}_proj.weight", f"{ours}.self_attention.{our_name}.weight", change)
        yield from linear(f"{theirs}.mlp.fc_in", f"{ours}.feed_forward.expand")
        yield from linear(f"{theirs}.mlp.fc_out", f"{ours}.feed_forward.contract")
    yield from linear("transformer.ln_f", f"{body}decoder.final_norm")
    yield from decoder_head(config, "transformer.wte.weight")


GPTJ = Family(
    model_type="gptj",
    architectures={"GPTJForCausalLM": "language", "GPTJForSequenceClassification": "classifier"},
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="transformer.",
    ignored=(r"\.attn\.(masked_)?bias$", r"\.attn\.embed_positions$"),
)
