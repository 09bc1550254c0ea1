"""The logit lens (nostalgebraist, 2020): which word each decoder layer would predict if it were the last one."""

from __future__ import annotations

import torch
from torch import Tensor

from headwise.inspect.inside.recording import DECODER, Recording
from headwise.nn.stack import Stack


@torch.inference_mode()
def lens(recording: Recording) -> list[Tensor]:
    """Log-probabilities [T, V] of the next token, computed from the decoder's input and after each layer.

    Each state goes through the norm that closes the stack, if there is one, and the output projection. The last one is
    the model's prediction.
    """
    decoder = recording.model.decoder
    norm = decoder.final_norm if isinstance(decoder, Stack) else None
    found = []
    for state in residual_states(recording):
        hidden = state if norm is None else norm(state)
        logits: Tensor = recording.model.output_projection(hidden)
        found.append(logits.float().log_softmax(-1))
    return found or [recording.log_probabilities]


def residual_states(recording: Recording, side: str = DECODER) -> list[Tensor]:
    """The residual path of a stack: its input, then what each layer makes of it, [positions, width] each."""
    layers = recording.layers(side)
    if not layers:
        return []
    first = recording.seen[f"{side}.layers.0.self_norm"].given
    return [first, *(recording.seen[f"{side}.layers.{number}.feed_forward_norm"].made for number in range(len(layers)))]
