"""GPT-J: parallel attention and feed-forward that share one norm, and rotary pairs that are neighbours."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.heads import decoder_head, decoder_in
from headwise.models.published.rules import SAME, Names, Unpaired, linear, rule
from headwise.recipe import model_config

KEYS: tuple[Key, ...] = (
    ("n_embd", "width"),
    ("n_layer", "layers"),
    ("n_head", "attention.heads"),
    ("activation_function", "feed_forward.activation", "gelu_new"),
    ("layer_norm_epsilon", "norm.epsilon", 1e-5),
    ("n_positions", "positions.max_positions", 2048),
    ("tie_word_embeddings", "tie", False),
    ("resid_pdrop", "dropout", 0.0),
    ("attn_pdrop", "attention.dropout", 0.0),
)


def config_in(published: Published, head: Head) -> ModelConfig:
    fields = {**decoder_in(published, head), **keys_in(published, KEYS)}
    width, rotated = fields["width"], published.need("rotary_dim")
    return model_config(
        {
            **fields,
            "feed_forward.hidden": published.get("n_inner", 4 * width),
            "norm.order": "parallel_shared",
            "positions.kind": "rotary",
            "positions.rotary.width": rotated if rotated != width // fields["attention.heads"] else None,
            "attention.bias": False,
            "output.bias": head != "classifier",
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **keys_out(config, KEYS),
        "n_inner": config.feed_forward.hidden,
        "rotary_dim": config.positions.rotary.width or config.width // config.attention.heads,
        "embd_pdrop": config.dropout,
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
