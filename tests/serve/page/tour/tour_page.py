"""The tour in a browser, next to the model that it shows: a reference pass whose tensors the page must show."""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import torch
from torch import Tensor

from headwise.decode.translator import Translator
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.masks import EVERYTHING
from headwise.nn.positions import PositionEncoding
from headwise.nn.stack import Layer, Stack
from headwise.recipe import replaced
from tests.serve.page.conftest import Watched, until
from tests.serve.running import RunningServer
from tests.taught import SHAPE, SOURCES, TARGETS

SHAPE_OF_TOUR = replaced(SHAPE, {"encoder.layers": 2, "attention.heads": 2})
SENTENCE, TRANSLATION = SOURCES[3], TARGETS[3]

SECONDS = 60.0
"""How long a busy machine may take for a station."""

STATIONS = [
    "tokenisation",
    "embeddings",
    "positions",
    "query-key-value",
    "attention",
    "self-attention",
    "multi-head-attention",
    "feed-forward",
    "add-norm",
    "encoder",
    "masked-attention",
    "encoder-decoder-attention",
    "linear",
    "softmax",
    "decoder",
    "model",
    "teacher-forcing",
    "greedy",
    "beam",
]


@dataclass(frozen=True, eq=False)
class Reference:
    """One pass of a sentence and its translation through a model, with what every module was given and made."""

    model: EncoderDecoder
    source: Tensor  # [S]
    shown: Tensor  # [T], the decoder's input
    target: Tensor  # [T], what it is to predict
    pieces: dict[str, list[str]]
    seen: dict[str, tuple[Tensor, Tensor]]
    weights: dict[str, tuple[Tensor, ...]]
    memory: Tensor
    hidden: Tensor
    logits: Tensor

    @property
    def log_probability(self) -> Tensor:
        return self.logits.log_softmax(-1).gather(-1, self.target[:, None])[:, 0]

    def attention(self, kind: str, layer: int) -> MultiHeadAttention:
        stack = self.model.encoder if kind == "encoder" else self.model.decoder
        chosen = stack.layers[layer]
        assert isinstance(chosen, Layer)
        found = chosen.cross_attention if kind == "cross" else chosen.self_attention
        assert found is not None
        return found

    def heads(self, kind: str, layer: int, part: str) -> Tensor:
        """Queries, keys or values of all heads, [H, positions, K]."""
        stack, block = ("encoder" if kind == "encoder" else "decoder"), ("cross" if kind == "cross" else "self")
        made = self.seen[f"{stack}.layers.{layer}.{block}_attention.{part}"][1]
        heads = self.attention(kind, layer).heads
        return made.view(len(made), heads, -1).transpose(0, 1)

    def state(self, stack: str, layer: int, block: str) -> Tensor:
        """The residual path after a sublayer."""
        return self.seen[f"{stack}.layers.{layer}.{block}_norm"][1]


@torch.inference_mode()
def reference(
    translator: Translator, text: str = SENTENCE, translation: str = TRANSLATION, damage: Any = None
) -> Reference:
    """The pass of a pair; `damage` changes a copy of the model first."""
    model = copy.deepcopy(translator.model)
    assert isinstance(model, EncoderDecoder)
    if damage:
        damage(model)
    tokenizer = translator.tokenizer
    source = torch.tensor(translator.source_ids(text, source="en", target="de"))
    written = tokenizer.encode(translation)
    shown, target = torch.tensor([tokenizer.sos, *written]), torch.tensor([*written, tokenizer.eos])
    seen: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(name: str) -> Any:
        def hook(_: Any, given: Any, made: Any) -> None:
            first = made[0] if isinstance(made, tuple) else made
            if isinstance(first, Tensor) and given and isinstance(given[0], Tensor):
                seen[name] = given[0][0], first[0]

        return hook

    hooks = [module.register_forward_hook(keep(name)) for name, module in model.named_modules() if name]
    encoded = model.encode(source[None], capture=True)
    decoded = model.decode(shown[None], encoded, capture=True)
    logits = model.output_projection(decoded.hidden)[0]
    for each in hooks:
        each.remove()
    weights = {"encoder": encoded.self_weights, "decoder": decoded.self_weights, "cross": decoded.cross_weights}
    return Reference(
        model,
        source,
        shown,
        target,
        {
            name: tokenizer.pieces(ids.tolist())
            for name, ids in (("source", source), ("shown", shown), ("target", target))
        },
        seen,
        {kind: tuple(each[0] for each in layers) for kind, layers in weights.items()},
        encoded.memory[0],
        decoded.hidden[0],
        logits,
    )


