"""Conversion of published models to ours, and of ours to published ones."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from headwise.config import ModelConfig
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder.description import Ids
from headwise.models.folder.weights import Weights, check_depth
from headwise.models.published.family import Family, Head, Published, normalised
from headwise.models.published.family_table import PUBLISHED
from headwise.models.published.formats.value import Foreign
from headwise.models.published.layout import in_halves
from headwise.models.published.rules import Rule, to_ours, to_theirs
from headwise.recipe import dotted, from_tables, to_tables


@dataclasses.dataclass(frozen=True)
class Imported:
    """A published model under our names, before it is built."""

    config: ModelConfig
    weights: Weights
    vocabulary: int
    ids: Ids
    family: Family
    labels: tuple[str, ...] = ()
    regression: bool = False
    multi_label: bool = False


def import_published(foreign: Foreign) -> Imported:
    """Convert a published model; an unknown architecture or a tensor that does not fit is an error."""
    family, head = _family_of(foreign)
    tensors = _tidied(foreign.tensors, family)
    published = Published(foreign.config, foreign.where, tensors)
    config, labels, ids = _read_config(published, family, head)
    check_depth(config, len(tensors), foreign.where)
    problem = _problem(published) if head == "classifier" else ""
    weights = to_ours(family.names(config), tensors, foreign.where)
    return Imported(
        config=config,
        weights=weights,
        vocabulary=published.get("vocab_size", 0),
        ids=ids,
        family=family,
        labels=labels,
        regression=problem == "regression",
        multi_label=problem == "multi_label_classification",
    )


def _read_config(published: Published, family: Family, head: Head) -> tuple[ModelConfig, tuple[str, ...], Ids]:
    """Config, labels and special tokens of a config.json; a value of the wrong type is an error here, not later."""
    try:
        config = dataclasses.replace(family.config_in(published, head), preset=None)
        labels = published.labels if head == "classifier" else ()
        ids = _ids(published)
        from_tables(Ids, to_tables(ids))
        if type(published.get("vocab_size", 0)) is not int:
            raise ConfigError("vocab_size must be a whole number")
        if not all(isinstance(label, str) for label in labels):
            raise ConfigError("the labels in id2label must be strings")
    except (ConfigError, TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        raise CheckpointError(f"{published.where}: its config has an invalid value: {error}") from None
    return config, labels, ids


def export_published(
    config: ModelConfig,
    weights: Mapping[str, Tensor],
    vocabulary: int,
    ids: Ids,
    model_type: str = "",
    labels: tuple[str, ...] = (),
    multi_label: bool = False,
) -> tuple[dict[str, Any], Weights]:
    """The config.json and tensors of a model in the published family that fits it (`model_type`: in this family)."""
    if config.family == "encoder_decoder" and config.positions.kind == "sinusoidal":
        config, weights = in_halves(config, weights)
    family = fitting_family(config, model_type)
    head = _head_of(config)
    architecture = next(name for name, its_head in family.architectures.items() if its_head == head)
    described: dict[str, Any] = {
        "architectures": [architecture],
        "model_type": family.model_type,
        "vocab_size": vocabulary,
        **_ids_out(ids, family),
        **family.config_out(config),
    }
    if described.get("pad_token_id") not in (None, ids.pad):
        pad = described["pad_token_id"]
        raise ConfigError(f"a {family.model_type} with these positions has the padding id {pad}, not {ids.pad}")
    if family.is_image:
        del described["vocab_size"]
    if config.classes:
        labels = labels or tuple(f"LABEL_{number}" for number in range(config.classes))
        described["problem_type"] = PROBLEMS[2] if config.classes == 1 else PROBLEMS[multi_label]
        described["id2label"] = {str(number): label for number, label in enumerate(labels)}
        described["label2id"] = {label: number for number, label in enumerate(labels)}
    tensors = to_theirs(family.names(config), weights)
    if head == "base":
        tensors = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    return described, tensors


def fitting_family(config: ModelConfig, model_type: str = "") -> Family:
    """The published family whose config.json expresses this config exactly."""
    known = {family.model_type: family for family in PUBLISHED}
    if model_type and model_type not in known:
        raise ConfigError(f"unknown published family {model_type!r}; there are: {', '.join(known)}")
    for family in [known[model_type]] if model_type else PUBLISHED:
        if not _unexpressed(config, family):
            return family
    if model_type:
        differing = ", ".join(_unexpressed(config, known[model_type]))
        raise ConfigError(f"this model cannot be written as {model_type}, which does not have: {differing}")
    nearest = min(PUBLISHED, key=lambda family: _distance(config, family))
    raise ConfigError(
        f"no published family fits this model; the nearest, {nearest.model_type}, does not have: "
        f"{', '.join(_unexpressed(config, nearest))}"
    )


def _distance(config: ModelConfig, family: Family) -> int:
    """The number of fields that a family cannot express; more than there are where the two cannot be compared."""
    lost = _unexpressed(config, family)
    return len(lost) if all(" = " in field for field in lost) else len(dotted(to_tables(config)))


UNEXPRESSED = {"preset", "init", "dropout", "attention.dropout", "feed_forward.dropout"}
"""Keys that need no counterpart: they do not change what a trained model computes."""


def _unexpressed(config: ModelConfig, family: Family) -> list[str]:
    """The fields that the config.json of a family cannot express, as `name = value`."""
    head = _head_of(config)
    if head not in family.architectures.values():
        return [f"head ({head})"]
    try:
        written = {name.theirs for name in family.names(config) if isinstance(name, Rule)}
        described = {**family.config_out(config), "num_labels": config.classes}
        again = family.config_in(Published(described, family.model_type, written), head)
    except (CheckpointError, ConfigError, KeyError, ValueError) as error:
        return [str(error)]
    before, after = (dotted(to_tables(normalised(each))) for each in (config, again))
    return [
        f"{name} = {value!r}"
        for name, value in before.items()
        if value != after.get(name) and not name.startswith(_unused(config))
    ]


def _unused(config: ModelConfig) -> tuple[str, ...]:
    """Keys, or beginnings of keys, that this model does not use."""
    unused = UNEXPRESSED | UNUSED.get(config.family, set())
    if not config.classes:
        unused |= {"pooling.kind"}
    if config.family == "masked_lm" and not config.output.language_head:
        unused |= {"tie", "output.bias", "output.scale"}
    if config.positions.kind != "rotary":
        unused |= {"positions.rotary."}
    if config.positions.kind != "relative":
        unused |= {"positions.buckets", "positions.distance"}
    return tuple(unused)


UNUSED: dict[str, set[str]] = {
    "encoder_decoder": {"output.language_head", "pooling.pooler"},
    "causal_lm": {"output.language_head"},
    "masked_lm": set(),
    "vision": {"positions.max_positions", "tie", "output.language_head", "embedding.scale"},
}
"""Keys that the models of a family (ours) do not use."""


def _head_of(config: ModelConfig) -> Head:
    if config.classes:
        return "classifier"
    if config.family == "vision" or not config.output.language_head:
        return "base"
    return "pretraining" if config.output.next_sentence else "language"


def _family_of(foreign: Foreign) -> tuple[Family, Head]:
    named = _architectures(foreign)
    kind = foreign.config.get("model_type")
    for family in PUBLISHED:
        found = [family.architectures[name] for name in named if name in family.architectures]
        if found and kind in (None, family.model_type):
            return family, found[0]
        if not named and kind == family.model_type:
            return family, next(iter(family.architectures.values()))
    known = ", ".join(name for family in PUBLISHED for name in family.architectures)
    what = ", ".join(named) or kind or "(none named)"
    raise CheckpointError(f"{foreign.where}: the architecture {what} is not supported; there are: {known}")


def _architectures(foreign: Foreign) -> list[str]:
    named = foreign.config.get("architectures") or []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise CheckpointError(f"{foreign.where}: architectures in config.json must be a list of names")
    return named


PROBLEMS = ("single_label_classification", "multi_label_classification", "regression")


def _problem(published: Published) -> str:
    """The problem type of a classifier; with a single output it is regression by default, as in the reference."""
    problem: str = published.get("problem_type", PROBLEMS[2] if published.classes == 1 else PROBLEMS[0])
    if problem not in PROBLEMS:
        raise CheckpointError(
            f"{published.where}: problem_type {problem!r} is not supported; there are: {', '.join(PROBLEMS)}"
        )
    if problem == "regression" and published.classes > 1:
        raise CheckpointError(f"{published.where}: a regression with {published.classes} outputs is not supported")
    return problem


def _tidied(tensors: Mapping[str, Tensor], family: Family) -> dict[str, Tensor]:
    """A published model's tensors under their current names, without buffers that hold no weights."""
    tidy = {}
    for name, tensor in tensors.items():
        for old, new in family.renamed.items():
            name = name.removesuffix(old) + new if name.endswith(old) else name
        if not any(re.search(pattern, name) for pattern in family.ignored):
            tidy[name] = tensor
    if family.prefix and not any(name.startswith(family.prefix) for name in tidy):
        tidy = {family.prefix + name: tensor for name, tensor in tidy.items()}
    return tidy


def _ids(published: Published) -> Ids:
    def one(key: str) -> int | None:
        value: int | list[int] | None = published.get(key, None)
        return value[0] if isinstance(value, list) else value

    start = one("decoder_start_token_id")
    pad = one("pad_token_id")
    return Ids(
        pad=pad if pad is not None and pad >= 0 else 0,
        sos=start if start is not None else one("bos_token_id"),
        eos=one("eos_token_id"),
    )


def _ids_out(ids: Ids, family: Family) -> dict[str, Any]:
    if family.is_image:
        return {}
    described: dict[str, Any] = {
        "pad_token_id": ids.pad,
        "bos_token_id": ids.sos,
        "eos_token_id": list(ids.ends) or ids.eos,
    }
    if family.is_translator:
        described["decoder_start_token_id"] = ids.sos
        described["forced_eos_token_id"] = ids.eos
    return described
