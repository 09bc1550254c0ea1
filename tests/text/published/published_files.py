"""Small tokenizers in the forms that models are published in, made here: one folder a family."""

import io
import json
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from tests.text.corpus import CORPUS

_TEXT = [*CORPUS, "don't stop 1 2 3 4 5 6 7 8 9 0", "café naïve ABC xyz , . ! ? ; : ( ) ' \" -"]


def sentencepiece_model(kind: str, size: int = 400, **options: Any) -> bytes:
    model = io.BytesIO()
    defaults: dict[str, Any] = {"hard_vocab_limit": False, "minloglevel": 2, "num_threads": 1}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_TEXT), model_writer=model, model_type=kind, vocab_size=size, **(defaults | options)
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def write(folder: Path, files: dict[str, bytes | object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
        (folder / name).write_bytes(data)
    return folder


def bert(folder: Path, **settings: Any) -> Path:
    learner = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.normalizer = normalizers.BertNormalizer(lowercase=settings.get("do_lower_case", True))
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    learner.train_from_iterator(
        _TEXT, trainers.WordPieceTrainer(vocab_size=300, special_tokens=specials, show_progress=False)
    )
    pieces = sorted(learner.get_vocab(), key=learner.get_vocab().__getitem__)
    lines = "".join(f"{piece}\n" for piece in pieces).encode()
    config = {"model_type": "bert", "pad_token_id": 0}
    return write(
        folder,
        {
            "vocab.txt": lines,
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", **settings},
        },
    )


def _byte_level(specials: list[str]) -> tuple[dict[str, int], bytes]:
    learner = tokenizers.Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator(_TEXT, trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return learner.get_vocab(), "\n".join(["#version: 0.2", *(" ".join(merge) for merge in merges), ""]).encode()


def gpt2(folder: Path) -> Path:
    ids, merges = _byte_level(["<|endoftext|>"])
    config = {"model_type": "gpt2", "bos_token_id": 0, "eos_token_id": 0}
    return write(
        folder,
        {
            "vocab.json": ids,
            "merges.txt": merges,
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"},
        },
    )


def gpt_neox(folder: Path) -> Path:
    gpt2(folder)
    settings = {"tokenizer_class": "GPTNeoXTokenizer"}
    return write(folder, {"config.json": {"model_type": "gpt_neox"}, "tokenizer_config.json": settings})


def roberta(folder: Path) -> Path:
    ids, merges = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    return write(
        folder,
        {
            "vocab.json": ids,
            "merges.txt": merges,
            "config.json": {"model_type": "roberta"},
            "tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer"},
        },
    )


def bart(folder: Path) -> Path:
    roberta(folder)
    config = {
        "model_type": "bart",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 2,
        "forced_bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 1,
    }
    return write(folder, {"config.json": config, "tokenizer_config.json": {"tokenizer_class": "BartTokenizer"}})


def gpt(folder: Path) -> Path:
    learner = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    learner.normalizer = normalizers.BertNormalizer(lowercase=True)
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    learner.train_from_iterator(_TEXT, trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    lines = "\n".join(["#version: 0.2", *(" ".join(merge) for merge in merges), ""]).encode()
    return write(
        folder,
        {
            "vocab.json": learner.get_vocab(),
            "merges.txt": lines,
            "config.json": {"model_type": "openai-gpt"},
            "tokenizer_config.json": {"tokenizer_class": "OpenAIGPTTokenizer"},
        },
    )


def t5(folder: Path) -> Path:
    model = sentencepiece_model("unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    prefix = {"translation_en_to_de": {"prefix": "translate English to German: "}}
    config = {
        "model_type": "t5",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "task_specific_params": prefix,
    }
    return write(
        folder,
        {"spiece.model": model, "config.json": config, "tokenizer_config.json": {"tokenizer_class": "T5Tokenizer"}},
    )


def albert(folder: Path) -> Path:
    model = sentencepiece_model(
        "unigram",
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]"],
        user_defined_symbols=["[MASK]"],
    )
    return write(
        folder,
        {
            "spiece.model": model,
            "config.json": {"model_type": "albert"},
            "tokenizer_config.json": {"tokenizer_class": "AlbertTokenizer"},
        },
    )


def xlm_roberta(folder: Path) -> Path:
    return write(
        folder,
        {
            "sentencepiece.bpe.model": sentencepiece_model("unigram"),
            "config.json": {"model_type": "xlm-roberta"},
            "tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"},
        },
    )


def mbart(folder: Path) -> Path:
    config = {
        "model_type": "mbart",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 2,
        "eos_token_id": 2,
        "pad_token_id": 1,
    }
    return write(
        folder,
        {
            "sentencepiece.bpe.model": sentencepiece_model("unigram"),
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "MBartTokenizer"},
        },
    )


def mbart50(folder: Path) -> Path:
    mbart(folder)
    return write(folder, {"tokenizer_config.json": {"tokenizer_class": "MBart50Tokenizer"}})


def nllb(folder: Path) -> Path:
    model = sentencepiece_model("bpe")
    codes = ["deu_Latn", "eng_Latn", "fra_Latn"]
    first = len(pieces_of(model)) + 1
    rows = {str(first + i): {"content": name, "special": True} for i, name in enumerate([*codes, "<mask>"])}
    config = {
        "model_type": "m2m_100",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 2,
        "eos_token_id": 2,
        "pad_token_id": 1,
    }
    settings = {
        "tokenizer_class": "NllbTokenizer",
        "additional_special_tokens": codes,
        "added_tokens_decoder": rows,
    }
    return write(folder, {"sentencepiece.bpe.model": model, "config.json": config, "tokenizer_config.json": settings})


def llama(folder: Path) -> Path:
    model = sentencepiece_model(
        "bpe", 600, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False
    )
    return write(
        folder,
        {
            "tokenizer.model": model,
            "config.json": {"model_type": "llama"},
            "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True},
        },
    )


def marian(folder: Path, codes: tuple[str, ...] = ()) -> Path:
    source, target = sentencepiece_model("unigram", 350), sentencepiece_model("bpe", 300)
    pieces = dict.fromkeys(
        piece for piece in [*pieces_of(source)[:-20], *pieces_of(target)] if piece not in ("<s>", "</s>", "<unk>")
    )
    ids = {piece: i for i, piece in enumerate(["</s>", "<unk>", *codes, *pieces, "<pad>"])}
    config = {
        "model_type": "marian",
        "is_encoder_decoder": True,
        "decoder_start_token_id": len(ids) - 1,
        "pad_token_id": len(ids) - 1,
        "eos_token_id": 0,
        "bad_words_ids": [[len(ids) - 1]],
    }
    return write(
        folder,
        {
            "source.spm": source,
            "target.spm": target,
            "vocab.json": ids,
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "MarianTokenizer"},
        },
    )


