"""The Vision Transformer (ViT): an encoder whose tokens are image patches."""

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
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
from headwise.recipe import replaced


class VisionTransformer(nn.Module):
    """A Vision Transformer: images in, one vector for the whole image and one per patch out."""

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
        """Encode images: [B, C, size, size] -> hidden states [B, 1 + patches, D]."""
        if images.shape[-2:] != (self.image_size, self.image_size):
            raise ValueError(f"images of {tuple(images.shape[-2:])} pixels, but the model takes {self.image_size}")
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
        """Pooled vectors of images: [B, C, size, size] -> [B, D]."""
        return self.pool(self.encode(images).memory)


def build_vision(config: ModelConfig, vocabulary: int, pad: int) -> VisionTransformer:
    """Assemble and initialise the model that `config` describes."""
    patches = config.image_patches
    count = (patches.image_size // patches.patch_size) ** 2
    seen = replaced(config, {"positions.max_positions": 1 + count})  # one per patch, and one for the whole image
    model = VisionTransformer(
        embedding=PATCH_EMBEDDINGS[patches.kind](patches.channels, patches.patch_size, config.width),
        positions=blocks.positions(seen, config.width, causal=False),
        encoder=blocks.stack(config, causal=False),
        pooler=Pooler(config.width, POOLERS[config.pooling.pooler]) if config.pooling.pooler else None,
        dropout=config.dropout,
        image_size=patches.image_size,
    )
    initialise(model, config.init)
    return model
