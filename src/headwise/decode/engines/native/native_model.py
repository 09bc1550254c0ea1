"""A model in the native engine, and the search in C++: nothing here needs PyTorch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headwise.config import ModelConfig
from headwise.decode.alignment import AlignmentHead, alignment_layer
from headwise.decode.engines.native.describe import Shape, UnknownWeightsError, Weights, describe, native_fits, taken
from headwise.decode.engines.native.library import Floats, NativeHandle
from headwise.decode.engines.native.native_search import SLOTS, NativeBeamSearch, NativeSearch, Selection
from headwise.decode.engines.native.position_table import PositionTable
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest
from headwise.decode.shortlist import shortlists
from headwise.decode.shortlist.shortlists import Allowed
from headwise.devices import usable_cpus
from headwise.errors import ConfigError, HeadwiseError

STEPS_AT_ONCE = 16
"""Steps of a search per call: between calls Python can be interrupted, and other threads run."""


class NativeModel:
    """A copy of a model's int8 weights in the layout of the engine; the originals may be freed."""

    def __init__(
        self,
        config: ModelConfig,
        weights: Weights,
        vocabulary: int,
        pad: int,
        threads: int | None = None,
    ) -> None:
        """`threads` None: as many as PyTorch would use. Weights of another config raise `UnknownWeightsError`."""
        if not native_fits(config):
            raise HeadwiseError("the native engine does not know all parts of this model")
        self.engine = NativeHandle(default_threads() if threads is None else threads)
        self.pad, self.vocabulary = pad, vocabulary
        self._heads, self._layers = Shape(config, True).heads, config.layers
        self._always: Selection | None = None
        used = describe(config, vocabulary, weights, self.engine)
        sides = []
        for is_target, name in enumerate(("source_positions.weight", "target_positions.weight")):
            shape = Shape(config, bool(is_target))
            learned: Floats | None = None
            if config.positions.kind == "learned":
                rows = config.positions.max_positions + config.positions.offset
                learned = np.array(taken(weights, name, np.float32, rows, shape.width)[config.positions.offset :])
                used.add(name)
            sides.append(PositionTable(config, shape.width, shape.head_width, learned))
        self.source_positions, self.target_positions = sides
        if used != set(weights):
            raise UnknownWeightsError(*sorted(used ^ set(weights)))

    def start(self, sources: Sequence[Sequence[int]]) -> NativeSearch:
        """Encode sources (ids) into the engine's caches: the state before the first token. Padding costs nothing."""
        rows = [np.array(source, np.int64) for source in sources]
        real = [np.flatnonzero(row != self.pad) for row in rows]
        positions = [np.arange(found[-1] + 1 if len(found) else 0) for found in real]  # padding ends a row
        tokens = [row[used] for row, used in zip(rows, positions, strict=True)]
        lengths = np.array([len(used) for used in positions], np.int64)
        table, _ = self.source_positions.up_to(max(map(len, rows), default=0))
        nothing = np.empty(0, np.int64)
        return NativeSearch(
            self.engine, np.concatenate([nothing, *tokens]), np.concatenate([nothing, *positions]), lengths, table
        )

    def restrict(self, search: NativeSearch, allowed: Sequence[Allowed]) -> None:
        """Allow each sentence these tokens alone, in a search before its first step."""
        always, packed = allowed[0].always, self._always  # read once: another thread may replace it at any moment
        if packed is None or packed.tokens is not always:  # packing them takes as long as some steps
            self._always = packed = Selection(self.engine, always)
        search.restrict(packed, [each.own for each in allowed], shortlists.sure())

    def search(self, request: SearchRequest, allowed: Sequence[Allowed] | None = None) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each source; options without `no_repeat`, which only the search in PyTorch knows."""
        request.check()
        highest = max((token for prefix in request.prefixes for token in prefix), default=-1)
        if highest >= self.vocabulary:
            raise ConfigError(f"prefix token {highest} is not in a vocabulary of {self.vocabulary}")
        search = self.start(request.sources)
        if allowed is not None:
            self.restrict(search, allowed)
        beam = NativeBeamSearch(search, request)
        length, done = 0, False
        while not done:
            # A translation may be far shorter than its limit: positions are computed as they are needed.
            table, known = self.target_positions.up_to(length + 1)
            length = min(length + STEPS_AT_ONCE, known)
            done = beam.run(table, length)
        return beam.results()

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], head: AlignmentHead = ()
    ) -> list[Floats]:
        """Cross-attention weights [T, S] of each pair, of one head or averaged over those of `alignment_layer`."""
        layer = head[0] if head else alignment_layer(self._layers)
        width = -(-max(map(len, sources), default=0) // SLOTS) * SLOTS
        found = [
            np.zeros((len(target), len(source)), np.float32) for source, target in zip(sources, targets, strict=True)
        ]
        search, going = self.start(sources), list(range(len(sources)))
        for position in range(max(map(len, targets), default=0)):
            rows = [row for row, pair in enumerate(going) if len(targets[pair]) > position]
            if len(rows) < len(going):
                search.select(np.array(rows, np.int64))
                going = [going[row] for row in rows]
            tokens = np.array([targets[pair][position] for pair in going], np.int64)
            weights = np.zeros((len(going), self._heads, width), np.float32)
            search.step(tokens, self.target_positions.single(position), attention=(weights, layer))
            for pair, row in zip(going, weights[:, head[1]] if head else weights.mean(1), strict=True):
                found[pair][position] = row[: len(sources[pair])]
        return found

    def next_tokens(self, source: Sequence[int], target: Sequence[int]) -> Floats:
        """Log-probabilities [T, V] of the token after each one of `target`, over the whole vocabulary."""
        table = np.empty((len(target), self.vocabulary), np.float32)
        search = self.start([source])
        for position, token in enumerate(target):
            row = table[position : position + 1]
            search.step(np.array([token], np.int64), self.target_positions.single(position), table=row)
        return table


def default_threads() -> int:
    """As many threads as PyTorch would use: OMP_NUM_THREADS, or the number of cores."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # one number per level of nesting
    if setting.isdecimal() and int(setting):
        return int(setting)
    usable = usable_cpus()
    siblings = (Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in usable)
    return len({path.read_text(encoding="ascii") if path.is_file() else path.parts[5] for path in siblings})
