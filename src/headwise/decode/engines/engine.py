"""The contract between a translator and its engines.

1. An engine takes a `SearchRequest` (sources as token ids, length limits, options, prefixes) and returns, for each
   source in order, its n-best hypotheses, best first.
2. The hypotheses of a sentence do not depend on the other sentences of the request.
3. All engines agree with `plain`, the model itself, up to the precision of their arithmetic.
4. An engine knows exactly the parts it lists: `table.make_engine` hands any other model to `plain`.
5. An engine may be used from several threads, and loads PyTorch only if it needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from headwise.decode.alignment import AlignmentHead
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.decode.shortlist.shortlists import Allowed

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray


class Engine(Protocol):
    """Computes the search of a translation: sentences in, hypotheses out."""

    name: str
    batch_tokens: int
    """Preferred source tokens times beam per request; 0: the usual number for a CPU."""

    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each source."""
        ...

    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, sampled from the model's distribution."""
        ...


@runtime_checkable
class Aligner(Protocol):
    """An engine that can compute cross-attention without the model."""

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], head: AlignmentHead = ()
    ) -> Sequence[NDArray[Any]]:
        """Cross-attention weights [T, S] of each source and target (ids; the target begins with the start token).

        Those of one head, or the mean over the heads of `alignment_layer`.
        """
        ...


@runtime_checkable
class Forecaster(Protocol):
    """An engine that can compute the probabilities of next tokens without the model."""

    def next_tokens(self, source: Sequence[int], target: Sequence[int]) -> NDArray[Any]:
        """Log-probabilities [T, V] of the token after each one of `target` (ids; it begins with the start token)."""
        ...


@runtime_checkable
class MemoryHolder(Protocol):
    """An engine that holds memory from one search to the next."""

    def release(self) -> None:
        """Free that memory."""
        ...


@runtime_checkable
class Restricting(Protocol):
    """An engine that can search within a shortlist."""

    def search_within(self, request: SearchRequest, allowed: Sequence[Allowed]) -> list[list[Hypothesis]]:
        """`search` with the allowed tokens of each sentence alone, whose probabilities add up to 1.

        Prefixes contain allowed tokens only. `Allowed.always` is the same list for all sentences.
        """
        ...
