"""tokenizer.json beside settings that differ from it, and with content that means harm."""

import json
from pathlib import Path
from typing import Any

import pytest

from headwise.errors import CheckpointError
from tests.text.published.comparing import STRINGS, check, load, reference

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bert": [
        {"do_lower_case": False},
        {"strip_accents": False},
        {"strip_accents": True, "do_lower_case": False},
        {"tokenize_chinese_chars": False},
        {"cls_token": "[PAD]"},
        {"cls_token": "[NEW]"},
        {"sep_token": "[CLS]"},
        {"unk_token": "[MASK]"},
    ],
    "gpt2": [{"add_prefix_space": True}],
    "gpt_neox": [{"add_prefix_space": True}],
    "roberta": [{"add_prefix_space": True}, {"cls_token": "<pad>"}, {"sep_token": "<mask>"}],
    "bart": [{"add_prefix_space": True, "cls_token": "<pad>"}],
    "gpt": [{}, {"unk_token": "the</w>"}],
    "albert": [{"do_lower_case": False}, {"keep_accents": True}, {"add_prefix_space": False}],
    "xlm_roberta": [{"add_prefix_space": False}],
    "camembert": [{"add_prefix_space": False}],
    "llama": [{"add_prefix_space": False}],
}


@pytest.mark.parametrize(("family", "settings"), [(name, each) for name, all_ in SETTINGS.items() for each in all_])
def test_tokenizer_config_wins_over_tokenizer_json(
    folders: dict[str, Path], family: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    reference(folders[family]).save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    (tmp_path / "config.json").write_bytes((folders[family] / "config.json").read_bytes())
    check(load(tmp_path), reference(tmp_path), STRINGS[::3])


def replacing(times: int) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * times}


HOSTILE: dict[str, dict[str, Any]] = {
    "growing normalisers": {"normalizer": {"type": "Sequence", "normalizers": [replacing(1000)] * 3}},
    "an empty pattern": {"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "b" * 100}},
    "a growing decoder": {"decoder": replacing(10**6)},
    "a backtracking pattern": {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}
    },
    "no pattern": {"normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": "b"}},
    "merges of unknown pieces": {"model": {"type": "BPE", "vocab": {"a": 0, "[CLS]": 1}, "merges": [["a", "zz"]]}},
    "merges to unknown pieces": {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}},
    "words without an unknown one": {"model": {"type": "WordLevel", "vocab": {"[CLS]": 1}, "unk_token": "no"}},
    "no words": {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"}, "added_tokens": []},
    "no pieces": {"model": {"type": "Unigram", "vocab": [], "unk_id": 0}, "added_tokens": []},
    "pieces without an unknown one": {"model": {"type": "Unigram", "vocab": [["b", -1.0]]}, "added_tokens": []},
    "an id beyond all bounds": {
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 10**9}, "unk_token": "[UNK]"}
    },
    "a frame of unknown tokens": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "no", "type_id": 0}}],
            "pair": [],
            "special_tokens": {},
        }
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_tokenizer_is_refused_in_one_line(folders: dict[str, Path], name: str, tmp_path: Path) -> None:
    reference(folders["bert"]).save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | HOSTILE[name]))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError) as caught:
        load(tmp_path).encode("a" * 3000)
    assert "\n" not in str(caught.value)
