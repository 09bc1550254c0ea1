"""GPT-NeoX and Pythia: attention and feed-forward side by side, each behind its norm, or one after the other."""

from typing import Any

from headwise.config import ModelConfig
from headwise.models.published.family import ACTIVATIONS, THEIR_ACTIVATIONS, Family, Head, Published, body_of
from headwise.models.published.heads import decoder_head, decoder_in
from headwise.models.published.rotary_rules import rotary_in, rotary_out, rotary_share
from headwise.models.published.rules import Names, StackedByHead, linear, rule, stacked


def config_in(published: Published, head: Head) -> ModelConfig:
    width, heads = published.need("hidden_size"), published.need("num_attention_heads")
    share, base = published.get("rotary_pct", 0.25), published.get("rotary_emb_base", 10000.0)
    return ModelConfig(
        **decoder_in(published, head),
        width=width,
        decoder_layers=published.need("num_hidden_layers"),
        heads=heads,
        hidden=published.need("intermediate_size"),
        activation=published.choose("hidden_act", ACTIVATIONS, "gelu"),
        norm_order="parallel" if published.get("use_parallel_residual", True) else "pre",
        norm_epsilon=published.get("layer_norm_eps", 1e-5),
        positions="rotary",
        max_positions=published.get("max_position_embeddings", 2048),
        **rotary_in(published, width // heads, share, base),
        attention_bias=published.get("attention_bias", True),
        dropout=published.get("hidden_dropout", 0.0),
        attention_dropout=published.get("attention_dropout", 0.0),
    )


def config_out(config: ModelConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.width,
        "num_hidden_layers": config.decoder_layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.hidden,
        "hidden_act": THEIR_ACTIVATIONS[config.activation],
        "use_parallel_residual": config.norm_order == "parallel",
        "layer_norm_eps": config.norm_epsilon or 1e-5,
        "max_position_embeddings": config.max_positions,
        **rotary_out(config),
        "rotary_pct": rotary_share(config),
        "rotary_emb_base": config.rotary_base,
        "tie_word_embeddings": config.tie != "none",
        "attention_bias": config.bias if config.attention_bias is None else config.attention_bias,
        "hidden_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
    }


def names(config: ModelConfig) -> Names:
    body = body_of(config)
    norm = ".norm" if config.norm_order == "pre" else ""
    bias = config.attention_bias is not False
    yield rule("gpt_neox.embed_in.weight", f"{body}embedding.weight")
    for i in range(config.decoder_layers):
        theirs, ours = f"gpt_neox.layers.{i}", f"{body}decoder.layers.{i}"
        together = [f"{ours}.self_attention.{part}" for part in ("query", "key", "value")]
        yield from linear(f"{theirs}.input_layernorm", f"{ours}.self_norm{norm}")
        yield from linear(f"{theirs}.post_attention_layernorm", f"{ours}.feed_forward_norm{norm}")
        yield from stacked(f"{theirs}.attention.query_key_value", together, StackedByHead(config.heads), bias)
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
