"""GGML's tensor types: block sizes and dequantisation.

A quantised row is split into blocks, each with its own quantisation scale (and, in some types, minimum). The
arithmetic is float32 in the order of the reference, so the values are bit-identical to the reference's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

Bytes = NDArray[numpy.uint8]
Floats = NDArray[numpy.float32]

CHUNK = 1 << 14
"""Blocks that are dequantised at a time, which bounds the memory beside the result."""


@dataclass(frozen=True)
class TensorType:
    name: str
    values: int
    """Values per block."""
    size: int
    """Bytes per block."""
    unpack: Callable[[Bytes], Floats]
    """Converts bytes [N, size] to values [N, values]."""


def dequantise(content: Bytes, kind: TensorType) -> Floats:
    """The values of a tensor, in order."""
    blocks = content.reshape(-1, kind.size)
    values = numpy.empty((len(blocks), kind.values), numpy.float32)
    with numpy.errstate(all="ignore"):  # a damaged scale may overflow to infinity
        for start in range(0, len(blocks), CHUNK):
            values[start : start + CHUNK] = kind.unpack(blocks[start : start + CHUNK])
    return values.reshape(-1)


def _as(blocks: Bytes, dtype: str) -> NDArray[Any]:
    return numpy.ascontiguousarray(blocks).view(dtype)


def _half(blocks: Bytes, start: int) -> Floats:
    """The float16 at this byte of every block, [N, 1]."""
    return _as(blocks[:, start : start + 2], "<f2").astype(numpy.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """The low four bits of all bytes, then the high four bits."""
    return numpy.concatenate([packed & 15, packed >> 4], axis=-1)


def _bits(packed: Bytes) -> Bytes:
    """Bit j of a little-endian word as value j."""
    return numpy.unpackbits(packed, axis=-1, bitorder="little")


def _with_high(low: Bytes, high: Bytes) -> Bytes:
    """Levels of more than four bits, from the low four and the bits above them."""
    return low | numpy.left_shift(high, numpy.uint8(4))


def _f32(blocks: Bytes) -> Floats:
    return _as(blocks, "<f4").astype(numpy.float32)


def _f16(blocks: Bytes) -> Floats:
    return _half(blocks, 0)


def _bf16(blocks: Bytes) -> Floats:
    return (_as(blocks, "<u2").astype(numpy.uint32) << 16).view(numpy.float32)


def _q4_0(blocks: Bytes) -> Floats:
    levels = _nibbles(blocks[:, 2:]).astype(numpy.int8) - numpy.int8(8)
    return _half(blocks, 0) * levels.astype(numpy.float32)


def _q4_1(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]).astype(numpy.float32) + _half(blocks, 2)


def _five_bits(blocks: Bytes, start: int) -> Bytes:
    return _with_high(_nibbles(blocks[:, start + 4 :]), _bits(blocks[:, start : start + 4]))


def _q5_0(blocks: Bytes) -> Floats:
    levels = _five_bits(blocks, 2).astype(numpy.int8) - numpy.int8(16)
    return _half(blocks, 0) * levels.astype(numpy.float32)


def _q5_1(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * _five_bits(blocks, 4).astype(numpy.float32) + _half(blocks, 2)


def _q8_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * _as(blocks[:, 2:], "i1").astype(numpy.float32)


def _scales_and_lows(packed: Bytes) -> tuple[Floats, Floats]:
    """Eight scales and eight minima of six bits each, in twelve bytes: two [N, 8, 1].

    The first four of each are in the low six bits of bytes 0-3 and 4-7; the last four have their low four bits in
    bytes 8-11 and their high two bits on top of the first four.
    """
    first, second, rest = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = numpy.concatenate([first & 63, (rest & 15) | (first >> 6 << 4)], axis=1)
    lows = numpy.concatenate([second & 63, (rest >> 4) | (second >> 6 << 4)], axis=1)
    return scales.astype(numpy.float32)[..., None], lows.astype(numpy.float32)[..., None]


def _scaled_groups(blocks: Bytes, levels: Bytes) -> Floats:
    """Q4_K and Q5_K: eight groups of 32 levels [N, 8, 32], each with a scale and a minimum."""
    scales, lows = _scales_and_lows(blocks[:, 4:16])
    scale, low = _half(blocks, 0)[..., None] * scales, _half(blocks, 2)[..., None] * lows
    values: Floats = scale * levels.astype(numpy.float32) - low
    return values.reshape(len(blocks), -1)


def _q4_k(blocks: Bytes) -> Floats:
    return _scaled_groups(blocks, _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32))


def _q5_k(blocks: Bytes) -> Floats:
    low = _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    high = _bits(blocks[:, 16:48, None]).transpose(0, 2, 1)  # bit g of byte i belongs to value i of group g
    return _scaled_groups(blocks, _with_high(low, high))


def _q6_k(blocks: Bytes) -> Floats:
    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64))  # [N, 2, 128]
    pairs = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    shifts = numpy.array([0, 2, 4, 6], numpy.uint8).reshape(4, 1)
    high = (numpy.right_shift(pairs, shifts) & numpy.uint8(3)).reshape(-1, 2, 128)
    levels = _with_high(low, high).astype(numpy.int8) - numpy.int8(32)
    scales = _half(blocks, 208) * _as(blocks[:, 192:208], "i1").astype(numpy.float32)  # [N, 16]
    values: Floats = scales[..., None] * levels.reshape(-1, 16, 16).astype(numpy.float32)
    return values.reshape(len(blocks), -1)


TYPES: dict[int, TensorType] = {
    0: TensorType("F32", 1, 4, _f32),
    1: TensorType("F16", 1, 2, _f16),
    2: TensorType("Q4_0", 32, 18, _q4_0),
    3: TensorType("Q4_1", 32, 20, _q4_1),
    6: TensorType("Q5_0", 32, 22, _q5_0),
    7: TensorType("Q5_1", 32, 24, _q5_1),
    8: TensorType("Q8_0", 32, 34, _q8_0),
    12: TensorType("Q4_K", 256, 144, _q4_k),
    13: TensorType("Q5_K", 256, 176, _q5_k),
    14: TensorType("Q6_K", 256, 210, _q6_k),
    30: TensorType("BF16", 1, 2, _bf16),
}
"""By their numbers in a file."""

UNREAD = {
    9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
    20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
"""Names of the types that are not supported, for the error message."""
