"""Generator: a language model that continues texts, token by token with a key/value cache."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack, overload

import torch
from torch import Tensor

from headwise.decode.batching import by_budget, padded
from headwise.decode.engines.prompt_stepper import PromptStepper
from headwise.decode.open import OpenedModel, depends_on_length, open_as
from headwise.decode.search.beam import beam_search, walk
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import WIDEST, SamplingOptions, SearchOptions, options_from
from headwise.decode.search.sampling import drawing, sample
from headwise.decode.search.top_k import likeliest
from headwise.errors import ConfigError, DataError
from headwise.models.causal_lm import CausalLM
from headwise.models.folder.description import LoadedModel
from headwise.nn.recurrent import RecurrentStack
from headwise.text.given_texts import check_texts


@dataclass(frozen=True)
class GenerateOptions:
    """Search options of a generation. By default greedy: the most probable token at each step."""

    max_tokens: int = 200
    beam: int = 1
    candidates: int = 1
    """Texts to return for each prompt; the beam is widened to this number."""
    length_penalty: float = 1.0
    no_repeat: int = 0
    """Size of an n-gram that must not occur twice; 0: no limit."""
    sampling: SamplingOptions | None = None
    """Sample instead of searching; `candidates` gives the number of samples."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not 1 <= self.beam <= WIDEST or not 1 <= self.candidates <= WIDEST:
            raise ConfigError(f"beam and candidates must be between 1 and {WIDEST:,}")
        if not abs(self.length_penalty) <= 10:
            raise ConfigError(f"length_penalty must be between -10 and 10, not {self.length_penalty}")
        if not 0 <= self.seed < 2**63:
            raise ConfigError("the seed must be at least 0 and below 2^63")


class GenerateKeywords(TypedDict, total=False):
    """The fields of `GenerateOptions` as keyword arguments."""

    max_tokens: int
    beam: int
    candidates: int
    length_penalty: float
    no_repeat: int
    sampling: SamplingOptions | None
    seed: int


@dataclass(frozen=True)
class Generation:
    """A prompt and its continuation. `str(generation)` is the continuation."""

    prompt: str
    text: str
    """The continuation, without the prompt."""
    score: float
    tokens: list[str] = field(default_factory=list)
    alternatives: list["Generation"] = field(default_factory=list)
    """The next best continuations, best first."""
    finished: bool = True
    """False if the length limit ended it."""
    ids: list[int] = field(default_factory=list)
    """Ids of the continuation, without `<eos>`."""

    def __str__(self) -> str:
        return self.text

    @property
    def candidates(self) -> list["Generation"]:
        """This continuation and its alternatives, best first."""
        return [self, *self.alternatives]


