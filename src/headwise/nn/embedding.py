"""Embeddings of tokens and images, and the output projection to logits over the vocabulary."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.feed_forward import Activation

GROUP = 16
"""Channels per group of the group norm."""


class TokenEmbedding(nn.Module):
    """Token embedding: one vector per token, times `scale`, which is sqrt(D) in the paper."""

    def __init__(self, vocabulary: int, width: int, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        self.scale = scale

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed tokens: [B, T] -> [B, T, D]."""
        vectors = F.embedding(tokens, self.weight)
        return vectors if self.scale == 1 else vectors * self.scale


class PatchEmbedding(nn.Module):
    """Patch embedding: each patch of P x P pixels of an image, flattened and projected, is a token.

    One more token, the first, represents the whole image, as in BERT.
    """

    def __init__(self, channels: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.projection = nn.Linear(channels * patch * patch, width)
        self.first = nn.Parameter(torch.empty(1, width))

    def forward(self, images: Tensor) -> Tensor:
        """Embed images: [B, C, height, width] -> [B, 1 + patches, D], patches row by row."""
        B, C, height, width = images.shape
        P = self.patch
        patches = images.reshape(B, C, height // P, P, width // P, P).permute(0, 2, 4, 1, 3, 5)
        patches = patches.reshape(B, -1, C * P * P)  # as F.unfold, which on a GPU processes images one by one
        return torch.cat((self.first.expand(len(images), 1, -1), self.projection(patches)), 1)


class Convolution(nn.Module):
    """A 3 x 3 convolution with group norm and ReLU; with `halves`, max pooling halves the image."""

    def __init__(self, narrow: int, wide: int, *, halves: bool) -> None:
        super().__init__()
        self.weights = nn.Conv2d(narrow, wide, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(1 if wide % GROUP else wide // GROUP, wide)
        self.halves = halves

    def forward(self, x: Tensor) -> Tensor:
        """Convolve: [B, narrow, height, width] -> [B, wide, height, width], or half as high and wide."""
        x = F.relu(self.norm(self.weights(x)))
        return F.max_pool2d(x, 3, stride=2, padding=1) if self.halves else x


class ConvolutionalEmbedding(nn.Module):
    """Convolutional patch embedding: a small convolutional network computes the tokens (the ViT paper's hybrid).

    Each stage, two convolutions, doubles the channels and halves the image, until a P x P patch is one token.
    Neighbouring tokens share pixels: a Transformer would have to learn such locality from far more images.
    """

    def __init__(self, channels: int, patch: int, width: int) -> None:
        super().__init__()
        stages = patch.bit_length() - 1
        if patch != 2**stages or not stages:
            raise ValueError(f"each stage halves the image: the patch must be a power of 2 and at least 2, not {patch}")
        widths = [max(1, width >> (stages - stage)) for stage in range(stages + 1)]
        self.stages = nn.ModuleList()
        for narrow, wide in pairwise(widths):
            self.stages.append(Convolution(narrow if self.stages else channels, narrow, halves=False))
            self.stages.append(Convolution(narrow, wide, halves=True))
        self.first = nn.Parameter(torch.empty(1, width))

    def forward(self, images: Tensor) -> Tensor:
        """Embed images: [B, C, height, width] -> [B, 1 + patches, D], patches row by row."""
        images = images.contiguous(memory_format=torch.channels_last)
        for stage in self.stages:
            images = stage(images)
        return torch.cat((self.first.expand(len(images), 1, -1), images.flatten(2).transpose(1, 2)), 1)


PATCH_EMBEDDINGS: dict[str, type[PatchEmbedding] | type[ConvolutionalEmbedding]] = {
    "linear": PatchEmbedding,
    "convolutional": ConvolutionalEmbedding,
}


class OutputProjection(nn.Module):
    """The output projection: logits over the vocabulary. To tie it, give it the embedding's own matrix."""

    def __init__(self, weight: nn.Parameter, *, bias: bool = False, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = weight  # [V, D]
        self.bias = nn.Parameter(torch.empty(weight.size(0))) if bias else None
        self.scale = scale

    def forward(self, hidden: Tensor) -> Tensor:
        """Project hidden states to logits: [..., D] -> [..., V]."""
        return F.linear(hidden if self.scale == 1 else hidden * self.scale, self.weight, self.bias)


class PredictionHead(nn.Module):
    """BERT's prediction head: one more layer before the output projection, which may change the width."""

    def __init__(self, dense: nn.Linear, activation: Activation, norm: nn.Module, projection: OutputProjection) -> None:
        super().__init__()
        self.dense = dense
        self.activation = activation
        self.norm = norm
        self.projection = projection

    def transform(self, hidden: Tensor) -> Tensor:
        """Transform hidden states [..., D] to the input of `projection`."""
        result: Tensor = self.norm(self.activation(self.dense(hidden)))
        return result

    def forward(self, hidden: Tensor) -> Tensor:
        """Project hidden states to logits: [..., D] -> [..., V]."""
        logits: Tensor = self.projection(self.transform(hidden))
        return logits
