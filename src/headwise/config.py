"""The recipe of a run: frozen dataclasses, read from TOML, saved as JSON beside the weights.

A TOML table has the name of the field that holds it, so the dataclasses below are the reference of all
keys. Unknown keys and wrong types are errors: a misspelt key that is silently ignored costs a training run.
"""

import copy
import dataclasses
import difflib
import json
import sys
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from headwise.errors import ConfigError

Auto = Annotated[int, "auto"]
"""A number, or the word for 0: to be found when the run begins."""


@dataclass(frozen=True)
class RotaryScaling:
    """How rotary positions reach beyond the length they were trained on; the kinds are those of nn/rotary.py."""

    kind: str = "none"
    factor: float = 1.0
    original_positions: int = 0
    """The length before it was stretched; 0: `max_positions`."""
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    """llama3: wavelengths between original_positions over these are blended."""
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    """yarn: rotations over the original length between which frequencies are blended."""
    attention_factor: float = 0.0
    """yarn, longrope: what the queries and keys are scaled by; 0: by the method's own formula."""
    truncate: bool = True
    """yarn: whether the ends of the blend are whole dimensions."""
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    """longrope: a divisor a frequency, up to the original length and beyond it."""


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. A recipe's `model.preset` lays other values under these (see presets.py)."""

    family: str = "encoder_decoder"
    """encoder_decoder, causal_lm, masked_lm or vision."""
    preset: str = "base"
    width: int = 512
    """d_model of the decoder, and of the encoder unless `encoder_width` says otherwise."""
    encoder_width: int = 0
    """0: `width`."""
    encoder_layers: int = 6
    decoder_layers: int = 6
    """A family with one stack uses the one of its name: masked_lm and vision the encoder's, causal_lm the decoder's."""
    stack: str = "transformer"
    """transformer, or lstm: what came before, to measure against."""
    shared_layers: int = 0
    """Layers that have weights of their own, used in turn for neighbouring layers (ALBERT: 1); 0: all have."""
    heads: int = 8
    key_value_heads: int = 0
    """Fewer than `heads` for grouped attention; 0: as many as `heads`."""
    head_width: int = 0
    """0: width over heads."""
    attention_scale: float = 0.0
    """What scores are multiplied by; 0: one over the square root of the head width."""
    window: int = 0
    """How many positions a causal self-attention looks back, itself included; 0: all."""
    hidden: int = 2048
    """Inner width of the feed-forward."""
    encoder_hidden: int = 0
    """0: `hidden`."""
    encoder_heads: int = 0
    """0: `heads`."""
    activation: str = "relu"
    feed_forward: str = "plain"
    norm: str = "layer"
    norm_order: str = "post"
    """post, pre; parallel: attention and feed-forward read the same input; parallel_shared: through one norm."""
    norm_epsilon: float = 0.0
    """0: the usual one of the kind of norm."""
    positions: str = "sinusoidal"
    max_positions: int = 1024
    """How many positions a learned encoding has; the other kinds have no limit."""
    position_offset: int = 0
    """The first position's place in the table of a learned or sinusoidal encoding."""
    relative_buckets: int = 32
    relative_distance: int = 128
    """Relative positions: how many distances are told apart, and from which one on they are alike."""
    rotary_base: float = 10000.0
    rotary_width: int = 0
    """How much of each head is turned; 0: all of it."""
    rotary_scaling: RotaryScaling = field(default_factory=RotaryScaling)
    embedding_width: int = 0
    """Of a factorised embedding, projected to `width` (ALBERT); 0: `width`, and no projection."""
    embedding_scale: bool = True
    """Whether embeddings are multiplied by the square root of the width."""
    embedding_norm: bool = False
    segments: int = 0
    """Kinds of segment embeddings (BERT: sentence A and B)."""
    task_types: int = 0
    """Kinds of task embeddings (ERNIE)."""
    tie: Literal["all", "decoder", "embeddings", "none"] = "all"
    """all: source, target and output share a matrix; decoder: target and output do; embeddings: source and target
    do; none: three matrices."""
    bias: bool = True
    attention_bias: bool | None = None
    """Not given: as `bias`."""
    attention_output_bias: bool | None = None
    """Of the projection that joins the heads. Not given: as the attention's others."""
    output_bias: bool = False
    output_scale: float = 1.0
    """What hidden states are multiplied by before the output projection."""
    language_head: bool = True
    """Whether the model of one stack predicts tokens; without it, it only represents them."""
    next_sentence: bool = False
    """Whether an encoder also tells if its second segment follows the first (BERT's second task)."""
    pooler: str = ""
    """A layer over the first position, by its activation: "tanh" in BERT; empty: none."""
    classes: int = 0
    """Above 0: a classifier over the pooled sequence; 1 for a regression."""
    pooling: Literal["first", "last", "mean"] = "first"
    image_size: int = 224
    patch_size: int = 16
    patches: str = "linear"
    """How patches become vectors: linear, or convolutional (the hybrid of the ViT paper)."""
    channels: int = 3
    dropout: float = 0.1
    """On the embeddings and on each sublayer's output, where the paper has it."""
    attention_dropout: float = 0.0
    hidden_dropout: float = 0.0
    init: str = "xavier"

    @property
    def position_limit(self) -> int:
        """How long a text can be: a learned encoding ends where its table does, the others never."""
        return self.max_positions if self.positions == "learned" else sys.maxsize


