"""Rules that map the tensors of a published model to ours and back, exactly. "Theirs" is the published side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.folder.weights import Weights, check_names
from headwise.nn.positions import Sinusoidal


class Same:
    """The identity: one tensor of theirs is one of ours. The other changes override it."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        """Convert their tensor to ours."""
        return (theirs,)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        """Convert ours to theirs, the exact inverse of `split`."""
        return ours[0]


class Transposed(Same):
    """Their matrix is stored as [in, out] (the Conv1D of GPT and GPT-2)."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        return (theirs.T.contiguous(),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        return ours[0].T.contiguous()


@dataclass(frozen=True)
class Reshaped(Same):
    """Their tensor has the same values in another shape."""

    theirs: tuple[int, ...]
    ours: tuple[int, ...]

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        return (theirs.reshape(self.ours),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        return ours[0].reshape(self.theirs)


@dataclass(frozen=True)
class Stacked(Same):
    """Their tensor is the concatenation of several of ours; `transposed`: along the columns, stored as [in, out]."""

    sizes: tuple[int, ...]
    transposed: bool = False

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        rows = theirs.T if self.transposed and theirs.dim() > 1 else theirs
        return tuple(part.contiguous() for part in torch.split(rows, list(self.sizes)))

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        rows = torch.cat(list(ours))
        return rows.T.contiguous() if self.transposed and rows.dim() > 1 else rows


@dataclass(frozen=True)
class StackedByHead(Same):
    """Their tensor holds query, key and value of the first head, then of the second, and so on (GPT-NeoX)."""

    heads: int

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        parts = theirs.reshape(self.heads, 3, -1, *theirs.shape[1:]).unbind(1)
        return tuple(part.reshape(-1, *theirs.shape[1:]).contiguous() for part in parts)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        parts = [part.reshape(self.heads, -1, *part.shape[1:]) for part in ours]
        return torch.stack(parts, 1).reshape(-1, *ours[0].shape[1:])


@dataclass(frozen=True)
class Unpaired(Same):
    """Rotary pairs are neighbours in theirs, (0, 1), (2, 3), ..., and half a head apart in ours, (0, K/2), ...

    Attention scores do not change, as queries and keys are reordered alike.
    """

    heads: int
    rotated: int
    """The number of values of each head that are rotated."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        heads = theirs.reshape(self.heads, -1, *theirs.shape[1:])
        rotated, rest = heads[:, : self.rotated], heads[:, self.rotated :]
        return (torch.cat((rotated[:, 0::2], rotated[:, 1::2], rest), 1).reshape(theirs.shape),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        heads = ours[0].reshape(self.heads, -1, *ours[0].shape[1:])
        rotated, rest = heads[:, : self.rotated], heads[:, self.rotated :]
        pairs = torch.stack(rotated.chunk(2, 1), 2).reshape(rotated.shape)
        return (torch.cat((pairs, rest), 1)).reshape(ours[0].shape)


SAME = Same()
TRANSPOSED = Transposed()


@dataclass(frozen=True)
class Rule:
    """One tensor of theirs, the tensors of ours that it holds, and the change between them."""

    theirs: str
    ours: tuple[str, ...]
    change: Same = SAME


@dataclass(frozen=True)
class Copy:
    """A tensor of theirs that, if stored, is a copy of another of theirs (tied weights)."""

    theirs: str
    of: str


@dataclass(frozen=True)
class Computed:
    """A table of theirs, if stored, that we compute: sinusoidal positions. It is checked, not read."""

    theirs: str
    encoding: Sinusoidal
    rows: int
    padding: int | None = None
    """A row of zeros."""

    def table(self, rows: int) -> Tensor:
        """The first rows of the table: at most as many as a file holds, whatever its config claims."""
        table = self.encoding.table(torch.arange(min(rows, self.rows)))
        if self.padding is not None:
            table[self.padding : self.padding + 1] = 0
        return table


@dataclass(frozen=True)
class Spare:
    """A tensor of theirs that is read only in place of `of`, where that is missing; without an `of`, never."""

    theirs: str
    of: str = ""


Names = Iterable[Rule | Copy | Computed | Spare]


def rule(theirs: str, ours: str, change: Same = SAME) -> Rule:
    return Rule(theirs, (ours,), change)


def linear(theirs: str, ours: str, bias: bool = True, change: Same = SAME) -> Iterator[Rule]:
    """The rules for a Linear or a norm: weight and bias."""
    yield rule(f"{theirs}.weight", f"{ours}.weight", change)
    if bias:
        yield rule(f"{theirs}.bias", f"{ours}.bias", SAME if isinstance(change, Transposed) else change)


def stacked(theirs: str, ours: Sequence[str], change: Same, bias: bool = True) -> Iterator[Rule]:
    """The rules for several Linears of ours in one of theirs."""
    for kind in ("weight", "bias") if bias else ("weight",):
        yield Rule(f"{theirs}.{kind}", tuple(f"{name}.{kind}" for name in ours), change)


def to_ours(names: Names, tensors: Mapping[str, Tensor], where: str) -> Weights:
    """Convert their weights to ours; a tensor that is missing, unexpected or of an impossible shape is an error."""
    names = list(names)
    tensors = _under_first_names(names, tensors)
    wanted = [name.theirs for name in names if isinstance(name, Rule)]
    missing = [name for name in wanted if name not in tensors]
    unexpected = sorted(set(tensors) - {name.theirs for name in names})
    check_names(missing, unexpected, where)
    weights: Weights = {}
    for name in names:
        if isinstance(name, Rule):
            try:
                parts = name.change.split(tensors[name.theirs])
            except RuntimeError:
                shape = tuple(tensors[name.theirs].shape)
                raise CheckpointError(f"{where}: {name.theirs} has the impossible shape {shape}") from None
            weights.update(zip(name.ours, parts, strict=True))
        elif name.theirs in tensors and not isinstance(name, Spare):
            _check_redundant(name, tensors, where)
    return weights


def _under_first_names(names: Names, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The tensors with each tied matrix under the name that is read; a file may store it under any of its names."""
    found = dict(tensors)
    for name in names:
        if isinstance(name, Copy | Spare) and name.of and name.theirs in tensors:
            found.setdefault(name.of, tensors[name.theirs])
    return found


def to_theirs(names: Names, weights: Mapping[str, Tensor]) -> Weights:
    """Convert our weights to theirs: each once, without copies and computed tables."""
    return {
        name.theirs: name.change.join([weights[ours] for ours in name.ours]) for name in names if isinstance(name, Rule)
    }


def _check_redundant(name: Copy | Computed, tensors: Mapping[str, Tensor], where: str) -> None:
    stored = tensors[name.theirs]
    if isinstance(name, Copy):
        if not torch.equal(stored, tensors[name.of]):
            raise CheckpointError(f"{where}: {name.theirs} should equal {name.of} (its config ties them) but does not")
    elif (
        not stored.is_floating_point()
        or stored.shape[1:] != (name.encoding.width,)
        or not torch.allclose(
            stored[: name.rows].float(), name.table(len(stored)), atol=max(1e-3, torch.finfo(stored.dtype).eps)
        )
    ):
        raise CheckpointError(f"{where}: {name.theirs} is not the position table that the config describes")