class Generator:
    """A language model that continues texts."""

    def __init__(self, model: str | Path | LoadedModel, *, device: str = "auto") -> None:
        self.served: OpenedModel[CausalLM] = open_as(model, device, CausalLM, "generates text")
        self.tokenizer = self.served.tokenizer
        self._stepper = PromptStepper(self.served.model)
        self._positions = self.served.config.position_limit

    @overload
    def generate(  # type: ignore[overload-overlap]
        self,
        prompts: str,
        *,
        options: GenerateOptions | None = None,
        watch: Callable[[str], None] | None = None,
        **search: Unpack[GenerateKeywords],
    ) -> Generation: ...

    @overload
    def generate(
        self,
        prompts: Iterable[str],
        *,
        options: GenerateOptions | None = None,
        watch: Callable[[str], None] | None = None,
        **search: Unpack[GenerateKeywords],
    ) -> list[Generation]: ...

    def generate(
        self,
        prompts: str | Iterable[str],
        *,
        options: GenerateOptions | None = None,
        watch: Callable[[str], None] | None = None,
        **search: Unpack[GenerateKeywords],
    ) -> Generation | list[Generation]:
        """Continue one prompt, or several: a `str` gives one `Generation`, an iterable a list in its order.

        Search options are keywords, the fields of `GenerateOptions`, or one value, `options`. `watch` receives each
        new piece of a single text.
        """
        chosen = options_from(GenerateOptions, options, search)
        found = self._generate(check_texts(prompts, "prompts"), chosen, watch)
        return found[0] if isinstance(prompts, str) else found

    def _generate(
        self, prompts: list[str], options: GenerateOptions, watch: Callable[[str], None] | None
    ) -> list[Generation]:
        rows = [self.prompt_ids(prompt) for prompt in prompts]
        for row in rows:
            if len(row) >= self._positions:
                raise DataError(
                    f"a prompt of {len(row)} tokens is too long: this model has {self._positions} positions"
                )
        if watch is not None and (len(rows) != 1 or options.beam > 1 or options.candidates > 1):
            raise ConfigError("`watch` needs a single prompt, without a beam and without further candidates")
        done: dict[int, list[Hypothesis]] = {}
        width = max(options.beam, options.candidates)
        generator = torch.Generator().manual_seed(options.seed)
        sizes = [(len(row) + options.max_tokens) * width for row in rows]
        for group in self._groups(rows):
            for batch in by_budget(group, sizes):
                found = self._search([rows[i] for i in batch], options, generator, watch)
                done.update(zip(batch, found, strict=True))
        return [self._generation(prompt, done[i]) for i, prompt in enumerate(prompts)]

    def _groups(self, rows: list[list[int]]) -> Iterator[list[int]]:
        """Rows, longest first, in groups that may be padded to one length.

        An LSTM would read the padding, and rotary frequencies that depend on the length (dynamic NTK, LongRoPE) would
        be those of the longest row: there only rows of one length share a batch.
        """
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
        model = self.served.model
        apart = isinstance(model.decoder, RecurrentStack) or depends_on_length(model)
        for _, group in itertools.groupby(order, key=lambda i: len(rows[i]) if apart else 0):
            yield list(group)

    def prompt_ids(self, prompt: str) -> list[int]:
        """The ids of a prompt as the model was trained on them, without `<eos>` at the end.

        Rows in training are cut from packed text (data/batch/text_rows.py), where only `<eos>` separates two texts: a
        start token that the model has never seen would do harm.
        """
        ids = self.tokenizer.encode(prompt)
        if self.served.task.published:
            ids, _ = self.tokenizer.frame(ids)
        while ids and ids[-1] == self.tokenizer.eos:
            ids = ids[:-1]
        return ids or [self.tokenizer.eos]  # a new text begins after <eos>

    @torch.inference_mode()
    def _search(
        self,
        rows: list[list[int]],
        options: GenerateOptions,
        generator: torch.Generator,
        watch: Callable[[str], None] | None,
    ) -> list[list[Hypothesis]]:
        tokenizer, device = self.tokenizer, self.served.device
        prompts = padded(rows, tokenizer.pad, device, at_start=True)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        places = torch.arange(prompts.size(1), device=device)
        state = self._stepper.start(prompts, places >= prompts.size(1) - lengths[:, None])
        limits = torch.tensor([min(options.max_tokens, self._positions - len(row)) for row in rows], device=device)
        forbidden = tuple(i for i in tokenizer.specials if i not in (tokenizer.eos, tokenizer.unk))
        search = SearchOptions(
            sos=tokenizer.sos,
            eos=tokenizer.eos,
            other_ends=self.served.other_ends,
            beam=max(options.beam, options.candidates) if options.sampling is None else 1,
            nbest=options.candidates if options.sampling is None else 1,
            length_penalty=options.length_penalty,
            no_repeat=options.no_repeat,
            forbidden=() if self.served.task.published else forbidden,  # a published model may generate any token
        )
        if watch is not None:
            choose = drawing(options.sampling, generator) if options.sampling else likeliest
            streamer = _TextStreamer(watch, lambda ids: tokenizer.decode([*rows[0], *ids]), search.ends)
            found = walk(self._stepper, state, limits, search, None, lambda s: streamer.add(choose(s)))
            streamer.finish()
            return [[found[0]]]
        if options.sampling is None:
            return beam_search(self._stepper, state, limits, search)
        sampling = dataclasses.replace(options.sampling, samples=options.candidates)
        return sample(self._stepper, state, limits, search, sampling, None, generator)

    def _generation(self, prompt: str, found: list[Hypothesis]) -> Generation:
        before = self.prompt_ids(prompt)
        each = []
        for hypothesis in found:
            ids = [i for i in hypothesis.tokens if i != self.tokenizer.eos]
            # Decoded together: spaces, and the bytes of one character, depend on the tokens before them.
            text = self.tokenizer.decode([*before, *ids])[len(self.tokenizer.decode(before)) :]
            pieces = self.tokenizer.pieces(hypothesis.tokens)
            each.append(Generation(prompt, text, hypothesis.score, pieces, [], hypothesis.finished, ids))
        return dataclasses.replace(each[0], alternatives=each[1:])


class _TextStreamer:
    """Passes on the text of each new token once its characters are complete."""

    def __init__(self, watch: Callable[[str], None], decode: Callable[[list[int]], str], ends: Collection[int]) -> None:
        self.watch = watch
        self.decode = decode
        self.ends = ends
        self.ids: list[int] = []
        self.passed = len(decode([]))

    def add(self, tokens: Tensor) -> Tensor:
        token = int(tokens[0])
        if token not in self.ends:
            self.ids.append(token)
            text = self.decode(self.ids)
            if not text.endswith("�"):  # half a character: its other bytes are still to come
                self.watch(text[self.passed :])
                self.passed = len(text)
        return tokens

    def finish(self) -> None:
        """Pass on what was held back, if the length limit came in the middle of a character."""
        if rest := self.decode(self.ids)[self.passed :]:
            self.watch(rest)