@dataclass(frozen=True)
class TextConfig:
    """The tokenizer, trained with the model."""

    kind: str = "unigram"
    """unigram or bpe (SentencePiece with byte fallback), wordpiece (BERT's), byte_bpe (GPT-2's), words, characters,
    bytes."""
    lossless: bool = False
    """Characters and bytes: keep line ends and runs of spaces, as language models want them (byte_bpe always does)."""
    folder: str = ""
    """Model or tokenizer folder, ours or Hugging Face's, whose tokenizer is used as it is; empty: one is trained."""
    vocabulary: int = 0
    """0: chosen from the size of the corpus."""
    sampling: float = 0.0
    """Subword sampling while training: smoothing alpha of unigram, dropout rate of bpe. 0: off."""
    candidates: int = 16
    """Segmentations that unigram sampling chooses from."""
    sample: int = 300_000
    """Sentences, drawn over the whole corpus, that the tokenizer is trained on."""
    tags: Literal["auto", "always", "never"] = "auto"
    """Whether the source starts with a tag of the target language; auto: if there are several directions."""


@dataclass(frozen=True)
class CorpusConfig:
    """One corpus: `pairs` (TSV, TMX, JSON lines) or a `source` and a `target` text file, line by line;
    for the other tasks `text`, `labelled` or `images`."""

    text: tuple[str, ...] = ()
    """Plain text, for language models; an empty line ends a document, or where the tokenizer keeps text, a file."""
    labelled: tuple[str, ...] = ()
    """TSV, CSV or JSON lines with a column of labels (see the classify table)."""
    images: tuple[str, ...] = ()
    """A folder of images (a subfolder a class), an .npz of arrays, IDX files."""
    pairs: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    source_language: str = ""
    target_language: str = ""
    """Empty: the languages of the data table."""
    weight: float = 1.0
    """How often an epoch sees each pair; 0.5: a fresh half of them each epoch."""
    licence: str = ""
    """Goes into the model card."""


@dataclass(frozen=True)
class CleanConfig:
    """What makes a training pair unusable. 0 or false turns a rule off."""

    max_characters: int = 1000
    max_words: int = 200
    max_ratio: float = 4.0
    """Longer side over shorter side, in characters; sides under 10 characters count as 10."""
    duplicates: bool = True
    copies: bool = True
    """Drop pairs whose two sides are equal."""


@dataclass(frozen=True)
class DataConfig:
    source_language: str = ""
    target_language: str = ""
    train: tuple[CorpusConfig, ...] = ()
    valid: tuple[CorpusConfig, ...] = ()
    test: tuple[CorpusConfig, ...] = ()
    folder: str = ""
    """Relative paths of corpora count from here; empty: from the current folder."""
    held_out: int = 1000
    """Pairs taken out of the training data for validation when no `valid` is given (at most a twentieth)."""
    both_directions: bool = False
    """Train every corpus in its direction and in the opposite one, told apart by language tags."""
    max_tokens: int = 256
    """Pairs with a longer side, in tokens, are left out of training (and counted)."""
    clean: CleanConfig = field(default_factory=CleanConfig)
    cache: str = ""
    """Folder for the encoded corpora; empty: `data` in the output folder."""


