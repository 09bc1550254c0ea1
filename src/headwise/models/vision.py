"""The Vision Transformer (ViT): an encoder of patches in place of words."""

import dataclasses

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models import blocks
from headwise.models.encoder_decoder import Encoded
from headwise.nn.context import Context
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import PATCH_EMBEDDINGS, ConvolutionalEmbedding, PatchEmbedding
from headwise.nn.init import initialise
from headwise.nn.pooling import POOLERS, Pooler
from headwise.nn.positions import PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Stack, StackOutput


class VisionTransformer(nn.Module):
    """A Vision Transformer: pictures in, one vector per patch out, before them one for the whole picture."""

    def __init__(
        self,
        embedding: PatchEmbedding | ConvolutionalEmbedding,
        positions: PositionEncoding,
        encoder: Stack | RecurrentStack,
        pooler: Pooler | None,
        dropout: float,
        image_size: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.encoder = encoder
        self.pooler = pooler
        self.dropout = Dropout(dropout)
        self.image_size = image_size

    def encode(self, images: Tensor, capture: bool = False) -> Encoded:
        """Encode pictures: [B, C, size, size] -> hidden states [B, 1 + patches, D]."""
        if images.shape[-2:] != (self.image_size, self.image_size):
            raise ValueError(f"pictures of {tuple(images.shape[-2:])} pixels, but the model sees {self.image_size}")
        x = self.embedding(images)
        positions = torch.arange(x.size(1), device=x.device)
        x = self.dropout(self.positions.embed(x, positions))
        context = Context(rotation=self.positions.rotation(positions), capture=capture)
        output: StackOutput = self.encoder(x, context)
        return Encoded(output.hidden, None, output.self_weights)

    def pool(self, hidden: Tensor) -> Tensor:
        """Pool hidden states: [B, T, D] -> [B, D], the first position, through the pooler if there is one."""
        first = hidden[:, 0]
        return first if self.pooler is None else self.pooler(first)

    def forward(self, images: Tensor) -> Tensor:
        """Pooled vectors of pictures: [B, C, size, size] -> [B, D]."""
        return self.pool(self.encode(images).memory)


def build_vision(config: ModelConfig, vocabulary: int, pad: int) -> VisionTransformer:
    """Assemble and initialise the model that `config` describes."""
    if config.image_size < 1 or config.patch_size < 1 or config.image_size % config.patch_size:
        raise ConfigError(
            f"pictures of {config.image_size} pixels cannot be cut into patches of {config.patch_size}: "
            "model.image_size must be a multiple of model.patch_size"
        )
    if config.patches == "convolutional" and config.patch_size not in (2, 4, 8, 16, 32):
        raise ConfigError(
            f"convolutional patches halve the picture: model.patch_size {config.patch_size} is no power of 2"
        )
    patches = (config.image_size // config.patch_size) ** 2
    seen = dataclasses.replace(config, max_positions=1 + patches)  # one a patch, and one for the whole
    model = VisionTransformer(
        embedding=PATCH_EMBEDDINGS[config.patches](config.channels, config.patch_size, config.width),
        positions=blocks.positions(seen, config.width, causal=False),
        encoder=blocks.stack(config, config.encoder_layers, causal=False),
        pooler=Pooler(config.width, POOLERS[config.pooler]) if config.pooler else None,
        dropout=config.dropout,
        image_size=config.image_size,
    )
    initialise(model, config.init)
    return model
