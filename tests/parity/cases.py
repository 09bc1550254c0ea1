"""Tiny random models of the reference library, one or more for every published family and each of its variants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headwise.models.published.family_table import PUBLISHED
from tests.parity import causal, encoder_decoders, encoders, vision


@dataclass(frozen=True)
class Case:
    """One model of `transformers`."""

    name: str
    model_type: str
    make: Callable[[], Any]


CASES: list[Case] = [
    Case(f"{model_type}-{name}", model_type, make)
    for cases in (encoder_decoders.CASES, encoders.CASES, causal.CASES, vision.CASES)
    for (model_type, name), make in cases.items()
]

FAMILIES_WITHOUT_A_CASE = {family.model_type for family in PUBLISHED} - {case.model_type for case in CASES}
