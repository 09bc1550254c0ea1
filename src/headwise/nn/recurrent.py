"""LSTM stacks, the architecture before the Transformer: a baseline to compare attention with.

They have the interface of a `Stack`, so that training, search and every command work with them unchanged. The state of
an LSTM between steps is kept in a `LayerCache`, like keys and values.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import KeyValues, LayerCache
from headwise.nn.context import Context
from headwise.nn.dropout import Dropout
from headwise.nn.stack import StackOutput


class RecurrentStack(nn.Module):
    """LSTM layers; with a memory, attention to it after the last layer (Luong et al., 2015).

    `backwards` makes the layers bidirectional, with half the width per direction: an encoder. Padding must be at the
    end.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        *,
        backwards: bool = False,
        cross_attention: MultiHeadAttention | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if backwards and width % 2:
            raise ValueError(f"a bidirectional LSTM needs an even width, not {width}")
        self.layers = nn.ModuleList(
            nn.LSTM(width, width // 2 if backwards else width, batch_first=True, bidirectional=backwards)
            for _ in range(layers)
        )
        self.backwards = backwards
        self.asks_for_values = backwards
        """The backward direction needs the lengths of the texts on the CPU."""
        self.cross_attention = cross_attention
        self.mix = nn.Linear(2 * width, width) if cross_attention is not None else None
        self.dropout = Dropout(dropout)
        self.depth = layers

    def forward(self, x: Tensor, context: Context, cache: Sequence[LayerCache] = ()) -> StackOutput:
        """x [B, T, D] -> hidden states, the state of a next step, and the attention to the memory if captured."""
        caches: list[LayerCache] = []
        for number, module in enumerate(self.layers):
            layer = cast(nn.LSTM, module)
            past = cache[number].past if cache else None
            x = self.dropout(x) if number else x
            # On a GPU autocast runs an LSTM in float16, whatever its dtype is, and the gradients vanish.
            with torch.autocast(x.device.type, enabled=False):
                x, state = self._run(layer, x.to(next(layer.parameters()).dtype), context, past)
            caches.append(LayerCache(state))
        x = self.dropout(x)
        cross_weights: tuple[Tensor, ...] = ()
        if self.cross_attention is not None and self.mix is not None:
            memory = cache[0].memory if cache else None
            if memory is None:
                if context.memory is None:
                    raise ValueError("a stack with cross-attention needs a memory")
                memory = self.cross_attention.keys_values(context.memory)
            attended = self.cross_attention(x, memory, mask=context.memory_mask, capture=context.capture)
            x = torch.tanh(self.mix(torch.cat((x, attended.output), -1)))
            caches[0] = caches[0]._replace(memory=memory)
            cross_weights = () if attended.weights is None else (attended.weights,)
        return StackOutput(x, tuple(caches), (), cross_weights)

    def _run(
        self, layer: nn.LSTM, x: Tensor, context: Context, past: KeyValues | None
    ) -> tuple[Tensor, KeyValues | None]:
        if self.backwards:
            if context.mask is None:
                return layer(x)[0], None
            # Packed, so that the backward direction begins at the end of each text.
            lengths = context.mask[:, 0, 0].sum(-1).cpu()
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            output, _ = layer(packed)
            unpacked, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True, total_length=x.size(1))
            return unpacked, None
        state = None
        if past is not None:  # [B, 1, 1, D] each, as a cache holds them -> [1, B, D]
            state = (past.key[:, 0].transpose(0, 1).contiguous(), past.value[:, 0].transpose(0, 1).contiguous())
        output, (hidden, cell) = layer(x, state)
        return output, KeyValues(hidden.transpose(0, 1)[:, None], cell.transpose(0, 1)[:, None])
