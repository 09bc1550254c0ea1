"""Rotary positions in published configs: `rope_theta` and `rope_scaling`, or both in `rope_parameters`."""

import math
from collections.abc import Mapping
from typing import Any

from headwise.config import ModelConfig
from headwise.errors import CheckpointError
from headwise.models.published.family import Published

KEYS: dict[str, str] = {
    "factor": "factor",
    "original_max_position_embeddings": "original_positions",
    "low_freq_factor": "low_frequency",
    "high_freq_factor": "high_frequency",
    "beta_fast": "beta_fast",
    "beta_slow": "beta_slow",
    "attention_factor": "attention_factor",
    "truncate": "truncate",
    "short_factor": "short_factors",
    "long_factor": "long_factors",
}
"""Published names -> ours."""

USED: dict[str, tuple[str, ...]] = {
    "none": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
    "yarn": ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor", "truncate"),
    "longrope": ("factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"),
}
"""Keys that each kind of rotary scaling reads."""

KINDS = {"default": "none", "su": "longrope", **{kind: kind for kind in USED if kind != "none"}}


def rotary_in(
    published: Published, head_width: int, share: float = 1.0, base: float = 10000.0, partial: bool = True
) -> dict[str, Any]:
    """Fields of a ModelConfig for rotary positions; `share` and `base` are the family's defaults.

    `share` is the part of each head that is rotated. Without `partial` it is fixed: the reference ignores
    `partial_rotary_factor` in Llama and Mistral.
    """
    scaling: Mapping[str, Any] = published.get("rope_parameters", None) or published.get("rope_scaling", None) or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in KINDS:
        raise CheckpointError(f"{published.where}: rotary scaling {kind!r} is not known; there are: {', '.join(KINDS)}")
    kind = KINDS[kind]
    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        raise CheckpointError(f"{published.where}: rotary scaling with mscale is not supported")
    named = scaling.get("partial_rotary_factor", published.get("partial_rotary_factor", share))
    if not partial and kind != "none" and named != share:
        raise CheckpointError(f"{published.where}: partial_rotary_factor {named} with {kind} rotary is not supported")
    rotated = int(head_width * (named if partial else share))
    return {
        "positions.rotary.base": scaling.get("rope_theta", published.get("rope_theta", base)),
        "positions.rotary.width": rotated if rotated != head_width else None,
        "positions.rotary.scaling": {"kind": kind, **_scaling_in(published, scaling, kind)},
    }


def _scaling_in(published: Published, scaling: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The settings of this kind of rotary scaling under our names."""
    values = {KEYS[key]: scaling[key] for key in USED[kind] if scaling.get(key) is not None}
    original = published.get("original_max_position_embeddings", 0)
    if "original_max_position_embeddings" in USED[kind] and original:
        values["original_positions"] = original  # takes precedence over the one in the table
    if kind in ("yarn", "longrope") and "factor" not in values:
        stretched = published.get("max_position_embeddings", 1)
        values["factor"] = stretched / (values.get("original_positions") or stretched)
    return values


def rotary_out(config: ModelConfig) -> dict[str, Any]:
    """Rotary positions of a ModelConfig as keys of config.json, the current and the older ones."""
    scaling = config.positions.rotary.scaling
    parameters: dict[str, Any] = {
        "rope_type": "default" if scaling.kind == "none" else scaling.kind,
        "rope_theta": config.positions.rotary.base,
    }
    for key in USED[scaling.kind]:
        value = getattr(scaling, KEYS[key])
        if value or isinstance(value, bool):
            parameters[key] = list(value) if isinstance(value, tuple) else value
    if config.positions.rotary.width:
        parameters["partial_rotary_factor"] = rotary_share(config)
    return {"rope_theta": config.positions.rotary.base, "rope_parameters": parameters}


def rotary_share(config: ModelConfig) -> float:
    """The part of each head that is rotated, as a factor which gives exactly that width when multiplied out."""
    rotated = config.positions.rotary.width or config.head_width
    share = rotated / config.head_width
    return share if int(config.head_width * share) == rotated else math.nextafter(share, 1.0)
