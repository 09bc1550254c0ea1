"""What each kind of position encoding becomes in an ONNX graph."""

import math

import torch
from torch import Tensor

from headwise.models.export.onnx_graph import Graph
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.positions import Learned, PositionEncoding, Relative, Rotary, Sinusoidal


class Positions:
    """The places `start` to `end` (whole numbers in the graph) of one stack, and what their encoding does there."""

    def __init__(self, graph: Graph, encoding: PositionEncoding, start: str, end: str) -> None:
        self.graph = graph
        self.encoding = encoding
        one = graph.whole(1)
        self.end = end
        self.places = graph.op("Range", start, end, one)  # [T]
        self._turns = self._rotation(encoding) if isinstance(encoding, Rotary) else None
        self._ahead: str | None = None

    def add_to(self, x: str) -> str:
        """x [B, T, D]."""
        graph, encoding = self.graph, self.encoding
        if isinstance(encoding, Learned):
            rows = graph.constant(encoding.weight[encoding.offset :])
            return graph.op("Add", x, graph.op("Gather", rows, self.places))
        if isinstance(encoding, Sinusoidal):
            return graph.op("Add", x, graph.cast(self._waves(encoding), graph.real))
        return x

    def turn(self, heads: str, width: int) -> str:
        """[..., T, K] as rotary positions turn them; `width` is K."""
        if self._turns is None:
            return heads
        assert isinstance(self.encoding, Rotary)
        graph, turning = self.graph, self.encoding.frequencies.width
        cosine, sine = self._turns
        sizes = [turning // 2, turning // 2, *([width - turning] if turning < width else [])]
        first, second, *rest = graph.split(graph.cast(heads, "float32"), sizes)
        turned = (
            graph.op("Sub", graph.op("Mul", first, cosine), graph.op("Mul", second, sine)),
            graph.op("Add", graph.op("Mul", second, cosine), graph.op("Mul", first, sine)),
        )
        return graph.cast(graph.op("Concat", *turned, *rest, axis=-1), graph.real)

    def bias(self, attention: MultiHeadAttention) -> str | None:
        """What relative positions add to scores: [H, T, S], or [G, H/G, T, S]."""
        if not isinstance(self.encoding, Relative):
            return None
        graph, far = self.graph, self.encoding.distance
        distances = torch.arange(-far, far + 1)  # beyond, all are alike
        by_distance = graph.constant(self.encoding.weight[self.encoding.bucket(distances)])
        if self._ahead is None:
            zero, one = (graph.whole(number) for number in (0, 1))
            keys = graph.op("Range", zero, self.end, one)
            ahead = graph.op("Sub", graph.unsqueeze(keys, 0), graph.unsqueeze(self.places, 1))
            limits = (graph.whole(number) for number in (-far, far))
            clipped = graph.op("Clip", ahead, *limits)
            self._ahead = graph.op("Add", clipped, graph.whole(far))
        bias = graph.op("Gather", by_distance, self._ahead)  # [T, S, H]
        groups = attention.key_value_heads
        if groups == attention.heads:
            return graph.transpose(bias, 2, 0, 1)
        return graph.transpose(graph.reshape(bias, 0, 0, groups, attention.heads // groups), 2, 3, 0, 1)

    def _column(self, offset: int = 0) -> str:
        """The places as real numbers, [T, 1]."""
        places = self.graph.op("Add", self.places, self.graph.whole(offset))
        return self.graph.unsqueeze(self.graph.cast(places, "float32"), 1)

    def _rotation(self, encoding: Rotary) -> tuple[str, str]:
        graph, frequencies = self.graph, encoding.frequencies
        turns = frequencies.turns(torch.zeros(1))
        angles = graph.op("Mul", self._column(), graph.constant(turns, "float32"))
        cosine, sine = graph.op("Cos", angles), graph.op("Sin", angles)
        if frequencies.factor != 1:
            factor = graph.constant(frequencies.factor, "float32")
            cosine, sine = graph.op("Mul", cosine, factor), graph.op("Mul", sine, factor)
        return cosine, sine

    def _waves(self, encoding: Sinusoidal) -> str:
        """[T, D] in float32: computed, so that there is no longest sentence here either."""
        graph, width = self.graph, encoding.width
        column = self._column(encoding.offset)
        waves = []
        for wave, count in (("Sin", width - width // 2), ("Cos", width // 2)):
            if encoding.layout == "fairseq":
                count = width // 2
            angles = graph.op("Div", column, graph.constant(_wavelengths(encoding)[:count], "float32"))
            waves.append(graph.op(wave, angles))
        if encoding.layout != "interleaved":
            odd = [graph.op("Mul", column, graph.constant(0.0, "float32"))] if encoding.layout == "fairseq" else []
            return graph.op("Concat", *waves, *(odd if width % 2 else []), axis=1)
        if width % 2:  # the last sine has no cosine
            zeros = graph.op("Mul", column, graph.constant(0.0, "float32"))
            waves[1] = graph.op("Concat", waves[1], zeros, axis=1)
        pairs = graph.op("Concat", *(graph.unsqueeze(wave, 2) for wave in waves), axis=2)
        flat = graph.op("Flatten", pairs, axis=1)
        return graph.split(flat, [width, 1])[0] if width % 2 else flat


def _wavelengths(encoding: Sinusoidal) -> Tensor:
    """What a position is divided by for each pair of waves, as `Sinusoidal.table` has it."""
    numbers = torch.arange(0, encoding.width, 2, dtype=torch.float32)
    if encoding.layout == "fairseq":
        return 1 / torch.exp(numbers / 2 * -(math.log(10000.0) / max(encoding.width // 2 - 1, 1)))
    return 10000.0 ** (numbers / encoding.width)