@dataclass(frozen=True)
class TrainConfig:
    steps: int = 10_000
    batch_tokens: Auto = 4096
    """Padded tokens of the longer side in one batch; pictures, where those are the data. auto: what fits in the GPU's
    memory, up to the 25,000 tokens of a step, for which `accumulate` is set too; 4096 on a CPU."""
    accumulate: int = 1
    """Batches whose gradients make one step; with batches that are auto, how many times 25,000 tokens do."""
    optimiser: str = "adam"
    """adam, or muon: orthogonal steps for the matrices inside the layers, Adam's for all else."""
    learning_rate: float = 0.0
    """Peak. 0: the paper's, (width * 4000)^-0.5; with `init`, 5e-5."""
    schedule: str = "inverse_sqrt"
    warmup: int = 0
    """Steps. 0: the paper's 4000, or a tenth of all steps if that is less."""
    decay: float = 0.2
    """Share of the steps in which the warm-up-stable-decay schedule falls."""
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    clip: float = 1.0
    """Largest norm of the whole gradient; 0: no limit."""
    label_smoothing: float = 0.1
    agreement: float = 0.0
    """Translation: each batch is seen twice, other units dropped out, and the two predictions are drawn together with
    this weight (R-Drop; 5 in its paper). It costs twice the time, and pays where data is scarce."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 autocast on a GPU that has it, float32 elsewhere. bfloat16 pays on recent server CPUs too."""
    device: str = "auto"
    validate_every: int = 500
    validate_pairs: int = 1000
    """Pairs of the validation set that are used, from its start; 0: all."""
    validate_bleu: bool = True
    select_by: str = "loss"
    """The metric that makes a validation the best one: loss (lowest), or bleu, accuracy ... (highest)."""
    packed: Literal["auto", "always", "never"] = "auto"
    """Translation: batches without padding, always of the same shape, in random order instead of by length. auto: on a
    GPU, where a kernel for short sentences makes that the fastest way."""
    compile: bool = False
    """Compile the model (torch.compile): worth its start-up of up to a minute on a GPU in long runs."""
    parallel: Literal["auto", "replicate", "shard"] = "auto"
    """Where torchrun starts several processes: replicate, each has all weights (DDP); shard, each has a part of every
    weight, its gradient and its optimiser's state (FSDP2), for models that fill a GPU. auto: replicate."""
    checkpoint_every: int = 500
    keep: int = 3
    """Newest checkpoints kept beside the best one."""
    patience: int = 0
    """Validations without a better result (see `select_by`) before training stops; 0: never."""
    average: int = 1
    """The final weights are the mean of this many newest checkpoints; 1: the best one alone."""
    ema: float = 0.0
    """Decay of an exponential moving average of the weights, used for validation and the result; 0: none."""
    max_nonfinite: int = 5
    """Steps in a row with a non-finite loss or gradient before the run stops."""
    log_every: int = 50
    tensorboard: bool = False


@dataclass(frozen=True)
class LanguageConfig:
    """Language-model pre-training."""

    block: int = 256
    """Tokens of a training row: documents are packed one after the other and cut to this."""
    mask: float = 0.15
    """masked_lm: share of the tokens that are to be predicted (80 % masked, 10 % random, 10 % as they are)."""
    whole_words: bool = False
    """masked_lm: mask all pieces of a word together."""
    next_sentence: bool = False
    """masked_lm: also tell whether the second half of a row follows the first (BERT's second task)."""


@dataclass(frozen=True)
class ClassifyConfig:
    """Sentences or pairs of sentences with labels."""

    text: str = ""
    """Column of the sentence: its name in the header, or its number from 0; empty: `sentence` or `text`."""
    pair: str = ""
    """Column of the second sentence, if there is one."""
    label: str = "label"
    header: bool = True
    regression: bool = False
    """The labels are numbers to be predicted."""
    metrics: tuple[str, ...] = ()
    """Of the table in metrics.py; empty: accuracy, or Pearson and Spearman for a regression."""
    batch: int = 0
    """Examples of a batch, whatever their lengths; 0: as many of like lengths as fit train.batch_tokens."""
    language_model: float = 0.0
    """Weight of the language-model loss beside the task's, as in the GPT paper (0.5 there)."""


