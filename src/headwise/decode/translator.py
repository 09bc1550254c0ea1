"""Translator: text in, text out, batched and in the order of the input.

PyTorch is imported together with the model: an int8 folder that runs on the native engine needs neither.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack, cast, overload

from headwise.decode.alignment import Alignment, align, alignment_layer
from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget, padded
from headwise.decode.engines.engine import Aligner, Engine, MemoryHolder
from headwise.decode.engines.native.native_folder import open_stored
from headwise.decode.engines.table import AUTO, Say, make_engine
from headwise.decode.given_texts import check_texts
from headwise.decode.open import OpenedModel, open_as
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.hypothesis import length_penalty as normalised_score
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.shortlist.restricted import choose_shortlists, search_restricted
from headwise.decode.shortlist.shortlists import Shortlists
from headwise.decode.text_parts import TextPart, join_parts, split_pieces
from headwise.decode.translation import TranslateKeywords, TranslateOptions, Translation, options_from
from headwise.errors import ConfigError, DataError
from headwise.files.digest import bytes_digest
from headwise.models.folder.description import INT8, LoadedModel

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from headwise.decode.bulk.line_job import BulkProgress
    from headwise.decode.bulk.share import Share
    from headwise.decode.bulk.translate_file import FileTranslation
    from headwise.models.encoder_decoder import EncoderDecoder

Direction = tuple[str, str]

LONGEST_WHOLE = 4096
"""Tokens of the longest text that is scored or inspected; a text that is translated is split instead."""

STREAM_CHUNK = 1024
"""Texts of a stream that are sorted and batched together."""


@dataclass(frozen=True)
class _Frame:
    """The special tokens of one direction."""

    before: list[int]  # of the source: a language tag, if the model has them
    after: list[int]  # of the source: <eos>
    sos: int
    start: list[int]  # every translation begins with these
    direction: Direction


class Translator:
    """A model that translates.

    `model` is a folder or a loaded model. `engine` names the implementation of the search (`headwise info` lists
    them); `say` receives notes about what is not possible here. An engine copies the weights: after further training,
    open a new Translator.

    A `shortlist` in the model's folder is used by the engine int8. True: it must exist; False: it is not used.
    """

    def __init__(
        self,
        model: str | Path | LoadedModel,
        *,
        device: str = "auto",
        engine: str = AUTO,
        shortlist: Shortlists | bool | None = None,
        say: Say = warnings.warn,
    ) -> None:
        if isinstance(model, LoadedModel) and engine == INT8 and model.description.precision != INT8:
            model = replace(model, model=copy.deepcopy(model.model))  # quantising must not change the caller's model
        self._given: tuple[str | Path | LoadedModel, str] | None = (model, device)
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
        """Name of the engine that runs: never `auto`."""
        self._positions = self.config.position_limit
        self.folder = None if isinstance(model, LoadedModel) else Path(model)
        """Folder of the model; None for a loaded model."""
        self.shortlist = choose_shortlists(shortlist, self._engine, self.folder, self.tokenizer)
        """Tokens that a translation may have, by source token; None: all."""

    # --- the model -------------------------------------------------------------------------------------

    @cached_property
    def _served(self) -> OpenedModel[EncoderDecoder]:
        from headwise.models.encoder_decoder import EncoderDecoder

        if self._given is None:
            raise _closed()
        return open_as(*self._given, EncoderDecoder, "translates")

    @property
    def model(self) -> EncoderDecoder:
        """The PyTorch model on its device; built on first use where the engine runs without it."""
        return self._served.model

    @property
    def device(self) -> torch.device:
        """The device that the engine runs on."""
        if self._stored is None:
            return self._served.device
        import torch

        return torch.device("cpu")

    @property
    def _on_gpu(self) -> bool:
        return self._stored is None and self.device.type == "cuda"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Pairs of source and target language of the model; an empty code is a language that is not known."""
        return self.task.directions

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction for these languages; one that the model does not have is an error."""
        return self.task.direction(source, target)

    def release(self) -> None:
        """Free the memory that the engine keeps between searches; the next search allocates it again."""
        if isinstance(self._engine, MemoryHolder):
            self._engine.release()

    def close(self) -> None:
        """Free the model and the engine. A closed translator cannot be used again."""
        if self._given is not None:
            self.release()
            self._given = self._stored = None
            self.__dict__.pop("_served", None)
            self._engine = cast(Engine, _ClosedEngine())

    def __enter__(self) -> Translator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._given is None:
            return "Translator(closed)"
        name = "a loaded model" if self.folder is None else repr(str(self.folder))
        return f"Translator({name}, {self.task.known_directions}, engine {self.engine})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Translator cannot be pickled or copied: it holds an engine. Pass on the model's folder, and open a "
            "Translator there"
        )

    def model_digest(self) -> str:
        """SHA-256 that identifies weights, tokenizer and shortlist, wherever they came from."""
        parts = [self.tokenizer.fingerprint, self._weights_digest()]
        parts += [self.shortlist.digest] if self.shortlist else []
        return bytes_digest(" ".join(parts).encode())

    def _weights_digest(self) -> str:
        if self._stored is not None:
            return self._stored.digest
        from headwise.files.digest import tensors_digest
        from headwise.models.folder.weights import weights_of

        return tensors_digest(weights_of(self.model))

    # --- translation -----------------------------------------------------------------------------------

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        options: TranslateOptions | None = None,
        progress: Callable[[int], None] | None = None,
        **search: Unpack[TranslateKeywords],
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        options: TranslateOptions | None = None,
        progress: Callable[[int], None] | None = None,
        **search: Unpack[TranslateKeywords],
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        options: TranslateOptions | None = None,
        progress: Callable[[int], None] | None = None,
        **search: Unpack[TranslateKeywords],
    ) -> Translation | list[Translation]:
        """Translate one text, or several: a `str` gives one `Translation`, an iterable a list in its order.

        `source` and `target` are language codes, needed only by models of several directions. Every translation begins
        with `prefix`. Search options are keywords (`beam=1`, `candidates=3`, `alignments=True`, ...: the fields of
        `TranslateOptions`), or one value, `options`. `progress` receives the number of sentences done so far. An empty
        text has an empty translation.
        """
        chosen = options_from(options, search)
        listed = check_texts(texts)
        found = self._translate(listed, self._frame(source, target), prefix, chosen, progress)
        return found[0] if isinstance(texts, str) else found

    def translate_stream(
        self,
        texts: Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        options: TranslateOptions | None = None,
        **search: Unpack[TranslateKeywords],
    ) -> Iterator[Translation]:
        """Translate texts as they come, in constant memory: one `Translation` per text, in order.

        Texts are taken in chunks of `STREAM_CHUNK`, so that similar lengths can be batched.
        """
        chosen = options_from(options, search)
        self.direction(source, target)
        return self._stream(iter(texts), source, target, prefix, chosen)

    def _stream(
        self, texts: Iterator[str], source: str | None, target: str | None, prefix: str, options: TranslateOptions
    ) -> Iterator[Translation]:
        done = 0
        while chunk := list(itertools.islice(texts, STREAM_CHUNK)):
            drawing = replace(options, seed=options.seed + done)  # else every chunk would sample the same
            yield from self.translate(chunk, source=source, target=target, prefix=prefix, options=drawing)
            done += len(chunk)

    def translate_file(
        self,
        input: str | Path,
        output: str | Path,
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        json: bool = False,
        scores: bool = False,
        share: Share | None = None,
        progress: Callable[[BulkProgress], None] | None = None,
        stop: Callable[[], bool] | None = None,
        say: Say | None = None,
        options: TranslateOptions | None = None,
        **search: Unpack[TranslateKeywords],
    ) -> FileTranslation:
        """Translate a text file line by line into another file; after a kill, the same call continues.

        `input` may be compressed. `paragraphs`: lines up to an empty line are one text. Each line of `output` holds a
        translation; with `scores`, its score and a tab before it; with `json`, an object with all details. Several
        processes can each translate a `share`: the last to end writes `output`. `progress` is called after each group
        of lines, `stop` is asked whether to stop early, `say` receives notes.
        """
        from headwise.decode.bulk.line_job import BulkControl
        from headwise.decode.bulk.translate_file import FileJob, translate_file

        given = {"share": share, "progress": progress, "stop": stop, "say": say}
        control = BulkControl(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        chosen = options_from(options, search)
        job = FileJob(Path(input), Path(output), source, target, chosen, prefix, paragraphs, json, scores)
        return translate_file(self, job, control)

    def _translate(
        self,
        texts: list[str],
        frame: _Frame,
        prefix: str,
        options: TranslateOptions,
        progress: Callable[[int], None] | None,
    ) -> list[Translation]:
        parts = [
            self._parts(text, ids, frame) for text, ids in zip(texts, self.tokenizer.encode_batch(texts), strict=True)
        ]
        queue = [(row, place) for row, row_parts in enumerate(parts) for place in range(len(row_parts))]
        # Long sentences first: the peak of memory comes at once, and batches have little padding.
        queue.sort(key=lambda at: -len(parts[at[0]][at[1]].source))
        done: dict[tuple[int, int], list[Translation]] = {}
        forced = self.tokenizer.encode_target(prefix) if prefix else []
        generator = self._generator(options.seed) if options.sampling else None
        lengths = [len(parts[row][place].source) * options.width for row, place in queue]
        budget = options.batch_tokens or self._engine.batch_tokens
        if options.alignments and not options.batch_tokens:
            budget = min(budget, GPU_BATCH_TOKENS) // 4  # attention weights of the whole batch are in memory
        for numbers in by_budget(range(len(queue)), lengths, budget):
            batch = [queue[number] for number in numbers]
            sources = [parts[row][place].source for row, place in batch]
            prefixes = [[*frame.start, *forced] if place == 0 else frame.start for _, place in batch]
            done.update(zip(batch, self._search(sources, prefixes, options, generator, frame), strict=True))
            if progress is not None:
                progress(len(done))
        return [
            join_parts(row_parts, [done[row, place] for place in range(len(row_parts))])
            for row, row_parts in enumerate(parts)
        ]

    def _search(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        options: TranslateOptions,
        generator: torch.Generator | None,
        frame: _Frame,
    ) -> list[list[Translation]]:
        """The candidates for each sentence of one batch."""
        search = SearchOptions(
            sos=frame.sos,
            eos=self.tokenizer.eos,
            beam=options.width if options.sampling is None else 1,
            nbest=options.candidates if options.sampling is None else 1,
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
            sampling = replace(options.sampling, samples=options.candidates)
            found = self._engine.draw(request, sampling, generator)
        alignments = self._align(sources, found, frame.sos) if options.alignments else None
        return [
            [
                self._translation(hypothesis, len(frame.start), alignments[row][rank] if alignments else [])
                for rank, hypothesis in enumerate(hypotheses)
            ]
            for row, hypotheses in enumerate(found)
        ]

    def _generator(self, seed: int) -> torch.Generator:
        import torch

        return torch.Generator(self.device).manual_seed(seed)

    def _translation(self, hypothesis: Hypothesis, start: int, alignment: Alignment) -> Translation:
        """Translation without the `start` tokens that the decoder is given."""
        return Translation(
            text=self.tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=self.tokenizer.pieces(hypothesis.tokens[start:]),
            alignment=alignment,
            complete=hypothesis.finished,
        )

    # --- alignments ------------------------------------------------------------------------------------

    def _align(self, sources: list[list[int]], found: list[list[Hypothesis]], sos: int) -> list[list[Alignment]]:
        """Word alignments, from the attention of one more pass over the finished translations."""
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
        """Cross-attention weights of each pair of ids, averaged over the heads: [T, S], padded.

        They come from the layer that aligns words best, `alignment_layer`.
        """
        import torch

        with torch.inference_mode():
            encoded = self.model.encode(self._pad(sources))
            cross_weights = self.model.decode(self._pad(targets), encoded, capture=True).cross_weights
            weights = cross_weights[alignment_layer(len(cross_weights))].mean(1)  # [pairs, T, S]
        return list(weights.float().cpu().numpy())

    # --- scores ----------------------------------------------------------------------------------------

    @overload
    def score(  # type: ignore[overload-overlap]
        self,
        sources: str,
        targets: str,
        *,
        source: str | None = None,
        target: str | None = None,
        length_penalty: float = 1.0,
    ) -> float: ...

    @overload
    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        length_penalty: float = 1.0,
    ) -> list[float]: ...

    def score(
        self,
        sources: str | Iterable[str],
        targets: str | Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
        length_penalty: float = 1.0,
    ) -> float | list[float]:
        """Score given translations as a search would: log-probability over length ** length_penalty.

        Two `str` give one score, two iterables a list.
        """
        if isinstance(sources, str) != isinstance(targets, str):
            raise TypeError("give two texts, or two lists of texts")
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets], source=source, target=target, length_penalty=length_penalty)[0]
        found = self.reference_log_probabilities(sources, targets, source=source, target=target)
        return [normalised_score(sum(each), len(each), length_penalty) for each in found]

    def reference_log_probabilities(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        source: str | None = None,
        target: str | None = None,
    ) -> list[list[float]]:
        """Log-probability of each token of given translations, `<eos>` included."""
        listed, references = check_texts(sources, "sources"), check_texts(targets, "targets")
        if len(listed) != len(references):
            raise DataError(f"{len(listed)} sources, but {len(references)} targets")
        frame = self._frame(source, target)
        source_ids = [self._source_ids(text, frame) for text in listed]
        target_ids = [[*frame.start, *ids] for ids in self.tokenizer.encode_target_batch(references)]
        found = self._log_probabilities(source_ids, target_ids, frame.sos)
        return [each[len(frame.start) :] for each in found]

    def _log_probabilities(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], sos: int
    ) -> list[list[float]]:
        """Log-probability of each target token and of the `<eos>` after it, in one pass per batch.

        `sos` is the first input of the decoder.
        """
        import torch

        for ids in (*sources, *([sos, *target] for target in targets)):
            self._check_length(ids)
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

    def _first_tokens(
        self, sources: Sequence[Sequence[int]], count: int, source: str | None = None, target: str | None = None
    ) -> list[list[int]]:
        """The `count` most probable first tokens of each source's translation, `<eos>` excluded.

        Sources are ids without special tokens.
        """
        frame = self._frame(source, target)
        framed = [[*frame.before, *ids, *frame.after] for ids in sources]
        prefixes = [frame.start] * len(sources)
        width = min(count + 1, self.tokenizer.size)
        options = SearchOptions(frame.sos, self.tokenizer.eos, width, width, forbidden=self.tokenizer.specials)
        found = self._engine.search(SearchRequest(framed, [len(frame.start) + 1] * len(sources), options, prefixes))
        return [[one.tokens[-1] for one in each if not one.finished][:count] for each in found]

    # --- ids -------------------------------------------------------------------------------------------

    def source_ids(self, text: str, *, source: str | None = None, target: str | None = None) -> list[int]:
        """Encoder input for a text: its ids with language tag and `<eos>`."""
        return self._source_ids(text, self._frame(source, target))

    def pair_ids(
        self, text: str, translation: str, *, source: str | None = None, target: str | None = None
    ) -> tuple[list[int], list[int]]:
        """Encoder input for a text, and decoder input for its translation, which begins with the start token.

        A text that is too long to be taken whole is an error.
        """
        frame = self._frame(source, target)
        pair = (
            self._source_ids(text, frame),
            [frame.sos, *frame.start, *self.tokenizer.encode_target(translation)],
        )
        for ids in pair:
            self._check_length(ids)
        return pair

    def _source_ids(self, text: str, frame: _Frame) -> list[int]:
        return [*frame.before, *self.tokenizer.encode(text), *frame.after]

    def _parts(self, text: str, ids: list[int], frame: _Frame) -> list[TextPart]:
        """The sentences of a text, given with its ids, that are translated one by one."""
        if not text.strip():
            return []
        room = self._positions - max(2, len(frame.before) + len(frame.after))  # special tokens have positions too
        limit = min(self.task.usual_tokens, room)
        if len(ids) <= limit and "\n" not in text:
            return [TextPart(text, "", [*frame.before, *ids, *frame.after])]
        longest = max(limit, min(self.task.max_tokens, room))
        pieces = split_pieces(text, lambda piece: len(self.tokenizer.encode(piece)), longest)
        return [TextPart(piece, separator, self._source_ids(piece, frame)) for piece, separator in pieces]

    def _check_length(self, ids: Sequence[int]) -> None:
        """Refuse a text that cannot be taken whole: attention is quadratic, and learned positions are limited."""
        if len(ids) > self._positions:
            raise DataError(f"a text of {len(ids)} tokens is too long: this model has {self._positions} positions")
        if len(ids) > LONGEST_WHOLE:
            raise DataError(f"a text of {len(ids):,} tokens is too long to be taken whole (at most {LONGEST_WHOLE:,})")

    def _frame(self, source: str | None, target: str | None) -> _Frame:
        direction = self.direction(source, target)
        languages = direction if self.task.tags else ("", "")
        before, after = self.tokenizer.source_frame(*languages)
        start = self.tokenizer.target_start(languages[1])
        return _Frame(before, after, self.tokenizer.decoder_start(languages[1]), start, direction)

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return padded(rows, self.tokenizer.pad, self.device)


class _ClosedEngine:
    """The engine of a closed translator."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _closed()


def _closed() -> ConfigError:
    return ConfigError("this Translator is closed: open a new one")
