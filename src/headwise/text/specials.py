"""Special tokens, and how they frame a text, a pair of texts or a translation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

PAD, SOS, EOS, UNK = range(4)
SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")
MASK = "<mask>"

Item = int | Literal["source", "target"]
"""An id, or a placeholder for the tag of the source or target language."""


@dataclass(frozen=True)
class Framing:
    """The special tokens that a model expects around its texts."""

    single: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Before and after one text."""
    pair: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] = ((), (), ())
    """Before, between and after two texts."""
    segments: tuple[int, int, int] = (0, 0, 0)
    """Segment numbers of the ids between the texts, of the second text, and of the ids after it; the first has 0."""
    source: tuple[tuple[Item, ...], tuple[Item, ...]] = ((), ())
    """Before and after a source text."""
    start: tuple[Item, ...] = ()
    """The ids that a translation begins with, after the decoder's first input."""
    first: Literal["sos", "target"] = "sos"
    """The decoder's first input: always the same id, or the tag of the target language (mBART)."""


@dataclass(frozen=True)
class Specials:
    """The special ids of a tokenizer."""

    pad: int
    sos: int
    eos: int
    unk: int
    mask: int | None
    names: Mapping[int, str]
    """The name of each special id."""
    forbidden: tuple[int, ...]
    """Ids that a search never generates."""
    tags: Mapping[str, int] = field(default_factory=dict)
    framing: Framing = field(default_factory=Framing)

    def to_table(self) -> dict[str, Any]:
        """The special ids as a JSON table, which `from_table` reads."""
        return {**asdict(self), "names": {str(i): name for i, name in self.names.items()}}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Specials":
        names = {int(i): name for i, name in table["names"].items()}
        framing = Framing(**{key: _tuples(value) for key, value in table["framing"].items()})
        return cls(**{**table, "names": names, "forbidden": tuple(table["forbidden"]), "framing": framing})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def special_names(languages: Sequence[str], mask: bool = False) -> tuple[str, ...]:
    """The first pieces of a trained tokenizer: four special tokens, language tags, and the mask if there is one."""
    return (*SPECIALS, *(f"<2{language}>" for language in languages), *([MASK] if mask else []))


def own_specials(languages: Sequence[str], mask: bool = False, names: Mapping[str, str] | None = None) -> Specials:
    """The special tokens of a trained tokenizer: `<sos> a <eos> b <eos>`; sources may begin with the target's tag.

    `names` renames some of them, such as `<sos>` to [CLS].
    """
    shown = [(names or {}).get(name, name) for name in special_names(languages, mask)]
    tags = {language: len(SPECIALS) + i for i, language in enumerate(languages)}
    masks = [len(shown) - 1] if mask else []
    return Specials(
        PAD,
        SOS,
        EOS,
        UNK,
        mask=masks[0] if masks else None,
        names=dict(enumerate(shown)),
        forbidden=(PAD, SOS, UNK, *tags.values(), *masks),
        tags=tags,
        framing=Framing(
            single=((SOS,), (EOS,)),
            pair=((SOS,), (EOS,), (EOS,)),
            segments=(0, 1, 1),
            source=(("target",), (EOS,)),
        ),
    )
