"""Definition of a published family: its architectures, its config.json, its names of weights."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.rules import Names
from headwise.recipe import dotted, replaced, to_tables

Head = Literal["base", "language", "pretraining", "classifier"]
"""The head of a published model: none, one that predicts tokens, that and one for next sentences, or a classifier."""


class Published:
    """A config.json, read strictly: an option that changes the computation and is not supported is an error."""

    def __init__(self, values: Mapping[str, Any], where: str, tensors: Collection[str] = ()) -> None:
        self.values = values
        self.where = where
        self.tensors = tensors

    def get(self, key: str, default: Any) -> Any:
        """The value of a key; the default where it is absent or null."""
        value = self.values.get(key)
        return default if value is None else value

    def need(self, key: str) -> Any:
        if self.values.get(key) is None:
            raise CheckpointError(f"{self.where}: config.json lacks {key}")
        return self.values[key]

    def choose(self, key: str, choices: Mapping[Any, str], default: Any) -> str:
        """Our name for the value of a key."""
        value = self.get(key, default)
        if value not in choices:
            known = ", ".join(map(str, choices))
            raise CheckpointError(f"{self.where}: {key} {value!r} is not supported; there are: {known}")
        return choices[value]

    def refuse_unless(self, key: str, value: Any) -> None:
        """Refuse any value but this one: a variant that is not implemented would give wrong numbers."""
        if self.get(key, value) != value:
            raise CheckpointError(f"{self.where}: {key} = {self.values[key]!r} is not supported, only {value!r}")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in order."""
        named = self.get("id2label", None)
        if named is None:
            return tuple(f"LABEL_{number}" for number in range(self.get("num_labels", 2)))
        return tuple(named[key] for key in sorted(named, key=int))

    @property
    def classes(self) -> int:
        return len(self.labels)

    def has(self, *endings: str) -> bool:
        """Whether the weights contain a tensor whose name has one of these endings."""
        return any(name.endswith(endings) for name in self.tensors)


ACTIVATIONS: dict[Any, str] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Published names of activations -> ours."""

THEIR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


Key = tuple[str, str] | tuple[str, str, Any]
"""A key of config.json, our dotted key, and the default; without a default, the key is required."""


def keys_in(published: Published, keys: Iterable[Key]) -> dict[str, Any]:
    """Our fields from the values of a config.json."""
    fields = {}
    for theirs, ours, *default in keys:
        if ours == "feed_forward.activation":
            value: Any = published.choose(theirs, ACTIVATIONS, *default)
        else:
            value = published.get(theirs, *default) if default else published.need(theirs)
        fields[ours] = ("all" if value else "none") if ours == "tie" else value
    return fields


def keys_out(config: ModelConfig, keys: Iterable[Key]) -> dict[str, Any]:
    """The values of a config.json from our fields: the inverse of `keys_in`."""
    fields = dotted(to_tables(normalised(config)))
    fields["feed_forward.activation"] = THEIR_ACTIVATIONS[config.feed_forward.activation]
    fields["tie"] = config.tie != "none"
    return {theirs: fields[ours] for theirs, ours, *_ in keys}


def normalised(config: ModelConfig) -> ModelConfig:
    """The config with the defaults of all optional values filled in, so that equal models have equal configs."""
    attention, side, bias = config.attention, config.encoder_side, config.attention_bias
    return replaced(
        config,
        {
            "tie": "all" if config.family in ("causal_lm", "masked_lm") and config.tie == "decoder" else config.tie,
            "attention.head_width": config.head_width,
            "attention.key_value_heads": attention.key_value_heads or attention.heads,
            "attention.bias": bias,
            "attention.output_bias": bias if attention.output_bias is None else attention.output_bias,
            "norm.epsilon": config.norm.epsilon or {"layer": 1e-5, "rms": 1e-6}.get(config.norm.kind),
            "shared_layers": config.shared_layers or side.layers,
            "encoder.layers": side.layers,
            "encoder.width": side.width,
            "encoder.heads": side.attention.heads,
            "encoder.hidden": side.feed_forward.hidden,
        },
    )


def body_of(config: ModelConfig) -> str:
    """The prefix of our names of the body's weights, which a classifier has."""
    return "body." if config.classes else ""


@dataclass(frozen=True)
class Family:
    """One published family."""

    model_type: str
    architectures: Mapping[str, Head]
    """Class names in config.json -> the head; the first is assumed where a config names none."""
    config_in: Callable[[Published, Head], ModelConfig]
    config_out: Callable[[ModelConfig], dict[str, Any]]
    """The config.json without what all families have (architectures, model_type, vocabulary, special tokens)."""
    names: Callable[[ModelConfig], Names]
    prefix: str = ""
    """The prefix of the body's names in a model with a head; a body alone is stored without it."""
    ignored: tuple[str, ...] = ()
    """Regular expressions of stored buffers that hold no weights."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old endings of names -> new ones."""
    is_translator: bool = False
    """An encoder-decoder, whose decoder starts from a token that the config names."""
    aligns_words: bool = False
    """Whether the first head of the decoder's last layer is trained to align the words that it predicts."""
    is_image: bool = False
