"""Definition of a published family: its architectures, its config, its names of weights."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.rules import Names

Head = Literal["base", "language", "pretraining", "classifier"]
"""Head on a published body: none, one that predicts tokens, that and next sentences, or classes."""


class Published:
    """A config.json, read strictly: what changes the computation must be known here or be an error."""

    def __init__(self, values: Mapping[str, Any], where: str, tensors: Collection[str] = ()) -> None:
        self.values = values
        self.where = where
        self.tensors = tensors

    def get(self, key: str, default: Any) -> Any:
        """A value; absent and null are the default."""
        value = self.values.get(key)
        return default if value is None else value

    def need(self, key: str) -> Any:
        if self.values.get(key) is None:
            raise CheckpointError(f"{self.where}: its config.json lacks {key}")
        return self.values[key]

    def choose(self, key: str, choices: Mapping[Any, str], default: Any) -> str:
        """A value that we have under another name."""
        value = self.get(key, default)
        if value not in choices:
            known = ", ".join(map(str, choices))
            raise CheckpointError(f"{self.where}: {key} {value!r} is not known here; there are: {known}")
        return choices[value]

    def refuse_unless(self, key: str, value: Any) -> None:
        """Some variants were never built: better an error than other numbers."""
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
        """Whether the weights hold a tensor whose name ends so."""
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
"""Their names of activations -> ours."""

THEIR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


def body_of(config: ModelConfig) -> str:
    """Prefix of our names of the body's weights: a classifier contains the model it stands on."""
    return "body." if config.classes else ""


@dataclass(frozen=True)
class Family:
    """One published family."""

    model_type: str
    architectures: Mapping[str, Head]
    """Class names in config.json -> what stands on the body; the first is what a model without a name is taken for."""
    config_in: Callable[[Published, Head], ModelConfig]
    config_out: Callable[[ModelConfig], dict[str, Any]]
    """Without what all families have (architectures, model_type, vocabulary, special ids)."""
    names: Callable[[ModelConfig], Names]
    prefix: str = ""
    """Prefix of the names of the body's weights below a head; a body alone is stored without it."""
    ignored: tuple[str, ...] = ()
    """Regular expressions of buffers that some versions stored and that hold no weights."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old endings of names -> new ones."""
    is_translator: bool = False
    """An encoder-decoder, whose decoder starts from a token that the config names."""
    is_image: bool = False
