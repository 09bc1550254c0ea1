"""One sentence pair on its way through a model, with everything that happened inside."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from headwise.decode.translator import Translator
from headwise.inspect.attention_capture import capture_attention
from headwise.inspect.maps import AttentionMaps
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.config_file import WEIGHTS
from headwise.nn.attention import MultiHeadAttention
from tour.text import quoted

SENTENCE, REFERENCE = "I ate an apple.", "Ich aß einen Apfel."
LOOKING, NOUN = 1, 3
"""Words of the sentence: the one whose query is followed, and the one whose meaning is looked at."""


class Seen(NamedTuple):
    """What went into a module and what came out of it, without the batch dimension."""

    given: Tensor
    made: Tensor


@dataclass(frozen=True)
class Pass:
    """One teacher-forced pass of the sentence pair through the model, with everything that happened inside."""

    translator: Translator
    source: list[int]
    target: list[int]  # <sos>, the reference, <eos>
    seen: dict[str, Seen]
    maps: AttentionMaps
    finished: bool

    @property
    def model(self) -> EncoderDecoder:
        return self.translator.model

    @property
    def looking(self) -> int:
        """The position whose query is followed: the last piece of its word."""
        words = self.translator.tokenizer.word_ids(self.source)
        return max(place for place, word in enumerate(words) if word == LOOKING)

    @property
    def noun(self) -> int:
        return self.translator.tokenizer.word_ids(self.source).index(NOUN)

    @property
    def head(self) -> int:
        """The head of the first encoder layer in which that query looks most clearly at another token."""
        weights = self.maps["encoder"].weights[0][:, self.looking].clone()  # [H, S]
        weights[:, self.looking] = 0
        return int(weights.amax(-1).argmax())

    @property
    def logits(self) -> Tensor:
        logits: Tensor = self.model.output_projection(self.decoded)  # [T, V]
        return logits

    @property
    def decoded(self) -> Tensor:
        return self.seen["decoder"].made  # [T, D]

    def heads(self, side: str, part: str, head: int) -> Tensor:
        """Query, key or value of one head in the first layer's self-attention: [S, K]."""
        attention = self.model.get_submodule(f"{side}.layers.0.self_attention")
        assert isinstance(attention, MultiHeadAttention)
        made = self.seen[f"{side}.layers.0.self_attention.{part}"].made
        return made.view(len(made), -1, attention.head_width)[:, head]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [quoted(piece) for piece in self.translator.tokenizer.pieces(ids)]


@contextmanager
def watching(model: EncoderDecoder) -> Iterator[dict[str, Seen]]:
    """Keep what every module is given and makes."""
    seen: dict[str, Seen] = {}

    def keep(name: str) -> Callable[[Any, Any, Any], None]:
        def hook(_: Any, given: Any, made: Any) -> None:
            first = made[0] if isinstance(made, tuple) else made
            seen[name] = Seen(given[0][0], first[0])

        return hook

    hooks = [module.register_forward_hook(keep(name)) for name, module in model.named_modules() if name]
    yield seen
    for each in hooks:
        each.remove()


def take(folder: Path) -> Pass:
    translator = Translator(folder, device="cpu")
    config, tokenizer = translator.config, translator.tokenizer
    if (config.positions.kind, config.norm.kind, config.norm.order, config.tie) != (
        "sinusoidal",
        "layer",
        "pre",
        "all",
    ):
        sys.exit(f"{folder}: the tour tells of the kind of model that scripts/demo makes; this one is built otherwise")
    source = translator.source_ids(SENTENCE)
    target = [tokenizer.sos, *tokenizer.encode(REFERENCE), tokenizer.eos]
    with watching(translator.model) as seen:
        maps = capture_attention(translator, SENTENCE, REFERENCE)
    return Pass(translator, source, target, seen, maps, (folder / WEIGHTS).exists())
