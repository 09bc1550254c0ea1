"""Text in, text out: the whole way from sentences to translations, batched and in the order of the input.

PyTorch is loaded with the model: one in int8 that the native engine translates with needs neither.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.decode.alignment import Alignment, align
from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget, padded
from headwise.decode.engines.engine import Aligner, Engine, MemoryHolder
from headwise.decode.engines.native.native_folder import open_stored
from headwise.decode.engines.table import AUTO, Say, make_engine
from headwise.decode.open import Served, serve
from headwise.decode.search.hypothesis import Hypothesis, length_penalty
from headwise.decode.search.options import SamplingOptions, SearchOptions, SearchRequest
from headwise.decode.shortlist.restricted import choose_shortlists, search_restricted
from headwise.decode.shortlist.shortlists import Shortlists
from headwise.errors import ConfigError, DataError
from headwise.models.folder.description import INT8, LoadedModel
from headwise.text.sentences import cut, split

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from headwise.models.encoder_decoder import EncoderDecoder

LONGEST_WHOLE = 4096
"""Tokens of a text that is scored or inspected, hence taken whole; what is translated is split instead."""


@dataclass(frozen=True)
class TranslateOptions:
    """How to search. The defaults suit translation."""

    beam: int = 4
    nbest: int = 1
    length_penalty: float = 1.0
    """Exponent of the length by which the log-probability is divided; 0: no normalisation."""
    max_ratio: float = 2.0
    max_extra: int = 10
    """A translation has at most max_ratio * source tokens + max_extra tokens."""
    no_repeat: int = 0
    """Size of an n-gram that may not occur twice in a translation; 0: any may."""
    sampling: SamplingOptions | None = None
    """Draw at random instead of searching; `nbest` gives the number of samples."""
    seed: int = 0
    batch_tokens: int = 0
    """Source tokens times beam, padding included, of the sentences searched together; 0: what suits the device."""
    exact: bool = False
    """Go on searching until nothing better can be found; slower, and hardly ever better to read."""
    alignments: bool = True

    def __post_init__(self) -> None:
        if not abs(self.length_penalty) <= 10:
            raise ConfigError(f"the length penalty must lie between -10 and 10, not at {self.length_penalty}")
        if not 0 <= self.max_ratio <= 1000:
            raise ConfigError(f"the length limit (max_ratio) must lie between 0 and 1000, not at {self.max_ratio}")
        if not 0 <= self.seed < 2**63:
            raise ConfigError("the seed must be at least 0 and below 2^63")
        if self.no_repeat < 0:
            raise ConfigError(f"the size of an n-gram (no_repeat) must not be negative, not {self.no_repeat}")


@dataclass(frozen=True)
class Translation:
    """One translation of one text."""

    text: str
    score: float
    """Log-probability over length ** length_penalty; a text in parts has the mean of its parts."""
    tokens: list[str] = field(default_factory=list)
    alignment: Alignment = field(default_factory=list)
    """Pairs (source word, target word), counted from 0 in the words between spaces."""
    nbest: list[Translation] = field(default_factory=list)
    """The best candidates, this one first; a single text in parts has one."""
    complete: bool = True
    """False if the length limit ended it before `<eos>`."""


@dataclass(frozen=True)
class _Part:
    """A piece of an input text that is translated as one sentence."""

    text: str
    separator: str
    source: list[int]  # ids, with tag and <eos>


@dataclass(frozen=True)
class _Frame:
    """The specials of one direction."""

    before: list[int]  # the source: a tag, if the model has them
    after: list[int]  # <eos>
    sos: int
    start: list[int]  # what every translation begins with
    direction: tuple[str, str]


class Translator:
    """A model ready to translate. `engine` names what does the arithmetic of a search (see `engines`); `say` is told
    what cannot be done as asked here. Engines lay out weights anew: a model that is trained on wants a new one.

    A `shortlist` in the model's folder (see `shortlist`) is used by the engine int8; with True it must be there, and
    with False it is not used."""

    def __init__(
        self,
        model: str | Path | LoadedModel,
        device: str = "auto",
        engine: str = AUTO,
        say: Say = warnings.warn,
        shortlist: Shortlists | bool | None = None,
    ) -> None:
        if isinstance(model, LoadedModel) and engine == INT8 and model.precision != INT8:
            model = replace(model, model=copy.deepcopy(model.model))  # the caller's own stays as it is
        self._given = model, device
        self._stored = None
        if not isinstance(model, LoadedModel) and engine in (AUTO, INT8) and device in ("auto", "cpu"):
            self._stored = open_stored(Path(model))
        known = self._stored.description if self._stored else self._served
        assert known.tokenizer is not None
        self.tokenizer, self.config, self.task = known.tokenizer, known.config, known.task
        self._engine: Engine = (
            self._stored.engine if self._stored else make_engine(engine, self._served.loaded, self.device, say)
        )
        self.engine = self._engine.name
        """What does the arithmetic, by name: never `auto`."""
        self._positions = self.config.position_limit
        folder = None if isinstance(model, LoadedModel) else Path(model)
        self.shortlist = choose_shortlists(shortlist, self._engine, folder, self.tokenizer)
        """Which tokens a translation may have, if not all."""

    @cached_property
    def _served(self) -> Served[EncoderDecoder]:
        from headwise.models.encoder_decoder import EncoderDecoder

        return serve(*self._given, EncoderDecoder, "translates")

    @property
    def model(self) -> EncoderDecoder:
        """The model itself, on its device; built when it is first asked for, where the engine does without."""
        return self._served.model

    @property
    def device(self) -> torch.device:
        if self._stored is None:
            return self._served.device
        import torch

        return torch.device("cpu")

    @property
    def on_gpu(self) -> bool:
        return self._stored is None and self.device.type == "cuda"

    def release(self) -> None:
        """Give back the memory that the engine keeps for the next search; that one takes it again."""
        if isinstance(self._engine, MemoryHolder):
            self._engine.release()

    def weights_digest(self) -> str:
        """Names the weights, wherever they came from."""
        if self._stored is not None:
            return self._stored.digest
        from headwise.files.digest import tensors_digest
        from headwise.models.folder.weights import weights_of

        return tensors_digest(weights_of(self.model))

    def translate(
        self,
        texts: Sequence[str] | str,
        source: str | None = None,
        target: str | None = None,
        *,
        beam: int = 4,
        nbest: int = 1,
        prefix: str = "",
        options: TranslateOptions | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """Translate each text; one result a text, in order. Empty texts stay empty.

        `source` and `target` are language codes, needed only by models of several directions. `prefix` is
        what every translation has to start with. `options` replaces beam and nbest and says more. `progress`
        is told the number of sentences done.
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
        options = options or TranslateOptions(beam=beam, nbest=nbest)
        frame = self._frame(source, target)
        parts = [
            self._parts(text, ids, frame) for text, ids in zip(texts, self.tokenizer.encode_batch(texts), strict=True)
        ]
        queue = [(row, place) for row, row_parts in enumerate(parts) for place in range(len(row_parts))]
        # Long sentences first: the largest need of memory shows at once, and batches have little padding.
        queue.sort(key=lambda at: -len(parts[at[0]][at[1]].source))
        done: dict[tuple[int, int], list[Translation]] = {}
        forced = self.tokenizer.encode_target(prefix) if prefix else []
        generator = self._generator(options.seed) if options.sampling else None
        width = options.nbest if options.sampling else max(options.beam, options.nbest)
        lengths = [len(parts[row][place].source) * width for row, place in queue]
        budget = options.batch_tokens or self._engine.batch_tokens
        if options.alignments and not options.batch_tokens:
            budget = min(budget, GPU_BATCH_TOKENS) // 4  # the attention of all of them is kept
        for numbers in by_budget(range(len(queue)), lengths, budget):
            batch = [queue[number] for number in numbers]
            sources = [parts[row][place].source for row, place in batch]
            prefixes = [[*frame.start, *forced] if place == 0 else frame.start for _, place in batch]
            done.update(zip(batch, self._search(sources, prefixes, options, generator, frame), strict=True))
            if progress is not None:
                progress(len(done))
        return [
            self._join(row_parts, [done[row, place] for place in range(len(row_parts))])
            for row, row_parts in enumerate(parts)
        ]

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source: str | None = None,
        target: str | None = None,
        *,
        length_alpha: float = 1.0,
    ) -> list[float]:
        """How likely each target is as the translation of its source: the score a search would give it."""
        return [
            length_penalty(sum(each), len(each), length_alpha)
            for each in self.reference_log_probabilities(sources, targets, source, target)
        ]

    def reference_log_probabilities(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source: str | None = None,
        target: str | None = None,
    ) -> list[list[float]]:
        """Log-probability of each token of given translations, and of the `<eos>` after them."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources, but {len(targets)} targets")
        frame = self._frame(source, target)
        source_ids = [self._source_ids(text, frame) for text in sources]
        target_ids = [[*frame.start, *ids] for ids in self.tokenizer.encode_target_batch(targets)]
        found = self.log_probabilities(source_ids, target_ids, frame.sos)
        return [each[len(frame.start) :] for each in found]

    def log_probabilities(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], sos: int | None = None
    ) -> list[list[float]]:
        """Log-probability of each target token and of the `<eos>` after it, all in one pass a batch.

        `sos` is what the decoder is given first, if it is not the tokenizer's own.
        """
        import torch

        sos = self.tokenizer.sos if sos is None else sos
        for ids in (*sources, *([sos, *target] for target in targets)):
            self.check_length(ids)
        order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), len(targets[i])))
        result: list[list[float]] = [[] for _ in sources]
        for rows in by_budget(order, [max(len(s), len(t)) + 2 for s, t in zip(sources, targets, strict=True)]):
            target = self._pad([[sos, *targets[i], self.tokenizer.eos] for i in rows])
            with torch.inference_mode():
                encoded = self.model.encode(self._pad([sources[i] for i in rows]))
                logits = self.model.output_projection(self.model.decode(target[:, :-1], encoded).hidden)
                chosen = logits.float().log_softmax(-1).gather(-1, target[:, 1:, None])[..., 0].tolist()
            for i, log_p in zip(rows, chosen, strict=True):
                result[i] = log_p[: len(targets[i]) + 1]
        return result

    def begin(
        self, sources: Sequence[Sequence[int]], count: int, source: str | None = None, target: str | None = None
    ) -> list[list[int]]:
        """The `count` likeliest tokens, or all that may be said if these are fewer, that translations of sources (ids,
        without specials) begin with; an end is none of them."""
        frame = self._frame(source, target)
        framed = [[*frame.before, *ids, *frame.after] for ids in sources]
        prefixes = [frame.start] * len(sources)
        width = min(count + 1, self.tokenizer.size)
        options = SearchOptions(frame.sos, self.tokenizer.eos, width, width, forbidden=self.tokenizer.specials)
        found = self._engine.search(SearchRequest(framed, [len(frame.start) + 1] * len(sources), options, prefixes))
        return [[one.tokens[-1] for one in each if not one.finished][:count] for each in found]

    def _generator(self, seed: int) -> torch.Generator:
        import torch

        return torch.Generator(self.device).manual_seed(seed)

    def _search(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        options: TranslateOptions,
        generator: torch.Generator | None,
        frame: _Frame,
    ) -> list[list[Translation]]:
        """The n-best translations of one batch."""
        search = SearchOptions(
            sos=frame.sos,
            eos=self.tokenizer.eos,
            beam=max(options.beam, options.nbest) if options.sampling is None else 1,
            nbest=options.nbest if options.sampling is None else 1,
            length_penalty=options.length_penalty,
            exact=options.exact,
            no_repeat=options.no_repeat,
            forbidden=self.tokenizer.specials,
            unscored=len(frame.start),
        )
        limits = [
            min(int(len(source) * options.max_ratio + options.max_extra + len(prefix)), self._positions - 1)
            for source, prefix in zip(sources, prefixes, strict=True)
        ]
        request = SearchRequest(sources, limits, search, prefixes)
        request.check()
        if options.sampling is None or generator is None:
            if self.shortlist is None:
                found = self._engine.search(request)
            else:
                allowed = self.shortlist.allowed(sources, prefixes, frame.direction)
                found = search_restricted(self._engine, request, allowed)
        else:
            sampling = replace(options.sampling, samples=options.nbest)
            found = self._engine.draw(request, sampling, generator)
        alignments = self._align(sources, found, frame.sos) if options.alignments else None
        return [
            [
                self._translation(hypothesis, len(frame.start), alignments[row][rank] if alignments else [])
                for rank, hypothesis in enumerate(hypotheses)
            ]
            for row, hypotheses in enumerate(found)
        ]

    def _align(self, sources: list[list[int]], found: list[list[Hypothesis]], sos: int) -> list[list[Alignment]]:
        """Word alignments by one more pass over the finished translations, which shows the attention."""
        rows = [row for row, hypotheses in enumerate(found) for _ in hypotheses]
        targets = [[sos, *h.tokens] for hypotheses in found for h in hypotheses]
        aligner = self._engine if isinstance(self._engine, Aligner) else self
        attention = aligner.attention([sources[row] for row in rows], targets)
        alignments = iter(
            # Row t is the attention that led to token t: the query there is the token before it.
            align(weights, self.tokenizer.word_ids(sources[row]), self.tokenizer.word_ids(target[1:]))
            for weights, row, target in zip(attention, rows, targets, strict=True)
        )
        return [[next(alignments) for _ in hypotheses] for hypotheses in found]

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Sequence[NDArray[Any]]:
        """What each token of a target looked at in its source, by the model itself: weights [T, S], padded, a pair.

        The last but one layer that attends: the last one already looks ahead to the word it has to write next.
        """
        import torch

        with torch.inference_mode():
            encoded = self.model.encode(self._pad(sources))
            cross_weights = self.model.decode(self._pad(targets), encoded, capture=True).cross_weights
            weights = cross_weights[max(0, len(cross_weights) - 2)].mean(1)  # [pairs, T, S]
        return list(weights.float().cpu().numpy())

    def _translation(self, hypothesis: Hypothesis, start: int, alignment: Alignment) -> Translation:
        """Translation without the `start` tokens that the decoder is given."""
        return Translation(
            text=self.tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=self.tokenizer.pieces(hypothesis.tokens[start:]),
            alignment=alignment,
            complete=hypothesis.finished,
        )

    def _parts(self, text: str, ids: list[int], frame: _Frame) -> list[_Part]:
        """The text, given with its ids, as sentences that the model can take, and what stands between them."""
        if not text.strip():
            return []
        room = self._positions - max(2, len(frame.before) + len(frame.after))  # the specials need a place too
        limit = min(self.task.usual_tokens, room)
        longest = max(limit, min(self.task.max_tokens, room))

        def length_of(piece: str) -> int:
            return len(self.tokenizer.encode(piece))

        if len(ids) <= limit and "\n" not in text:
            return [_Part(text, "", [*frame.before, *ids, *frame.after])]
        # Each sentence by itself, as most models have seen them: given two at once, they may leave one out.
        # A sentence is cut only where it is longer than anything the model has seen.
        pieces = [piece for sentence in split(text) for piece in cut(sentence, length_of, longest)]
        return [
            _Part(piece.text, piece.separator, self._source_ids(piece.text, frame))
            for piece in pieces
            if piece.text.strip()
        ]

    def source_ids(self, text: str, source: str | None = None, target: str | None = None) -> list[int]:
        """The ids the encoder sees for a text, tag and `<eos>` included."""
        return self._source_ids(text, self._frame(source, target))

    def _source_ids(self, text: str, frame: _Frame) -> list[int]:
        return [*frame.before, *self.tokenizer.encode(text), *frame.after]

    def check_length(self, ids: Sequence[int]) -> None:
        """Refuse what cannot be taken whole: attention is quadratic, and learned positions have an end."""
        if len(ids) > self._positions:
            raise DataError(f"a text of {len(ids)} tokens is too long: this model knows {self._positions} positions")
        if len(ids) > LONGEST_WHOLE:
            raise DataError(f"a text of {len(ids):,} tokens is too long to be taken whole (at most {LONGEST_WHOLE:,})")

    def direction(self, source: str | None = None, target: str | None = None) -> tuple[str, str]:
        """Direction with these languages; a ConfigError where the model has none, or where one more must be named."""
        return self.task.direction(source, target)

    def _frame(self, source: str | None, target: str | None) -> _Frame:
        direction = self.direction(source, target)
        languages = direction if self.task.tags else ("", "")
        before, after = self.tokenizer.source_frame(*languages)
        start = self.tokenizer.target_start(languages[1])
        return _Frame(before, after, self.tokenizer.decoder_start(languages[1]), start, direction)

    def _join(self, parts: list[_Part], found: list[list[Translation]]) -> Translation:
        """One result a text, whatever the number of its parts."""
        if not parts:
            return Translation("", 0.0)
        if len(parts) == 1:
            best = found[0][0]
            return Translation(best.text, best.score, best.tokens, best.alignment, found[0], best.complete)
        best_parts = [candidates[0] for candidates in found]
        text = ""
        alignment: Alignment = []
        source_words = target_words = 0  # before this part: where it begins inside a word, that one counts later
        for part, best in zip(parts, best_parts, strict=True):
            alignment += [(s + source_words, t + target_words) for s, t in best.alignment]
            source_words += _words_ended(part.text + part.separator)
            target_words += _words_ended(best.text + part.separator)
            text += best.text + part.separator
        whole = Translation(
            text=text.strip(),
            score=sum(best.score for best in best_parts) / len(best_parts),
            tokens=[token for best in best_parts for token in best.tokens],
            alignment=sorted(set(alignment)),
            complete=all(best.complete for best in best_parts),
        )
        return Translation(whole.text, whole.score, whole.tokens, whole.alignment, [whole], whole.complete)

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return padded(rows, self.tokenizer.pad, self.device)


def _words_ended(text: str) -> int:
    """Words that end within the text. Its last one goes on after it unless there is a space."""
    return len(f"{text}.".split()) - 1
