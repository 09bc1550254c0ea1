"""Guided alignment: one head of the decoder's cross-attention is trained to align words (Garg et al., 2019).

The loss has a further term, the cross-entropy between the weights of that head and the links of the training pairs
(see `data.batch.token_links`). The head aligns each token that the decoder is given, not the one that it predicts:
the token is known then, and the alignments are better (Chen et al., 2020).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.packed_pairs import PackedBatch
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.data.batch.token_links import PairLinks
from headwise.data.prepare.result import Prepared
from headwise.data.prepare.workers import available
from headwise.decode.alignment import AlignmentHead, alignment_layer
from headwise.errors import ConfigError
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import Guide, MultiHeadAttention
from headwise.nn.stack import Stack
from headwise.train.job import Say
from headwise.train.processes.group import local_processes
from headwise.train.tasks.link_tables import link_tables


class Guidance(NamedTuple):
    """The head that is guided, and the weight of its loss."""

    layer: int
    head: int
    weight: float

    def guide(self, batch: PaddedBatch | PackedBatch) -> Guide | None:
        """Where the head is to attend to; None for a batch without links."""
        return None if batch.links is None else Guide(self.layer, self.head, batch.links)

    def loss(self, log_weights: Tensor) -> Tensor:
        """The term of the loss, summed over the tokens."""
        return -self.weight * log_weights.sum()


def guidance(recipe: Recipe, before: AlignmentHead) -> Guidance | None:
    """The guidance of a recipe, None if it has none. A head that was trained `before` is trained further; a new one is
    the first of the layer that aligns words best by itself."""
    layer, head = before or (alignment_layer(recipe.model.layers), 0)
    weight = recipe.train.guided_alignment
    return Guidance(layer, head, weight) if weight else None


def check_guidable(model: nn.Module) -> None:
    """Refuse a model whose cross-attention cannot be guided."""
    layers = model.decoder.in_order if isinstance(model, EncoderDecoder) and isinstance(model.decoder, Stack) else []
    if not layers or any(type(layer.cross_attention) is not MultiHeadAttention for layer in layers):
        raise ConfigError(
            "this model has no multi-head cross-attention that could be guided: leave train.guided_alignment out"
        )


def pair_links(prepared: Prepared, device: torch.device, say: Say) -> PairLinks:
    """The links of the training pairs. A GPU is not to wait for them: then child processes make them."""
    tables = link_tables(prepared.folder, prepared.tokenizer.size, prepared.train, say)
    directions = [(each.source_language, each.target_language) for each in prepared.train]
    return PairLinks(tables, directions, available() // local_processes() if device.type == "cuda" else 0)
