"""GPT-NeoX and Pythia: attention and feed-forward in parallel, each with its own norm, or one after the other."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import Family, Head, Key, Published, body_of, keys_in, keys_out
from headwise.models.published.heads import decoder_head, decoder_in
from headwise.models.published.rotary_rules import rotary_in, rotary_out, rotary_share
from headwise.models.published.rules import Names, StackedByHead, linear, rule, stacked
from headwise.recipe import model_config

KEYS: tuple[Key, ...] = (
    ("hidden_size", "width"),
    ("num_hidden_layers", "layers"),
    ("num_attention_heads", "attention.heads"),
    ("attention_bias", "attention.bias", True),
    ("intermediate_size", "feed_forward.hidden"),
    ("hidden_act", "feed_forward.activation", "gelu"),
    ("layer_norm_eps", "norm.epsilon", 1e-5),
    ("max_position_embeddings", "positions.max_positions", 2048),
    ("tie_word_embeddings", "tie", False),
    ("hidden_dropout", "dropout", 0.0),
    ("attention_dropout", "attention.dropout", 0.0),
)


def config_in(published: Published, head: Head) -> ModelConfig:
    fields = {**decoder_in(published, head), **keys_in(published, KEYS)}
    share, base = published.get("rotary_pct", 0.25), published.get("rotary_emb_base", 10000.0)
    return model_config(
        {
            **fields,
            "norm.order": "parallel" if published.get("use_parallel_residual", True) else "pre",
            "positions.kind": "rotary",
            **rotary_in(published, fields["width"] // fields["attention.heads"], share, base),
        }
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        **keys_out(config, KEYS),
        "use_parallel_residual": config.norm.order == "parallel",
        **rotary_out(config),
        "rotary_pct": rotary_share(config),
        "rotary_emb_base": config.positions.rotary.base,
    }


def names(config: ModelConfig) -> Names:
    body = body_of(config)
    norm = ".norm" if config.norm.order == "pre" else ""
    bias = config.attention.bias is not False
    yield rule("gpt_neox.embed_in.weight", f"{body}embedding.weight")
    for i in range(config.layers):
        theirs, ours = f"gpt_neox.layers.{i}", f"{body}decoder.layers.{i}"
        together = [f"{ours}.self_attention.{part}" for part in ("query", "key", "value")]
        yield from linear(f"{theirs}.input_layernorm", f"{ours}.self_norm{norm}")
        yield from linear(f"{theirs}.post_attention_layernorm", f"{ours}.feed_forward_norm{norm}")
        yield from stacked(f"{theirs}.attention.query_key_value", together, StackedByHead(config.attention.heads), bias)
        yield from linear(f"{theirs}.attention.dense", f"{ours}.self_attention.output", bias)
        yield from linear(f"{theirs}.mlp.dense_h_to_4h", f"{ours}.feed_forward.expand")
        yield from linear(f"{theirs}.mlp.dense_4h_to_h", f"{ours}.feed_forward.contract")
    yield from linear("gpt_neox.final_layer_norm", f"{body}decoder.final_norm")
    yield from decoder_head(config, "gpt_neox.embed_in.weight", "embed_out")


GPT_NEOX = Family(
    model_type="gpt_neox",
    architectures={"GPTNeoXForCausalLM": "language", "GPTNeoXForSequenceClassification": "classifier"},
    config_in=config_in,
    config_out=config_out,
    names=names,
    prefix="gpt_neox.",
    ignored=(r"\.attention\.(masked_)?bias$", r"rotary_emb\.inv_freq$"),
    renamed={"lm_head.weight": "embed_out.weight"},
)
