"""The classifier: any model of one stack with a head that labels texts, pairs of texts or images."""

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.models.causal_lm import CausalLM
from headwise.models.masked_lm import MaskedLM
from headwise.models.vision import VisionTransformer
from headwise.nn.dropout import Dropout
from headwise.nn.init import initialise
from headwise.nn.masks import real_tokens
from headwise.nn.pooling import POOLINGS

Body = CausalLM | MaskedLM | VisionTransformer


class Classifier(nn.Module):
    """A classifier: the body's hidden states, pooled and projected to one logit per class (or one number)."""

    def __init__(self, body: Body, output: nn.Linear, pooling: str, dropout: float) -> None:
        super().__init__()
        self.body = body
        self.output = output
        self.pooling = pooling
        self.dropout = Dropout(dropout)

    def represent(self, inputs: Tensor, segments: Tensor | None = None) -> Tensor:
        """Hidden states [B, T, D] of ids [B, T] or images [B, C, size, size]."""
        if isinstance(self.body, CausalLM):
            return self.body.decode(inputs).hidden
        if isinstance(self.body, MaskedLM):
            return self.body.encode(inputs, segments).memory
        return self.body.encode(inputs).memory

    def classify(self, hidden: Tensor, inputs: Tensor) -> Tensor:
        """Logits [B, classes] of the hidden states [B, T, D] of these inputs."""
        if self.pooling == "first" and not isinstance(self.body, CausalLM):
            pooled = self.body.pool(hidden)
        else:
            every = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
            real = every if isinstance(self.body, VisionTransformer) else real_tokens(inputs, self.body.pad)
            pooled = POOLINGS[self.pooling](hidden, real)
        logits: Tensor = self.output(self.dropout(pooled))
        return logits

    def forward(self, inputs: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits [B, classes] of ids [B, T] or images [B, C, size, size]."""
        return self.classify(self.represent(inputs, segments), inputs)


def with_classifier(body: Body, config: ModelConfig) -> Classifier:
    """Put a newly initialised classifier on a body. That of a decoder has no bias, as in published models."""
    assert config.classes
    output = nn.Linear(config.width, config.classes, bias=not isinstance(body, CausalLM))
    initialise(output, config.init)
    return Classifier(body, output, config.pooling.kind, config.dropout)
