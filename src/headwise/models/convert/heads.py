"""What stands on a published decoder: the same everywhere but for its name."""

from headwise.config import ModelConfig
from headwise.models.convert.rules import Copy, Names, rule


def decoder_head(config: ModelConfig, embedding: str, head: str = "lm_head") -> Names:
    """A classifier's scores, or the output projection: with weights of its own, or one more copy of the embedding."""
    if config.classes:
        yield rule("score.weight", "output.weight")
        return
    if config.output_bias:
        yield rule(f"{head}.bias", "output_projection.bias")
    if config.tie == "none":
        yield rule(f"{head}.weight", "output_projection.weight")
    else:
        yield Copy(f"{head}.weight", embedding)
