"""Translator: text in, text out, batched and in the order of the input.

PyTorch is imported together with the model: an int8 folder that runs on the native engine needs neither.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Unpack, cast, overload

from headwise.bundled.find import bundled_folder, find_model
from headwise.decode.auto_source import AUTO_SOURCE, auto_direction, by_source, source_or_auto
from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget
from headwise.decode.engines.engine import Engine, MemoryHolder
from headwise.decode.engines.native.native_folder import open_stored
from headwise.decode.engines.table import AUTO, Say, make_engine
from headwise.decode.forecast.word_choices import WordForecast
from headwise.decode.framing import DirectionFrame, Framer
from headwise.decode.glossary.keep_case import keep_case
from headwise.decode.glossary.term_search import EngineTermSearch, use_terms
from headwise.decode.open import OpenedModel, open_as, torch_use
from headwise.decode.repair.kept_words import KeptWords
from headwise.decode.repair.repair import repair_texts
from headwise.decode.repair.second_search import second_search
from headwise.decode.search.hypothesis import length_penalty as normalised_score
from headwise.decode.search.options import SearchOptions, SearchRequest, options_from
from headwise.decode.sentence_search import SentenceSearch
from headwise.decode.shortlist.restricted import choose_shortlists
from headwise.decode.shortlist.shortlists import Shortlists
from headwise.decode.text_parts import TextPart, join_parts
from headwise.decode.translation import TranslateKeywords, TranslateOptions, Translation
from headwise.errors import ConfigError, DataError
from headwise.extras import require
from headwise.files.digest import bytes_digest
from headwise.models.folder.description import INT8, LoadedModel
from headwise.text.capitals import NormalCase, in_capitals, in_title_case
from headwise.text.given_texts import check_texts
from headwise.text.language.codes import Direction, short_code

if TYPE_CHECKING:
    import torch

    from headwise.decode.bulk.line_job import BulkProgress
    from headwise.decode.bulk.share import Share
    from headwise.decode.bulk.translate_file import FileTranslation
    from headwise.models.encoder_decoder import EncoderDecoder

CAPITAL_NOUNS = ("de", "lb")
"""Languages that write nouns with a capital initial."""

STREAM_CHUNK = 1024
"""Texts of a stream that are sorted and batched together."""


class Translator:
    """A model that translates.

    `model` is a folder, the name of a model (`headwise models` lists them) or a loaded model; without one, the bundled
    model translates. `engine` names the implementation of the search (`headwise info` lists
    them); `say` receives notes about what is not possible here. An engine copies the weights: after further training,
    open a new Translator.

    A `shortlist` in the model's folder is used by the engine int8. True: it must exist; False: it is not used.
    """

    def __init__(
        self,
        model: str | Path | LoadedModel | None = None,
        *,
        device: str = "auto",
        engine: str = AUTO,
        shortlist: Shortlists | bool | None = None,
        say: Say = warnings.warn,
    ) -> None:
        if not isinstance(model, LoadedModel):
            model = bundled_folder() if model is None else find_model(model)
        elif engine == INT8 and model.description.precision != INT8:
            model = replace(model, model=copy.deepcopy(model.model))  # quantising must not change the caller's model
        self._given: tuple[Path | LoadedModel, str] | None = (model, device)
        self._stored = None
        if not isinstance(model, LoadedModel) and engine in (AUTO, INT8) and device in ("auto", "cpu"):
            self._stored = open_stored(model)
        if not isinstance(model, LoadedModel) and self._stored is None:
            require("torch", torch_use(model, engine, device))
        known = self._stored.description if self._stored else self._served
        assert known.tokenizer is not None
        self.tokenizer, self.config, self.task = known.tokenizer, known.config, known.task
        self._engine: Engine = (
            self._stored.engine if self._stored else make_engine(engine, self._served.loaded, self.device, say)
        )
        self.engine = self._engine.name
        """Name of the engine that runs: never `auto`."""
        self._framer = Framer(self.tokenizer, self.task, self.config.position_limit)
        self.folder = None if isinstance(model, LoadedModel) else model
        """Folder of the model; None for a loaded model."""
        self.shortlist = choose_shortlists(shortlist, self._engine, self.folder, self.tokenizer)
        """Tokens that a translation may have, by source token; None: all."""
        self._sentences = SentenceSearch(
            self._engine,
            self.tokenizer,
            self.config.position_limit,
            self.shortlist,
            lambda: self.model,
            self.task.alignment_head,
            bool(self.task.alignment_head) and self.task.aligns_given,
        )

    # --- the model -------------------------------------------------------------------------------------

    @cached_property
    def _served(self) -> OpenedModel[EncoderDecoder]:
        if self._given is None:
            raise _closed()
        require("torch", "scoring given translations, or looking inside a model,")
        from headwise.models.encoder_decoder import EncoderDecoder

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
        require("torch", "Translator.device")
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
        """The direction for these languages; one that the model does not have is an error.

        The source is `auto` where each text's language is detected.
        """
        source = source_or_auto(self.task, source, target)
        return auto_direction(self.task, target) if source == AUTO_SOURCE else self.task.direction(source, target)

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
            self._engine = cast(Engine, _Closed())
            self._sentences = cast(SentenceSearch, _Closed())

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

        `source` and `target` are language codes, needed only by models of several directions. With the source `auto`,
        which is also the default where several languages lead to the target, the language of each text is detected
        among the model's source languages (`Translation.detected`), and a text in the target language stays as it is.
        Every translation begins with `prefix`. Search options are keywords
        (`beam=1`, `candidates=3`, `alignments=True`, ...: the fields of `TranslateOptions`), or one value, `options`.
        `progress` receives the number of sentences done so far. An empty text has an empty translation.
        """
        chosen = options_from(TranslateOptions, options, search)
        listed = check_texts(texts)
        if (direction := self.direction(source, target))[0] == AUTO_SOURCE:
            found = self._translate_detected(listed, direction[1], prefix, chosen, progress)
        else:
            found = self._translate(listed, self._framer.frame(source, target), prefix, chosen, progress)
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
        chosen = options_from(TranslateOptions, options, search)
        self.direction(source, target)
        return self._stream(iter(texts), source, target, prefix, chosen)

    def _stream(
        self, texts: Iterator[str], source: str | None, target: str | None, prefix: str, options: TranslateOptions
    ) -> Iterator[Translation]:
        done = 0
        while chunk := list(itertools.islice(texts, STREAM_CHUNK)):
            drawing = replace(options, seed=options.seed + done)  # otherwise every chunk would draw the same samples
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
        of lines, `stop` returns whether to stop early, `say` receives notes.
        """
        from headwise.decode.bulk.line_job import BulkControl
        from headwise.decode.bulk.translate_file import FileJob, translate_file

        given = {"share": share, "progress": progress, "stop": stop, "say": say}
        control = BulkControl(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        chosen = options_from(TranslateOptions, options, search)
        job = FileJob(Path(input), Path(output), source, target, chosen, prefix, paragraphs, json, scores)
        return translate_file(self, job, control)

    def _translate(
        self,
        texts: list[str],
        frame: DirectionFrame,
        prefix: str,
        options: TranslateOptions,
        progress: Callable[[int], None] | None,
    ) -> list[Translation]:
        lengths = [len(text) for text in texts]
        texts = [self._framer.readable.of(text) for text in texts]
        recase = options.recase and not prefix
        nouns = short_code(frame.direction[0]) in CAPITAL_NOUNS
        whole = [recase and in_capitals(text) for text in texts]
        normal = [self._normal_case.of(text, nouns) if each else text for text, each in zip(texts, whole, strict=True)]
        encoded = self.tokenizer.encode_batch(normal)
        parts = [self._framer.parts(text, ids, frame) for text, ids in zip(normal, encoded, strict=True)]
        shouted: dict[int, str] = {}  # texts in capitals by the number of a part
        if recase:
            flat = [(text, given, part) for text, given, each in zip(texts, whole, parts, strict=True) for part in each]
            shouted = {
                number: text if given else part.text
                for number, (text, given, part) in enumerate(flat)
                if given or in_capitals(part.text)
            }
            parts = [[self._in_normal_case(part, nouns, frame) for part in each] for each in parts]
        sources = [part.source for each in parts for part in each]
        forced = [*frame.start, *(self.tokenizer.encode_target(prefix) if prefix else [])]
        prefixes = [frame.start if number else forced for each in parts for number in range(len(each))]
        terms = options.glossary.index(frame.direction) if options.glossary else None
        first = options if not terms or options.exact else replace(options, candidates=options.width)
        found = self._candidates(sources, prefixes, frame, first, progress)
        again = partial(self._candidates, frame=frame, progress=None)
        second = second_search(again, self._sentences, self._framer, frame, self._kept_words, (prefix, forced), options)
        if options.repair and options.sampling is None:
            found = repair_texts(parts, lengths, found, second)
        if terms:
            search = EngineTermSearch(again, self._sentences, frame, second, options, self.task.terms)
            found = use_terms(parts, found, terms, search)
        if recase:
            self._translate_titles([part.text for each in parts for part in each], found, frame, options)
        for number, text in shouted.items():
            found[number] = [self._in_capitals(each, text) for each in found[number]]
        candidates = iter(found)
        return [join_parts(each, [next(candidates) for _ in each]) for each in parts]

    def _in_normal_case(self, part: TextPart, nouns: bool, frame: DirectionFrame) -> TextPart:
        """A part, in normal case if it is in capitals."""
        if not in_capitals(part.text):
            return part
        text = self._normal_case.of(part.text, nouns)
        return replace(part, text=text, source=self._framer.source_ids(text, frame))

    def _translate_titles(
        self, texts: list[str], found: list[list[Translation]], frame: DirectionFrame, options: TranslateOptions
    ) -> None:
        """Translate titles in normal case, too, where the target language does not write titles in Title Case.

        That translation is taken where it is the more probable one, and where the other has Title Case itself. Only
        English writes titles like that.
        """
        source, target = map(short_code, frame.direction)
        if target == "en":
            return
        titles = [i for i, text in enumerate(texts) if in_title_case(text)]
        if titles:
            normal = [self._normal_case.of(texts[i], source in CAPITAL_NOUNS) for i in titles]
            normal = [
                keep_case(text, texts[i], options.glossary, frame.direction)
                for i, text in zip(titles, normal, strict=True)
            ]
            again = self._translate(normal, frame, "", replace(options, recase=False), None)
            for i, each in zip(titles, again, strict=True):
                if each.score > found[i][0].score or in_title_case(found[i][0].text):
                    found[i] = each.candidates

    def _in_capitals(self, found: Translation, source: str) -> Translation:
        text = self._normal_case.capitals(found.text, source)
        tokens = self.tokenizer.pieces(self.tokenizer.encode_target(text))
        others = [self._in_capitals(each, source) for each in found.alternatives]
        return replace(found, text=text, tokens=tokens, alternatives=others)

    @cached_property
    def _kept_words(self) -> KeptWords:
        return KeptWords(self.tokenizer)

    @cached_property
    def _normal_case(self) -> NormalCase:
        return NormalCase(self.tokenizer)

    def _candidates(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        frame: DirectionFrame,
        options: TranslateOptions,
        progress: Callable[[int], None] | None,
    ) -> list[list[Translation]]:
        """The candidate translations of each sentence, searched in batches."""
        generator = self._generator(options.seed) if options.sampling else None
        # Long sentences first: memory peaks in the first batch, and batches have little padding.
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        found: dict[int, list[Translation]] = {}
        for batch in by_budget(order, [len(source) * options.width for source in sources], self._budget(options)):
            given = [sources[i] for i in batch], [prefixes[i] for i in batch]
            found.update(zip(batch, self._sentences.candidates(*given, frame, options, generator), strict=True))
            if progress is not None:
                progress(len(found))
        return [found[i] for i in range(len(sources))]

    def _translate_detected(
        self,
        texts: list[str],
        target: str,
        prefix: str,
        options: TranslateOptions,
        progress: Callable[[int], None] | None,
    ) -> list[Translation]:
        """Translate each text from the language that it is found to be in."""
        done: dict[int, Translation] = {}
        sentences = [0]  # done in earlier languages, and in the current one

        def add_up(count: int) -> None:
            sentences[-1] = count
            if progress is not None:
                progress(sum(sentences))

        for language, numbers in by_source(texts, self.task, target).items():
            listed = [texts[number] for number in numbers]
            if language == target:
                found = [Translation(text.strip(), 0.0) for text in listed]
            else:
                frame = self._framer.frame(language or None, target)
                found = self._translate(listed, frame, prefix, options, add_up)
            done |= {number: replace(each, detected=language) for number, each in zip(numbers, found, strict=True)}
            sentences.append(0)
        return [done[number] for number in range(len(texts))]

    def _budget(self, options: TranslateOptions) -> int:
        """Source tokens times beam per batch."""
        if options.batch_tokens or not options.alignments:
            return options.batch_tokens or self._engine.batch_tokens
        return min(self._engine.batch_tokens, GPU_BATCH_TOKENS) // 4  # attention weights of a batch are in memory

    def _generator(self, seed: int) -> torch.Generator:
        require("torch", "sampling")
        import torch

        return torch.Generator(self.device).manual_seed(seed)

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
        from headwise.decode.scoring import log_probabilities

        frame = self._framer.frame(source, target)
        source_ids = [self._framer.source_ids(text, frame) for text in listed]
        target_ids = [[*frame.start, *ids] for ids in self.tokenizer.encode_target_batch(references)]
        for ids in (*source_ids, *([frame.sos, *ids] for ids in target_ids)):
            self._framer.check_length(ids)
        found = log_probabilities(self.model, source_ids, target_ids, frame.sos, self.tokenizer.eos)
        return [each[len(frame.start) :] for each in found]

    def word_forecast(
        self, text: str, translation: str, *, source: str | None = None, target: str | None = None
    ) -> WordForecast:
        """The model's probabilities for the words of a given translation of one sentence, and for others.

        It needs no PyTorch where the engine does not.
        """
        frame = self._framer.frame(source, target)
        return WordForecast.of(self._sentences, self._framer, frame, text, translation)

    def _first_tokens(
        self, sources: Sequence[Sequence[int]], count: int, source: str | None = None, target: str | None = None
    ) -> list[list[int]]:
        """The `count` most probable first tokens of each source's translation, `<eos>` excluded.

        Sources are ids without special tokens.
        """
        frame = self._framer.frame(source, target)
        framed = [frame.around(ids) for ids in sources]
        prefixes = [frame.start] * len(sources)
        width = min(count + 1, self.tokenizer.size)
        options = SearchOptions(frame.sos, self.tokenizer.eos, width, width, forbidden=self.tokenizer.specials)
        found = self._engine.search(SearchRequest(framed, [len(frame.start) + 1] * len(sources), options, prefixes))
        return [[one.tokens[-1] for one in each if not one.finished][:count] for each in found]

    # --- ids -------------------------------------------------------------------------------------------

    def source_ids(self, text: str, *, source: str | None = None, target: str | None = None) -> list[int]:
        """Encoder input for a text: its ids with language tag and `<eos>`."""
        return self._framer.source_ids(text, self._framer.frame(source, target))

    def pair_ids(
        self, text: str, translation: str, *, source: str | None = None, target: str | None = None
    ) -> tuple[list[int], list[int]]:
        """Encoder input for a text, and decoder input for its translation, which begins with the start token.

        A text that is too long to be taken whole is an error.
        """
        frame = self._framer.frame(source, target)
        decoded = [frame.sos, *frame.start, *self.tokenizer.encode_target(translation)]
        pair = self._framer.source_ids(text, frame), decoded
        for ids in pair:
            self._framer.check_length(ids)
        return pair


class _Closed:
    """Stands for the engine of a closed translator: any use is an error."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _closed()


def _closed() -> ConfigError:
    return ConfigError("this Translator is closed: open a new one")
