"""Encoded corpora: token ids as memory-mapped arrays in a folder.

The operating system keeps in memory what is used, processes share it, and opening takes no time whatever the size.
Sequences hold subword ids only: language tags, SOS and EOS are added when batches are made. The manifest of the
cache folder around a corpus detects damage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headwise.files.atomic import write_json
from headwise.files.tables import read_json

VERSION = 2
META = "meta.json"

Ids = NDArray[np.uint16] | NDArray[np.uint32]

_ARRAYS = ("source", "target", "source_offsets", "target_offsets", "files", "lines")


@dataclass(frozen=True)
class EncodedSide:
    """The sequences of one language, end to end; sequence i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Ids
    offsets: NDArray[np.uint64]

    def __getitem__(self, index: int) -> Ids:
        return self.ids[int(self.offsets[index]) : int(self.offsets[index + 1])]

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        return np.diff(self.offsets).astype(np.int32)


@dataclass(frozen=True)
class EncodedCorpus:
    """Pairs of token sequences, each with the file and line that it comes from."""

    source: EncodedSide
    target: EncodedSide
    files: NDArray[np.uint32]
    lines: NDArray[np.uint32]
    file_names: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path) -> "EncodedCorpus":
        """Open the folder that an `EncodedWriter` finished."""
        meta = read_json(folder / META)
        ids = np.dtype(meta["ids"])
        side = {
            name: EncodedSide(
                map_array(folder / f"{name}.bin", ids), map_array(folder / f"{name}_offsets.bin", np.dtype("<u8"))
            )
            for name in ("source", "target")
        }
        files, lines = (map_array(folder / f"{name}.bin", np.dtype("<u4")) for name in ("files", "lines"))
        return cls(side["source"], side["target"], files, lines, tuple(meta["file_names"]))

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> tuple[Ids, Ids]:
        """The source and target ids of an example."""
        if not 0 <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        return self.source[index], self.target[index]

    def where(self, index: int) -> str:
        """FILE:LINE of an example, for messages."""
        return f"{self.file_names[int(self.files[index])]}:{int(self.lines[index])}"

    def swapped(self) -> "EncodedCorpus":
        """The corpus in the opposite direction: a view of the same arrays."""
        return replace(self, source=self.target, target=self.source)


class Flat(NamedTuple):
    """Sequences end to end, in memory."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], kind: np.dtype[Any]) -> "Flat":
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        wide = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
        if len(wide) and not 0 <= wide.min() <= wide.max() <= np.iinfo(kind).max:
            raise ValueError(f"token ids from {wide.min()} to {wide.max()} do not fit {kind}")
        return cls(wide.astype(kind), lengths)

    @classmethod
    def joined(cls, parts: Sequence["Flat"]) -> "Flat":
        return cls(np.concatenate([part.ids for part in parts]), np.concatenate([part.lengths for part in parts]))

    def select(self, kept: NDArray[np.bool_]) -> "Flat":
        return Flat(self.ids[np.repeat(kept, self.lengths)], self.lengths[kept])


def id_type(vocabulary: int) -> np.dtype[Any]:
    return np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")


class EncodedWriter:
    """Writes an encoded corpus chunk by chunk; `finish` writes its meta file."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.ids = id_type(vocabulary)
        self._ends = {"source": 0, "target": 0}
        self._streams: dict[str, IO[bytes]] = {name: (folder / f"{name}.bin").open("wb") for name in _ARRAYS}
        for name in self._ends:
            self._write(f"{name}_offsets", np.zeros(1, "<u8"))

    def append(self, source: Flat, target: Flat, files: Sequence[int], lines: Sequence[int]) -> None:
        """Append examples, with the index of the file and the line of each."""
        for name, side in (("source", source), ("target", target)):
            ends = np.cumsum(side.lengths, dtype="<u8") + np.uint64(self._ends[name])
            self._write(name, side.ids)
            self._write(f"{name}_offsets", ends)
            self._ends[name] += len(side.ids)
        self._write("files", np.asarray(files, "<u4"))
        self._write("lines", np.asarray(lines, "<u4"))

    def finish(self, file_names: Sequence[str]) -> EncodedCorpus:
        """Close the arrays and write the meta file; the examples refer to `file_names` by index."""
        self.close()
        write_json(self.folder / META, {"ids": self.ids.str, "file_names": list(file_names)})
        return EncodedCorpus.open(self.folder)

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, name: str, array: NDArray[Any]) -> None:
        self._streams[name].write(array.tobytes())


def map_array(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    """Map a file of numbers into memory."""
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.zeros(0, kind)
    return np.memmap(path, kind, mode="r")


def gather(ids: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """[sum of lengths] int64: `ids[starts[i] : starts[i] + lengths[i]]` for each i, end to end."""
    return np.asarray(ids).take(run_indices(starts, lengths)).astype(np.int64)


def run_indices(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices `starts[i]`, `starts[i] + 1`, ... of each run, end to end.

    They name where runs come from, or where they go: in a padded block, row i begins at i * width.
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