@dataclass(frozen=True)
class ImageConfig:
    """What is done to training images, on the device that trains. 0 or false turns a step off."""

    crop: int = 4
    """Pixels of padding from which a random crop is taken."""
    flip: bool = True
    random_augment: int = 0
    """Operations a picture is changed by, drawn at random."""
    magnitude: float = 9.0
    """Their strength, from 0 to 30."""
    erase: float = 0.0
    """Probability that a rectangle is erased."""
    mixup: float = 0.0
    cutmix: float = 0.0
    """Alpha of the Beta distribution that mixes two pictures; with both, each picture takes one of them."""


@dataclass(frozen=True)
class TuneConfig:
    """How the weights of `init` are changed."""

    freeze: tuple[str, ...] = ()
    """Beginnings of weight names that stay as they are, such as embedding or encoder.layers.0."""
    layer_decay: float = 1.0
    """Each layer below the top learns at this times the rate of the one above it."""
    lora_rank: int = 0
    """Above 0: the matrices of attention and feed-forward stay, and low-rank changes to them are learned."""
    lora_alpha: float = 16.0
    lora_dropout: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """A whole run."""

    task: str = "translation"
    """translation, causal_lm, masked_lm, classify or images."""
    seed: int = 1
    out: str = ""
    init: str = ""
    """Model folder, ours or Hugging Face's, whose weights, shape and tokenizer the run starts from."""
    model: ModelConfig = field(default_factory=ModelConfig)
    text: TextConfig = field(default_factory=TextConfig)
    data: DataConfig = field(default_factory=DataConfig)
    language: LanguageConfig = field(default_factory=LanguageConfig)
    classify: ClassifyConfig = field(default_factory=ClassifyConfig)
    images: ImageConfig = field(default_factory=ImageConfig)
    tune: TuneConfig = field(default_factory=TuneConfig)
    train: TrainConfig = field(default_factory=TrainConfig)


C = TypeVar("C")


def read_recipe(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such recipe") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    return tables


def parse_setting(setting: str) -> tuple[str, Any]:
    """`table.key=value`; the value is read as TOML, and what is not TOML is a plain string."""
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set wants key=value, got {setting!r}")
    try:
        return name.strip(), tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), text


def override(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with each dotted key of `settings` set."""
    result: dict[str, Any] = copy.deepcopy(dict(tables))
    for name, value in settings.items():
        *parents, key = name.split(".")
        table = result
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise ConfigError(f"cannot set {name}: {parent} is not a table")
        table[key] = value
    return result


def from_tables(kind: type[C], tables: Mapping[str, Any], where: str = "") -> C:
    """Build the dataclass `kind` from plain tables, strictly: every key exists and has the right type."""
    hints = typing.get_type_hints(kind, include_extras=True)
    names = [f.name for f in dataclasses.fields(typing.cast(Any, kind))]
    for key in tables:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"; did you mean {where}{near[0]}?" if near else f"; there are: {', '.join(names)}"
            raise ConfigError(f"unknown key {where}{key}{hint}")
    return kind(**{key: _value(hints[key], value, where + key) for key, value in tables.items()})


def modern_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """A model table as it is written today: before there were kinds of rotary scaling, it was a factor."""
    factor = model.get("rotary_scaling")
    if not isinstance(factor, float):
        return dict(model)
    return {**model, "rotary_scaling": {"kind": "none" if factor == 1 else "linear", "factor": factor}}


def to_tables(config: object) -> dict[str, Any]:
    """The plain tables of a config: what `from_tables` reads back, and what JSON can hold."""
    tables: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(typing.cast(Any, config))))
    return tables


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} must be a table")
        return from_tables(typing.cast(type, hint), value, where + ".")
    origin = typing.get_origin(hint)
    if origin is Annotated:
        kind, word = typing.get_args(hint)
        return 0 if value == word else _value(kind, value, where)
    if origin is Literal:
        if value not in typing.get_args(hint):
            raise ConfigError(f"{where} must be one of {', '.join(typing.get_args(hint))}, not {value!r}")
        return value
    if origin is tuple:
        item = typing.get_args(hint)[0]
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_value(item, each, f"{where}[{i}]") for i, each in enumerate(items))
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, types.UnionType):
        return None if value is None else _value(typing.get_args(hint)[0], value, where)
    if type(value) is not hint:
        raise ConfigError(f"{where} must be {_NAMES.get(hint, str(hint))}, not {value!r}")
    return value


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
