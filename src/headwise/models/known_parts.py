"""The parts of a model that engines and exporters can compute themselves, listed by exact class.

A fast engine or an exporter repeats the arithmetic of a model elsewhere. A part that was added from outside (a row in
`POSITIONS`, `NORMS`, `ACTIVATIONS`, ..., or a subclass in a model) has its own arithmetic, which they cannot know. A
subclass can override anything, so `isinstance` is not enough here.
"""

import torch.nn.functional as F
from torch import nn

from headwise.errors import ConfigError
from headwise.models.causal_lm import CausalLM
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS, FeedForward, GatedFeedForward
from headwise.nn.int8 import Int8Embedding, Int8Linear
from headwise.nn.masks import Causal, Pattern, SlidingWindow
from headwise.nn.norms import PostNorm, PreNorm
from headwise.nn.positions import Learned, PositionEncoding, Relative, Rotary, Sinusoidal
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.rotary import Dynamic, Frequencies, Linear, Llama3, LongRope, Yarn
from headwise.nn.stack import Layer, ParallelLayer, Stack

MODULES: dict[str, tuple[type[nn.Module], ...]] = {
    "model": (EncoderDecoder, CausalLM),
    "stack": (Stack, RecurrentStack, nn.ModuleList, nn.LSTM),
    "layer": (Layer, ParallelLayer),
    "attention": (MultiHeadAttention,),
    "feed-forward": (FeedForward, GatedFeedForward),
    "norm": (nn.LayerNorm, nn.RMSNorm, PostNorm, PreNorm),
    "position encoding": (PositionEncoding, Sinusoidal, Learned, Rotary, Relative),
    "linear map": (nn.Linear, OutputProjection, Int8Linear),
    "embedding": (TokenEmbedding, Int8Embedding),
    "dropout": (Dropout,),
}
"""Each kind of module and its known classes."""

_CLASSES = frozenset(known for classes in MODULES.values() for known in classes)
_PATTERNS = (Pattern, Causal, SlidingWindow)
_FREQUENCIES = (Frequencies, Linear, Dynamic, Llama3, Yarn, LongRope)
_ACTIVATIONS = (F.relu, F.gelu, ACTIVATIONS["gelu_tanh"], F.silu)


def unknown_parts(model: nn.Module) -> list[str]:
    """The parts of a model that are not listed here, by name; empty if all are known."""
    found: dict[str, None] = {}  # a set in order
    for module in model.modules():
        if type(module) not in _CLASSES:
            found[f"{_kind(module)} {type(module).__name__}"] = None
        if module._forward_hooks or module._forward_pre_hooks:
            found[f"forward hook of {type(module).__name__}"] = None
        if isinstance(module, FeedForward | GatedFeedForward) and module.activation not in _ACTIVATIONS:
            found[f"activation {getattr(module.activation, '__name__', module.activation)}"] = None
        if isinstance(module, Layer | ParallelLayer) and type(module.pattern) not in _PATTERNS:
            found[f"attention pattern {type(module.pattern).__name__}"] = None
        if isinstance(module, Rotary) and type(module.frequencies) not in _FREQUENCIES:
            found[f"rotary scaling {type(module.frequencies).__name__}"] = None
    return list(found)


def _kind(module: nn.Module) -> str:
    """The kind of part that a module of an unknown class is a subclass of."""
    return next((kind for kind, classes in MODULES.items() if isinstance(module, classes)), "part")


def refuse_unknown_parts(model: nn.Module, exporter: str) -> None:
    """Raise an error that names the parts which `exporter` would leave out."""
    unknown = unknown_parts(model)
    if unknown:
        raise ConfigError(f"{exporter} does not know the {', '.join(unknown)} of this model: it cannot be exported")
