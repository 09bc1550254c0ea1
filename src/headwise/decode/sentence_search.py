"""Translation of a batch of sentences, given as ids, by an engine: search or sampling, shortlist, word alignment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headwise.decode.alignment import Alignment, AlignmentHead, align, lettered, token_rows
from headwise.decode.engines.engine import Aligner, Engine, Forecaster
from headwise.decode.framing import DirectionFrame
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.shortlist.restricted import search_restricted
from headwise.decode.shortlist.shortlists import Shortlists
from headwise.decode.translation import TranslateOptions, Translation
from headwise.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from headwise.models.encoder_decoder import EncoderDecoder


@dataclass(frozen=True, eq=False)
class SentenceSearch:
    """An engine with the tokenizer, the length limit and the shortlist of its model."""

    engine: Engine
    tokenizer: Tokenizer
    positions: int
    shortlist: Shortlists | None
    model: Callable[[], EncoderDecoder]
    """The PyTorch model, for alignments where the engine does not compute any; built at the first call."""
    alignment_head: AlignmentHead = ()
    aligns_given: bool = False
    """Whether that head aligns the token that the decoder is given, not the one that it predicts."""

    def candidates(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        frame: DirectionFrame,
        options: TranslateOptions,
        generator: torch.Generator | None,
    ) -> list[list[Translation]]:
        """The candidate translations of each sentence, best first."""
        found = self._hypotheses(sources, prefixes, frame, options, generator)
        alignments = self._align(sources, found, frame.sos) if options.alignments else None
        return [
            [
                self._translation(hypothesis, len(frame.start), alignments[row][rank] if alignments else [])
                for rank, hypothesis in enumerate(hypotheses)
            ]
            for row, hypotheses in enumerate(found)
        ]

    def align_texts(self, sources: list[list[int]], texts: list[str], frame: DirectionFrame) -> list[Alignment]:
        """Word alignments of sentences and given translations."""
        ids = self.tokenizer.encode_target_batch(texts)
        given = [[Hypothesis([*frame.start, *each], 0.0, 0.0, finished=True)] for each in ids]
        return [each for [each] in self._align(sources, given, frame.sos)]

    def _hypotheses(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        frame: DirectionFrame,
        options: TranslateOptions,
        generator: torch.Generator | None,
    ) -> list[list[Hypothesis]]:
        request = search_request(sources, prefixes, frame, options, self.tokenizer, self.positions)
        if options.sampling is not None and generator is not None:
            return self.engine.draw(request, replace(options.sampling, samples=options.candidates), generator)
        if self.shortlist is None:
            return self.engine.search(request)
        return search_restricted(self.engine, request, self.shortlist.allowed(sources, prefixes, frame.direction))

    def _translation(self, hypothesis: Hypothesis, start: int, alignment: Alignment) -> Translation:
        """Translation without the `start` tokens that the decoder is given."""
        return Translation(
            text=self.tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=self.tokenizer.pieces(hypothesis.tokens[start:]),
            alignment=alignment,
            complete=hypothesis.finished,
        )

    def attention(self, sources: list[list[int]], targets: list[list[int]], sos: int) -> list[NDArray[Any]]:
        """Cross-attention [T, S] of sources and translations, given as ids: one row for each of the target's tokens."""
        inputs = [[sos, *target] for target in targets]
        if isinstance(self.engine, Aligner):
            found = self.engine.attention(sources, inputs, self.alignment_head)
        else:
            from headwise.decode.scoring import cross_attention  # loads PyTorch

            found = cross_attention(self.model(), sources, inputs, self.alignment_head)
        return [token_rows(weights, self.aligns_given) for weights in found]

    def next_tokens(self, source: list[int], target: list[int]) -> NDArray[Any]:
        """Log-probabilities [T, V] of the token after each one of `target`, which begins with the start token."""
        if isinstance(self.engine, Forecaster):
            return self.engine.next_tokens(source, target)
        from headwise.decode.scoring import next_tokens  # loads PyTorch

        return next_tokens(self.model(), source, target)

    def _align(self, sources: list[list[int]], found: list[list[Hypothesis]], sos: int) -> list[list[Alignment]]:
        """Word alignments, from the attention of one more pass over the finished translations."""
        aligned = [sources[row] for row, hypotheses in enumerate(found) for _ in hypotheses]
        targets = [h.tokens for hypotheses in found for h in hypotheses]
        attention = self.attention(aligned, targets, sos)
        alignments = iter(
            align(weights, self._words(source), self._words(target))
            for weights, source, target in zip(attention, aligned, targets, strict=True)
        )
        return [[next(alignments) for _ in hypotheses] for hypotheses in found]

    def _words(self, ids: list[int]) -> list[int]:
        """The word of each token; a head that was trained to align words links punctuation marks by themselves."""
        words = self.tokenizer.word_ids(ids)
        return lettered(words, self.tokenizer.pieces(ids)) if self.alignment_head else words


def search_request(
    sources: list[list[int]],
    prefixes: list[list[int]],
    frame: DirectionFrame,
    options: TranslateOptions,
    tokenizer: Tokenizer,
    positions: int,
) -> SearchRequest:
    """The search request for sentences (ids with special tokens); `positions` limits the length of translations."""
    searched = options.sampling is None
    search = SearchOptions(
        sos=frame.sos,
        eos=tokenizer.eos,
        beam=options.width if searched else 1,
        nbest=options.candidates if searched else 1,
        length_penalty=options.length_penalty,
        exact=options.exact,
        no_repeat=options.no_repeat,
        forbidden=tokenizer.specials,
        unscored=len(frame.start),
    )
    limits = [
        min(int(len(source) * options.max_ratio + options.max_extra + len(prefix)), positions - 1)
        for source, prefix in zip(sources, prefixes, strict=True)
    ]
    return SearchRequest(sources, limits, search, prefixes)
