"""How the tensors of a published model become ours, and ours theirs: rules that work in both directions, exactly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.folder.weights import Weights


class Same:
    """One tensor of theirs is one of ours, as it is: the change that the others override."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        """Their tensor -> ours."""
        return (theirs,)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        """Ours -> theirs; undoes `split` to the bit."""
        return ours[0]


class Transposed(Same):
    """Theirs is stored as [in, out] (the Conv1D of GPT and GPT-2)."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        return (theirs.T.contiguous(),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        return ours[0].T.contiguous()


@dataclass(frozen=True)
class Reshaped(Same):
    """Theirs has the same values in another shape."""

    theirs: tuple[int, ...]
    ours: tuple[int, ...]

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        return (theirs.reshape(self.ours),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        return ours[0].reshape(self.theirs)


@dataclass(frozen=True)
class Stacked(Same):
    """Several of ours lie one below the other in theirs; `transposed`: side by side, as [in, out]."""

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
    """Query, key and value of a head lie together, head after head (GPT-NeoX)."""

    heads: int

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        parts = theirs.reshape(self.heads, 3, -1, *theirs.shape[1:]).unbind(1)
        return tuple(part.reshape(-1, *theirs.shape[1:]).contiguous() for part in parts)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        parts = [part.reshape(self.heads, -1, *part.shape[1:]) for part in ours]
        return torch.stack(parts, 1).reshape(-1, *ours[0].shape[1:])


@dataclass(frozen=True)
class Unpaired(Same):
    """Rotary pairs lie side by side in theirs, half a head apart in ours: rows change places within each head."""

    heads: int
    turning: int
    """How many values of each head turn."""

    def split(self, theirs: Tensor) -> tuple[Tensor, ...]:
        heads = theirs.reshape(self.heads, -1, *theirs.shape[1:])
        turning, rest = heads[:, : self.turning], heads[:, self.turning :]
        return (torch.cat((turning[:, 0::2], turning[:, 1::2], rest), 1).reshape(theirs.shape),)

    def join(self, ours: Sequence[Tensor]) -> Tensor:
        heads = ours[0].reshape(self.heads, -1, *ours[0].shape[1:])
        turning, rest = heads[:, : self.turning], heads[:, self.turning :]
        pairs = torch.stack(turning.chunk(2, 1), 2).reshape(turning.shape)
        return (torch.cat((pairs, rest), 1)).reshape(ours[0].shape)


SAME = Same()
TRANSPOSED = Transposed()


@dataclass(frozen=True)
class Rule:
    """One tensor of theirs, the tensors of ours that it holds, and how."""

    theirs: str
    ours: tuple[str, ...]
    change: Same = SAME


@dataclass(frozen=True)
class Copy:
    """Theirs is, where it is there at all, one more copy of what another of their names holds (tied weights)."""

    theirs: str
    of: str


@dataclass(frozen=True)
class Computed:
    """Theirs, where it is there at all, is a table that we compute: not a weight, but checked all the same."""

    theirs: str
    table: Tensor


@dataclass(frozen=True)
class Spare:
    """Theirs may be there, but is read only in place of `of`, where that is missing; without an `of`, never."""

    theirs: str
    of: str = ""


Names = Iterable[Rule | Copy | Computed | Spare]


def rule(theirs: str, ours: str, change: Same = SAME) -> Rule:
    return Rule(theirs, (ours,), change)


def linear(theirs: str, ours: str, bias: bool = True, change: Same = SAME) -> Iterator[Rule]:
    """A Linear or a norm: the matrix and the bias."""
    yield rule(f"{theirs}.weight", f"{ours}.weight", change)
    if bias:
        yield rule(f"{theirs}.bias", f"{ours}.bias", SAME if isinstance(change, Transposed) else change)


def stacked(theirs: str, ours: Sequence[str], change: Same, bias: bool = True) -> Iterator[Rule]:
    """Several Linears of ours in one of theirs."""
    for kind in ("weight", "bias") if bias else ("weight",):
        yield Rule(f"{theirs}.{kind}", tuple(f"{name}.{kind}" for name in ours), change)


def to_ours(names: Names, tensors: Mapping[str, Tensor], where: str) -> Weights:
    """Our weights from theirs; a tensor too few, too many or of an impossible shape is an error that names it."""
    names = list(names)
    tensors = _under_first_names(names, tensors)
    wanted = [name.theirs for name in names if isinstance(name, Rule)]
    missing = [name for name in wanted if name not in tensors]
    unexpected = sorted(set(tensors) - {name.theirs for name in names})
    if missing or unexpected:
        raise CheckpointError(f"{where}: its weights are not those of its config ({_named(missing, unexpected)})")
    weights: Weights = {}
    for name in names:
        if isinstance(name, Rule):
            try:
                parts = name.change.split(tensors[name.theirs])
            except RuntimeError:
                shape = tuple(tensors[name.theirs].shape)
                raise CheckpointError(f"{where}: {name.theirs} has a shape that cannot be: {shape}") from None
            weights.update(zip(name.ours, parts, strict=True))
        elif name.theirs in tensors and not isinstance(name, Spare):
            _check_redundant(name, tensors, where)
    return weights


def _under_first_names(names: Names, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """A file may keep a tied matrix under any one of its names: then it has it under the one we look for too."""
    found = dict(tensors)
    for name in names:
        if isinstance(name, Copy | Spare) and name.of and name.theirs in tensors:
            found.setdefault(name.of, tensors[name.theirs])
    return found


def to_theirs(names: Names, weights: Mapping[str, Tensor]) -> Weights:
    """Their tensors from our weights: each once, without copies and computed tables."""
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
        or stored.shape[1:] != name.table.shape[1:]
        or not torch.allclose(
            stored[: len(name.table)].float(), name.table[: len(stored)], atol=max(1e-3, torch.finfo(stored.dtype).eps)
        )
    ):
        raise CheckpointError(f"{where}: {name.theirs} is not the table that its config describes")


def _named(missing: Sequence[str], unexpected: Sequence[str]) -> str:
    def some(names: Sequence[str]) -> str:
        return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

    problems = [f"missing: {some(missing)}"] if missing else []
    problems += [f"unexpected: {some(unexpected)}"] if unexpected else []
    return "; ".join(problems)