def without_positions(model: EncoderDecoder) -> None:
    model.source_positions = model.target_positions = PositionEncoding()


def without_scaling(model: EncoderDecoder) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.scale = 1.0


def without_mask(model: EncoderDecoder) -> None:
    for layer in model.decoder.layers:
        assert isinstance(layer, Layer)
        layer.pattern = EVERYTHING


def without_first_cross_head(model: EncoderDecoder) -> None:
    """Its columns of the output projection of the first layer are zero."""
    layer = model.decoder.layers[0]
    assert isinstance(layer, Layer)
    assert layer.cross_attention is not None
    layer.cross_attention.output.weight.data[:, : layer.cross_attention.head_width] = 0


def with_memory_of_first_layer(model: EncoderDecoder) -> None:
    assert isinstance(model.encoder, Stack)
    first: Any = model.encoder.layers[0]
    model.encoder = Stack([first], model.encoder.final_norm)


@dataclass
class TourPage:
    """A page that shows the tour of the sentence."""

    watched: Watched
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def page(self) -> Any:
        return self.watched.page

    def open(self, station: str, **state: Any) -> Any:
        """Open a station by its address; what is chosen there is part of it."""
        values = {"text": SENTENCE, "source": "en", "target": "de", "tour.station": station}
        for name, value in state.items():
            values[f"tour.{name.replace('_', '.')}"] = value if isinstance(value, str) else f"~{json.dumps(value)}"
        self.page.goto("about:blank")
        self.page.goto(
            f"{self.watched.url}/#tour?" + "&".join(f"{key}={quote(value)}" for key, value in values.items())
        )
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the station is drawn, and what it asked for has come."""
        drawn = "!!document.querySelector('.tour-count') && !document.querySelector('.tour-main[aria-busy]')"
        until(self.page, drawn, SECONDS)
        notes = "[...document.querySelectorAll('.tour-note')]"
        until(self.page, f"!{notes}.some((each) => each.textContent === 'Computing …')", SECONDS)

    def grid(self, number: int = 0) -> list[list[float]]:
        """The numbers of a grid of the figure, as they are shown."""
        table = self.page.locator(".tour-figure table[role=grid]").nth(number)
        rows: list[list[float]] = table.evaluate(
            "(table) => [...table.tBodies[0].rows].map("
            "(row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.value)))"
        )
        return rows

    def point(self, row: int, column: int, number: int = 0) -> str:
        """Point at a cell and read what is computed."""
        table = self.page.locator(".tour-figure table[role=grid]").nth(number)
        table.locator("tbody tr").nth(row).locator("td").nth(column).hover()
        return self.computation()

    def computation(self) -> str:
        text: str = self.page.locator(".tour-working").evaluate("(box) => box.textContent")
        return text

    def data(self, selector: str) -> list[float]:
        """The numbers that elements of the main part carry."""
        found = self.page.locator(f".tour-main {selector}").evaluate_all(
            "(all) => all.map((each) => each.dataset.value)"
        )
        return [float(each) for each in found]


def opened(browser: Any, server: RunningServer, **options: Any) -> Iterator[TourPage]:
    """The tour in a page of its own; afterwards nothing may have gone wrong in it."""
    context = browser.new_context(**{"locale": "en-GB", "viewport": {"width": 1440, "height": 1600}, **options})
    watched = Watched(context.new_page(), server.url)
    watched.page.on("console", watched.note_console)
    watched.page.on("pageerror", lambda error: watched.problems.append(f"error: {error}"))
    watched.page.on("request", watched.note_request)
    yield TourPage(watched)
    context.close()
    assert not watched.problems


def numbers_in(text: str) -> Iterator[float]:
    """The numbers of a shown computation, with their signs."""
    for found in re.findall(r"[−-]?\d+\.\d+", text):
        yield float(found.replace("−", "-"))
