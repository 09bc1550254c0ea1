"""The settings of a published tokenizer, gathered from the JSON files of its folder."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError, ConfigError
from headwise.files.tables import read_json

GENERIC = ("", "PreTrainedTokenizer", "TokenizersBackend")
"""Class names, without "Fast", that leave open how text is cut."""

ROLES = ("pad", "unk", "bos", "eos", "cls", "sep", "mask")


@dataclass(frozen=True)
class Facts:
    """The folder of a published model, its config and the settings of its tokenizer."""

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    """config.json, overridden by generation_config.json."""
    settings: dict[str, Any] = field(default_factory=dict)
    """special_tokens_map.json, overridden by tokenizer_config.json."""

    def has(self, *names: str) -> bool:
        return all((self.folder / name).is_file() for name in names)

    def read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise CheckpointError(f"{self.folder / name}: {error.strerror}") from None

    def read_json(self, name: str) -> Any:
        return read_json(self.folder / name)

    def names(self, defaults: dict[str, str]) -> dict[str, str]:
        """The token of each role; roles without one are left out."""
        names = dict(defaults)
        for role in ROLES:
            if f"{role}_token" in self.settings:
                name = content(self.settings[f"{role}_token"])
                names.pop(role, None)
                if name:
                    names[role] = name
        return names

    @property
    def extra(self) -> list[str]:
        """Special tokens without a role."""
        listed = self.settings.get("additional_special_tokens") or []
        extra = self.settings.get("extra_special_tokens") or []
        extra = list(extra.values()) if isinstance(extra, dict) else extra
        return list(dict.fromkeys(name for name in map(content, [*listed, *extra]) if name))

    @property
    def added(self) -> list[dict[str, Any]]:
        """Tokens that were added to the vocabulary, and how they match text, in the order of their ids."""
        rows = self.settings.get("added_tokens_decoder") or {}
        return [rows[i] for i in sorted(rows, key=int) if isinstance(rows[i], dict) and content(rows[i])]

    @property
    def class_name(self) -> str:
        """The tokenizer's class in transformers, without the ending Fast; empty if no file names it."""
        name = self.settings.get("tokenizer_class") or self.config.get("tokenizer_class") or ""
        return str(name).removesuffix("Fast")

    @property
    def is_encoder_decoder(self) -> bool:
        return bool(self.config.get("is_encoder_decoder")) or self.config.get("decoder_start_token_id") is not None

    @property
    def forbidden(self) -> list[int]:
        """Ids that are never generated."""
        words = self.config.get("bad_words_ids") or []
        return [word[0] for word in words if isinstance(word, list) and len(word) == 1]


def known_class(
    facts: Facts, files: str, known: Container[str], by_model_type: Mapping[str, str], default: str = ""
) -> str:
    """The tokenizer class that the folder names, or else that of its model type; a ConfigError if it is not `known`.

    `default` is the class of a folder that names neither.
    """
    model_type = str(facts.config.get("model_type") or "")
    name = facts.class_name
    if name in GENERIC:
        name = by_model_type.get(model_type, "") if model_type else default
    if name in known:
        return name
    what = name or (f"the tokenizer of model type {model_type}" if model_type else "a tokenizer without a class name")
    raise ConfigError(
        f"{facts.folder}: Headwise cannot read {what} from {files}; add a tokenizer.json, which transformers writes: "
        "AutoTokenizer.from_pretrained(...).save_pretrained(...)"
    )


def gather(folder: Path, config: dict[str, Any]) -> Facts:
    """Read the JSON files of a folder whose config.json is `config`."""
    generation = _optional(folder / "generation_config.json")
    known = {key: value for key, value in generation.items() if value is not None}
    special = _optional(folder / "special_tokens_map.json")
    own = _optional(folder / "tokenizer_config.json")
    return Facts(folder, {**config, **known}, {**special, **own})


def content(token: object) -> str:
    """The text of a token, which is given as a string or as a table."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _optional(path: Path) -> dict[str, Any]:
    table = read_json(path) if path.is_file() else {}
    if not isinstance(table, dict):
        raise CheckpointError(f"{path} is damaged: it is not a table")
    return table
