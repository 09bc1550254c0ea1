"""Quantised blocks give exactly the values that their definition gives, one value at a time."""

from collections.abc import Callable, Iterator

import numpy
import pytest

from headwise.models.published.formats.ggml_types import CHUNK, TYPES, Bytes, Floats, dequantise

Definition = Callable[[bytes], Iterator[numpy.float32]]


def single(value: float) -> numpy.float32:
    return numpy.float32(value)


def half(block: bytes, start: int) -> numpy.float32:
    return numpy.float32(numpy.frombuffer(block, "<f2", 1, start)[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def nibble(packed: bytes, index: int) -> int:
    """Of 32 values in 16 bytes (or 64 in 32): the first half in the low four bits, the second in the high."""
    size = len(packed)
    return packed[index] & 15 if index < size else packed[index - size] >> 4


def q4_0(block: bytes) -> Iterator[numpy.float32]:
    yield from (single(nibble(block[2:], i) - 8) * half(block, 0) for i in range(32))


def q4_1(block: bytes) -> Iterator[numpy.float32]:
    yield from (single(nibble(block[4:], i)) * half(block, 0) + half(block, 2) for i in range(32))


def q5_0(block: bytes) -> Iterator[numpy.float32]:
    fifth = int.from_bytes(block[2:6], "little")
    for i in range(32):
        yield single((nibble(block[6:], i) | (fifth >> i & 1) << 4) - 16) * half(block, 0)


def q5_1(block: bytes) -> Iterator[numpy.float32]:
    fifth = int.from_bytes(block[4:8], "little")
    for i in range(32):
        yield single(nibble(block[8:], i) | (fifth >> i & 1) << 4) * half(block, 0) + half(block, 2)


def q8_0(block: bytes) -> Iterator[numpy.float32]:
    yield from (single(signed(byte)) * half(block, 0) for byte in block[2:])


def six_bits(packed: bytes, group: int) -> tuple[int, int]:
    """The scale and the smallest value of a group of Q4_K and Q5_K."""
    if group < 4:
        return packed[group] & 63, packed[group + 4] & 63
    return (
        packed[group + 4] & 15 | packed[group - 4] >> 6 << 4,
        packed[group + 4] >> 4 | packed[group] >> 6 << 4,
    )


def k_groups(block: bytes, levels: bytes, fifth: bytes | None) -> Iterator[numpy.float32]:
    for i in range(256):
        group, within = divmod(i, 32)
        scale, low = six_bits(block[4:16], group)
        level = nibble(levels[group // 2 * 32 : group // 2 * 32 + 32], i % 64)
        level |= (fifth[within] >> group & 1) << 4 if fifth else 0
        yield half(block, 0) * single(scale) * single(level) - half(block, 2) * single(low)


def q4_k(block: bytes) -> Iterator[numpy.float32]:
    yield from k_groups(block, block[16:], None)


def q5_k(block: bytes) -> Iterator[numpy.float32]:
    yield from k_groups(block, block[48:], block[16:48])


def q6_k(block: bytes) -> Iterator[numpy.float32]:
    for i in range(256):
        part, within = divmod(i, 128)
        low = nibble(block[64 * part : 64 * part + 64], within)
        high = block[128 + 32 * part + within % 32] >> 2 * (within // 32) & 3
        yield half(block, 208) * single(signed(block[192 + i // 16])) * single((low | high << 4) - 32)


def bf16(block: bytes) -> Iterator[numpy.float32]:
    yield numpy.frombuffer(b"\0\0" + block, "<f4")[0]


DEFINITIONS: dict[str, Definition] = {
    "F32": lambda block: iter(numpy.frombuffer(block, "<f4")),
    "F16": lambda block: iter([half(block, 0)]),
    "BF16": bf16,
    "Q4_0": q4_0,
    "Q4_1": q4_1,
    "Q5_0": q5_0,
    "Q5_1": q5_1,
    "Q8_0": q8_0,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
}
KINDS = {kind.name: kind for kind in TYPES.values()}
HALVES = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
"""Where the float16 numbers of a block begin; at its start if not said."""


def blocks(name: str, count: int) -> Bytes:
    """Random bytes, but scales that are ordinary numbers."""
    random = numpy.random.default_rng(len(name) + count)
    content = random.integers(0, 256, (count, KINDS[name].size), dtype=numpy.uint8)
    if name in ("F32", "BF16", "F16"):
        return (
            random.standard_normal(count).astype("<f4").view(numpy.uint8).reshape(-1, 4)[:, -KINDS[name].size :].copy()
        )
    for start in HALVES.get(name, (0,)):
        scales = random.standard_normal(count).astype("<f2")
        content[:, start : start + 2] = scales.view(numpy.uint8).reshape(count, 2)
    return content


def same(found: Floats, expected: Floats) -> None:
    assert found.dtype == expected.dtype == numpy.float32
    numpy.testing.assert_array_equal(found.view(numpy.uint32), expected.view(numpy.uint32))  # to the sign of zero


def test_every_type_has_a_definition_here() -> None:
    assert KINDS.keys() == DEFINITIONS.keys()


@pytest.mark.parametrize("name", KINDS)
def test_values_are_those_of_the_definition(name: str) -> None:
    content = blocks(name, 40)
    expected = [value for block in content for value in DEFINITIONS[name](block.tobytes())]
    same(dequantise(content.reshape(-1), KINDS[name]), numpy.array(expected, numpy.float32))


@pytest.mark.parametrize("name", KINDS)
def test_long_tensors_are_the_sum_of_their_chunks(name: str) -> None:
    content = blocks(name, CHUNK + 3)
    whole = dequantise(content.reshape(-1), KINDS[name])
    last = dequantise(content[-5:].reshape(-1), KINDS[name])
    same(whole[-len(last) :], last)


@pytest.mark.parametrize("name", KINDS)
def test_values_are_those_of_the_reference_package(name: str) -> None:
    gguf = pytest.importorskip("gguf", reason="the gguf package, an oracle, is not installed")
    content = blocks(name, 100)
    kind = gguf.GGMLQuantizationType[name]
    stored = content.reshape(-1)
    if name in ("F32", "F16"):
        stored = stored.view("<f4" if name == "F32" else "<f2")
    same(dequantise(content.reshape(-1), KINDS[name]), gguf.quants.dequantize(stored, kind).reshape(-1))
