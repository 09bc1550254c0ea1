"""GGUF files come back as the Hugging Face model they were made of, or an error says what is wrong."""

import math
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.build import build
from headwise.models.folder.weights import check_weights
from headwise.models.published.exchange import import_published
from headwise.models.published.formats.gguf import read_gguf
from tests.models.published.formats.foreign_files import LLAMA, f32, gguf, llama, llama_gguf, value


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def load(path: Path) -> None:
    """Read and convert a file, and check its weights, as every use of a model does."""
    imported = import_published(read_gguf(path))
    with torch.device("meta"):
        check_weights(build(imported.config, imported.vocabulary, 0), imported.weights, str(path))


def refused(folder: Path, content: bytes) -> str:
    path = saved(folder, content)
    with pytest.raises(CheckpointError) as error:
        load(path)
    assert str(path) in str(error.value)
    return str(error.value)


def same(found: Any, expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == torch.float32
        assert torch.equal(found[name], tensor), name


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_a_llama_comes_back(tmp_path: Path, tied: bool, biases: bool, version: int) -> None:
    tensors = llama(tied, biases)
    read = read_gguf(saved(tmp_path, llama_gguf(tensors, version=version)))
    same(read.tensors, tensors)
    assert read.where == str(tmp_path / "model.gguf")
    assert read.config == {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": LLAMA["width"],
        "intermediate_size": LLAMA["hidden"],
        "num_hidden_layers": LLAMA["layers"],
        "num_attention_heads": LLAMA["heads"],
        "num_key_value_heads": LLAMA["groups"],
        "head_dim": LLAMA["width"] // LLAMA["heads"],
        "hidden_act": "silu",
        "attention_bias": biases,
        "mlp_bias": False,
        "max_position_embeddings": LLAMA["context"],
        "rms_norm_eps": 1e-5,
        "rope_theta": 50000.0,
        "rope_scaling": None,
        "vocab_size": LLAMA["vocabulary"],
        "tie_word_embeddings": tied,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def test_the_tokenizer_comes_along_unread(tmp_path: Path) -> None:
    read = read_gguf(saved(tmp_path, llama_gguf(llama())))
    assert read.tokenizer == {
        "kind": "gguf",
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(LLAMA["vocabulary"])],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


VALUES: dict[str, Any] = {
    "u8": 255, "i8": -128, "u16": 65535, "i16": -32768, "u32": 2**32 - 1, "i32": -(2**31), "f32": 0.5, "bool": True,
    "str": "Grüße, 世界", "u64": 2**64 - 1, "i64": -(2**63), "f64": math.pi,
    "[u16]": [1, 2, 65535], "[bool]": [True, False], "[str]": ["a", "", "é"], "[[i32]]": [[1, -2], [], [3]],
    "[[[str]]]": [[["x"], []], []], "[f64]": [], "[[str]]": [],
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_metadata_of_every_type(tmp_path: Path, kind: str) -> None:
    read = read_gguf(saved(tmp_path, llama_gguf(llama(), {"tokenizer.x": (kind, VALUES[kind])})))
    assert read.tokenizer is not None
    assert read.tokenizer["tokenizer.x"] == VALUES[kind]
    assert type(read.tokenizer["tokenizer.x"]) is type(VALUES[kind])


def test_another_alignment(tmp_path: Path) -> None:
    tensors = llama()
    content = llama_gguf(tensors, {"general.alignment": ("u32", 128)}, alignment=128)
    same(read_gguf(saved(tmp_path, content)).tensors, tensors)


SCALINGS: dict[str, tuple[dict[str, Any], Any]] = {
    "none": ({"llama.rope.scaling.type": ("str", "none")}, None),
    "linear": (
        {"llama.rope.scaling.type": ("str", "linear"), "llama.rope.scaling.factor": ("f32", 4.0)},
        {"rope_type": "linear", "factor": 4.0},
    ),
    "old linear": ({"llama.rope.scale_linear": ("f32", 2.0)}, {"rope_type": "linear", "factor": 2.0}),
    "yarn": (
        {
            "llama.rope.scaling.type": ("str", "yarn"),
            "llama.rope.scaling.factor": ("f32", 16.0),
            "llama.rope.scaling.original_context_length": ("u32", 4096),
        },
        {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096},
    ),
}


@pytest.mark.parametrize("name", SCALINGS)
def test_scaling_of_the_rotary_positions(tmp_path: Path, name: str) -> None:
    changes, expected = SCALINGS[name]
    assert read_gguf(saved(tmp_path, llama_gguf(llama(), changes))).config["rope_scaling"] == expected


def divisors(factor: float, base: float, width: int) -> Tensor:
    """Llama 3's, one frequency at a time."""
    found = []
    for i in range(0, width, 2):
        wave = 2 * math.pi * base ** (i / width)
        if wave < 8192 / 4:
            found.append(1.0)
        elif wave > 8192:
            found.append(factor)
        else:
            smooth = (8192 / wave - 1) / 3
            found.append(1 / ((1 - smooth) / factor + smooth))
    return torch.tensor(found)


def test_frequencies_of_llama_3_are_told_by_their_formula(tmp_path: Path) -> None:
    tensors = llama()
    width = LLAMA["width"] // LLAMA["heads"]
    for base, factor in ((50000.0, 1.0), (2e7, 8.0), (2e7, 32.0), (2e6, 8.0)):
        stored = {**tensors, "rope_freqs.weight": divisors(factor, base, width)}
        read = read_gguf(saved(tmp_path, llama_gguf(stored, {"llama.rope.freq_base": ("f32", base)})))
        same(read.tensors, tensors)
        expected = {
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }
        assert read.config["rope_scaling"] == (None if factor == 1 else expected)
    stored["rope_freqs.weight"] = torch.tensor([1.5, 3.0])
    assert "rope_freqs.weight" in refused(tmp_path, llama_gguf(stored))


def test_a_window_makes_it_a_mistral(tmp_path: Path) -> None:
    config = read_gguf(saved(tmp_path, llama_gguf(llama(), {"llama.attention.sliding_window": ("u32", 5)}))).config
    assert (config["model_type"], config["sliding_window"]) == ("mistral", 5)


def test_a_gpt2_comes_back(tmp_path: Path) -> None:
    width, layers, vocabulary, context = 8, 2, 11, 6
    tensors = {"wte.weight": torch.randn(vocabulary, width), "wpe.weight": torch.randn(context, width)}
    names = {"wte.weight": "token_embd.weight", "wpe.weight": "position_embd.weight"}
    for end in ("weight", "bias"):
        tensors[f"ln_f.{end}"], names[f"ln_f.{end}"] = torch.randn(width), f"output_norm.{end}"
        for layer in range(layers):
            for ours, theirs, shape in (
                ("ln_1", "attn_norm", (width,)),
                ("ln_2", "ffn_norm", (width,)),
                ("attn.c_attn", "attn_qkv", (width, 3 * width)),
                ("attn.c_proj", "attn_output", (width, width)),
                ("mlp.c_fc", "ffn_up", (width, 4 * width)),
                ("mlp.c_proj", "ffn_down", (4 * width, width)),
            ):
                tensors[f"h.{layer}.{ours}.{end}"] = torch.randn(shape if end == "weight" else shape[-1:])
                names[f"h.{layer}.{ours}.{end}"] = f"blk.{layer}.{theirs}.{end}"
    sizes = {"block_count": layers, "context_length": context, "embedding_length": width, "attention.head_count": 2}
    metadata = {
        "general.architecture": ("str", "gpt2"),
        "gpt2.attention.layer_norm_epsilon": ("f32", 1e-5),
        **{f"gpt2.{key}": ("u32", size) for key, size in sizes.items()},
    }
    stored = {
        names[name]: f32(tensor.transpose(0, -1).contiguous() if ".c_" in name else tensor)
        for name, tensor in tensors.items()
    }
    read = read_gguf(saved(tmp_path, gguf(metadata, stored)))
    same(read.tensors, {f"transformer.{name}": tensor for name, tensor in tensors.items()})
    assert read.config["model_type"] == "gpt2"
    assert (read.config["n_inner"], read.config["n_positions"], read.config["tie_word_embeddings"]) == (32, 6, True)
    assert read.tokenizer is None


@pytest.mark.parametrize("architecture", ["mamba", "qwen2", "llama4"])
def test_other_architectures_are_named(tmp_path: Path, architecture: str) -> None:
    changes = {"general.architecture": ("str", architecture)}
    assert repr(architecture) in refused(tmp_path, llama_gguf(llama(), changes))


@pytest.mark.parametrize(("number", "name"), [(10, "Q2_K"), (23, "IQ4_XS"), (999, "999")])
def test_types_that_are_not_read_are_named_with_the_tensor(tmp_path: Path, number: int, name: str) -> None:
    message = refused(tmp_path, gguf({}, {"blk.0.attn_q.weight": (number, (256, 256), b"")}))
    assert f"blk.0.attn_q.weight is of the type {name}" in message


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "no epsilon": ({"llama.attention.layer_norm_rms_epsilon": None}, "layer_norm_rms_epsilon is missing"),
    "a text for a number": ({"llama.block_count": ("str", "2")}, "block_count is 2, not a whole number"),
    "absurdly many layers": ({"llama.block_count": ("u32", 2**31 - 1)}, "layers must be at most"),
    "too many layers": ({"llama.block_count": ("u32", 1000)}, "1,000 layers"),
    "one layer less": ({"llama.block_count": ("u32", 1)}, "model.layers.1"),
    "heads that differ by layer": ({"llama.attention.head_count": ("[u32]", [4, 4])}, "head_count is"),
    "another width": ({"llama.embedding_length": ("u32", 32)}, "shape"),
    "other heads": ({"llama.attention.head_count_kv": ("u32", 3)}, "key/value heads"),
    "half of a head rotated": ({"llama.rope.dimension_count": ("u32", 2)}, "dimension_count is not 4"),
    "experts": ({"llama.expert_count": ("u32", 8)}, "experts"),
    "another scaling": ({"llama.rope.scaling.type": ("str", "longrope")}, "'longrope'"),
    "an infinite base": ({"llama.rope.freq_base": ("f64", 1e300)}, "freq_base"),
    "parts": ({"split.count": ("u16", 3)}, "one of 3 parts"),
    "an odd alignment": ({"general.alignment": ("u32", 48)}, "alignment is 48"),
    "an architecture that is a list": ({"general.architecture": ("[str]", ["llama"])}, "architecture"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_metadata_that_do_not_fit(tmp_path: Path, name: str) -> None:
    changes, message = CHANGES[name]
    assert message in refused(tmp_path, llama_gguf(llama(), changes))


def test_tensors_that_do_not_fit(tmp_path: Path) -> None:
    tensors = llama()
    missing = {name: tensor for name, tensor in tensors.items() if name != "model.norm.weight"}
    assert "missing: model.norm.weight" in refused(tmp_path, llama_gguf(missing))
    assert "not part of a Llama" in refused(tmp_path, llama_gguf({**tensors, "blk.0.attn_sinks.weight": torch.ones(4)}))


def header(tensors: int, keys: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys)


def described(shape: tuple[int, ...], start: int = 0, kind: int = 0) -> bytes:
    name = struct.pack("<Q", 1) + b"x"
    return name + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, start)


KEY = struct.pack("<Q", 1) + b"k"
ABSURD = {
    "nothing": b"",
    "another file": b"PK\3\4" + bytes(100),
    "the magic alone": b"GGUF",
    "version 1": b"GGUF" + struct.pack("<I", 1) + bytes(100),
    "big endian": b"GGUF" + struct.pack(">I", 3) + bytes(100),
    "countless tensors": header(2**63, 0) + bytes(1000),
    "countless keys": header(0, 2**64 - 1) + bytes(1000),
    "an endless key": header(0, 1) + struct.pack("<Q", 2**62) + bytes(1000),
    "an endless array": header(0, 1) + KEY + struct.pack("<IIQ", 9, 0, 2**60) + bytes(1000),
    "an endless array of texts": header(0, 1) + KEY + struct.pack("<IIQ", 9, 8, 2**60) + bytes(1000),
    "arrays without a bottom": header(0, 1) + KEY + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000,
    "an unknown type": header(0, 1) + KEY + struct.pack("<I", 77) + bytes(1000),
    "text that is none": header(0, 1) + struct.pack("<Q", 2) + b"\xff\xfe" + bytes(1000),
    "a key twice": header(0, 2) + (KEY + struct.pack("<IB", 0, 2)) * 2 + bytes(1000),
    "a tensor twice": header(2, 0) + described((1,)) * 2 + bytes(1000),
    "many dimensions": header(1, 0) + described((1,) * 5) + bytes(1000),
    "no dimension": header(1, 0) + described(()) + bytes(1000),
    "an empty tensor": header(1, 0) + described((0, 4)) + bytes(1000),
    "a giant tensor": header(1, 0) + described((2**62, 2**62, 4)) + bytes(1000),
    "a tensor beyond the end": header(1, 0) + described((4,), start=2**63) + bytes(1000),
    "a crooked tensor": header(1, 0) + described((4,), start=3) + bytes(1000),
    "half a block": header(1, 0) + described((16,), kind=8) + bytes(1000),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_headers(tmp_path: Path, name: str) -> None:
    refused(tmp_path, ABSURD[name])


def test_tensors_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """A thousand tensors over the same bytes would take a thousand times the memory."""
    names = [struct.pack("<Q", 4) + f"t{number:03d}".encode() for number in range(1000)]
    entries = b"".join(name + struct.pack("<IQIQ", 1, 1000, 0, 0) for name in names)
    assert "overlap" in refused(tmp_path, header(1000, 0) + entries + bytes(5000))


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    content = llama_gguf(llama(tied=True))
    for size in [*range(0, 1500, 7), *range(1500, len(content) - 64, 401)]:
        refused(tmp_path, content[:size])


def test_the_writer_of_these_tests_writes_what_the_reference_reads(tmp_path: Path) -> None:
    package = pytest.importorskip("gguf", reason="the gguf package, an oracle, is not installed")
    tensors = llama()
    reader = package.GGUFReader(saved(tmp_path, llama_gguf(tensors, {"x": ("[[i32]]", []), "y": ("f64", 0.5)})))
    assert {tensor.name for tensor in reader.tensors} >= {"blk.1.attn_q.weight", "output.weight"}
    assert reader.fields["llama.block_count"].contents() == LLAMA["layers"]
    assert value("[[i32]]", [])[0] == 9
