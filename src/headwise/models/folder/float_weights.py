"""The float32 weights of any model folder, for training: those of an int8 folder are dequantised."""

import dataclasses
from pathlib import Path

from headwise.models.folder.description import INT8, Description
from headwise.models.folder.load import read_model
from headwise.models.folder.weights import Weights
from headwise.nn.int8 import dequantised


def read_float_model(folder: Path) -> tuple[Description, Weights]:
    """Description and weights of the model in a folder; int8 weights become the float32 ones that they stand for."""
    description, weights = read_model(folder, int8=True)
    if description.precision != INT8:
        return description, weights
    return dataclasses.replace(description, precision="float32"), dequantised(weights)