def marian_many(folder: Path) -> Path:
    return marian(folder, (">>fra<<", ">>deu<<"))


def m2m100(folder: Path) -> Path:
    model = sentencepiece_model("bpe")
    pieces = [piece for piece in pieces_of(model) if piece not in ("<s>", "</s>", "<unk>")]
    ids = {piece: i for i, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    config = {
        "model_type": "m2m_100",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 2,
        "pad_token_id": 1,
        "eos_token_id": 2,
    }
    return write(
        folder,
        {
            "sentencepiece.bpe.model": model,
            "vocab.json": ids,
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "M2M100Tokenizer"},
        },
    )


def pegasus(folder: Path) -> Path:
    model = sentencepiece_model("unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    config = {
        "model_type": "pegasus",
        "is_encoder_decoder": True,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }
    return write(
        folder,
        {
            "spiece.model": model,
            "config.json": config,
            "tokenizer_config.json": {"tokenizer_class": "PegasusTokenizer"},
        },
    )


def camembert(folder: Path) -> Path:
    return write(
        folder,
        {
            "sentencepiece.bpe.model": sentencepiece_model("unigram"),
            "config.json": {"model_type": "camembert"},
            "tokenizer_config.json": {"tokenizer_class": "CamembertTokenizer"},
        },
    )


FAMILIES = {
    each.__name__: each
    for each in (
        bert,
        gpt2,
        roberta,
        bart,
        gpt,
        t5,
        albert,
        xlm_roberta,
        mbart,
        mbart50,
        nllb,
        llama,
        marian,
        marian_many,
        m2m100,
        pegasus,
        camembert,
        gpt_neox,
    )
}
