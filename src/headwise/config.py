"""The dataclasses of a recipe: one per TOML table, with its keys, their defaults and their ranges.

A TOML table has the name of the field that holds it, so these classes are the reference of all keys. Reading,
overriding and saving them is in recipe.py. None in a field means that its value is not given.
"""

import dataclasses
import sys
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from headwise.errors import ConfigError
from headwise.ranges import Between, Checked, Count, Natural, NotNegative, Positive, Share, ShareBelowOne

Auto = Annotated[int, "auto", Between(0, 2**31)]
"""A number, or the word for 0: to be chosen when the run begins."""

Width = Annotated[int, Between(1, 2**20)]
Layers = Annotated[int, Between(1, 1024)]
"""Upper bounds on sizes: far above any model there is, and low enough that a damaged config cannot make building
the model take minutes or overflow."""


@dataclass(frozen=True)
class AttentionConfig(Checked):
    """Arguments of `nn.attention.MultiHeadAttention`, and the pattern of causal self-attention."""

    where: ClassVar[str] = "model.attention."
    heads: Annotated[int, Between(1, 2**16)] = 8
    key_value_heads: Annotated[int, Between(1, 2**16)] | None = None
    """Fewer than `heads` for grouped-query attention. None: as many as `heads`."""
    head_width: Width | None = None
    """None: the model's width divided by `heads`."""
    scale: Positive | None = None
    """Factor on the scores. None: one over the square root of the head width."""
    window: Count | None = None
    """How many positions causal self-attention looks back, the current one included. None: all."""
    bias: bool | None = None
    """Biases of the query, key and value projections. None: as `model.bias`."""
    output_bias: bool | None = None
    """Bias of the output projection. None: as the other three."""
    dropout: ShareBelowOne = 0.0
    """Dropout on the attention weights."""


@dataclass(frozen=True)
class FeedForwardConfig(Checked):
    """Arguments of the classes in `nn.feed_forward`."""

    where: ClassVar[str] = "model.feed_forward."
    kind: str = "plain"
    """plain, or gated."""
    hidden: Annotated[int, Between(1, 2**24)] = 2048
    activation: str = "relu"
    dropout: ShareBelowOne = 0.0
    """Dropout on the hidden layer."""


@dataclass(frozen=True)
class NormConfig(Checked):
    """The normalisation layers and their places."""

    where: ClassVar[str] = "model.norm."
    kind: str = "layer"
    """layer, or rms."""
    order: str = "post"
    """post, pre; parallel: attention and feed-forward read the same input; parallel_shared: through one norm."""
    epsilon: Positive | None = None
    """None: 1e-5 for layer, 1e-6 for rms."""


@dataclass(frozen=True)
class RotaryScaling(Checked):
    """How rotary positions are scaled for texts longer than those of training; the kinds are those of nn/rotary.py."""

    where: ClassVar[str] = "model.positions.rotary.scaling."
    kind: str = "none"
    factor: Positive = 1.0
    original_positions: Annotated[int, Between(1, 2**24)] | None = None
    """The length of the training texts. None: `model.positions.max_positions`."""
    low_frequency: Positive = 1.0
    high_frequency: Positive = 4.0
    """llama3: wavelengths between original_positions over these are blended."""
    beta_fast: Positive = 32.0
    beta_slow: Positive = 1.0
    """yarn: rotations over the original length between which frequencies are blended."""
    attention_factor: Positive | None = None
    """yarn, longrope: factor on queries and keys. None: by the method's own formula."""
    truncate: bool = True
    """yarn: whether the ends of the blend are whole dimensions."""
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    """longrope: one divisor per frequency, up to the original length and beyond it."""


@dataclass(frozen=True)
class RotaryConfig(Checked):
    """Arguments of `nn.rotary.Frequencies`."""

    where: ClassVar[str] = "model.positions.rotary."
    base: Positive = 10000.0
    width: Width | None = None
    """How many values of each head are rotated. None: all."""
    scaling: RotaryScaling = field(default_factory=RotaryScaling)


@dataclass(frozen=True)
class PositionsConfig(Checked):
    """The position encoding: arguments of the classes in `nn.positions`."""

    where: ClassVar[str] = "model.positions."
    kind: str = "sinusoidal"
    """sinusoidal, sinusoidal_halves, sinusoidal_fairseq, learned, rotary, relative or none."""
    max_positions: Annotated[int, Between(1, 2**24)] = 1024
    """How many positions a learned encoding has; the other kinds have no limit."""
    offset: Annotated[int, Between(0, 2**20)] = 0
    """Row of the first position in the table of a learned or sinusoidal encoding."""
    buckets: Annotated[int, Between(1, 2**20)] = 32
    """relative: how many distances are distinguished."""
    distance: Natural = 128
    """relative: from this distance on all share a bucket."""
    rotary: RotaryConfig = field(default_factory=RotaryConfig)


@dataclass(frozen=True)
class EmbeddingConfig(Checked):
    """Token, segment and task embeddings."""

    where: ClassVar[str] = "model.embedding."
    width: Width | None = None
    """Width of a factorised embedding, projected to `model.width` (ALBERT). None: no projection."""
    scale: bool = True
    """Whether embeddings are multiplied by the square root of their width."""
    norm: bool = False
    """Whether the embeddings are normalised."""
    segments: Annotated[int, Between(0, 2**20)] = 0
    """Number of segment embeddings (2 in BERT: sentence A and B)."""
    task_types: Annotated[int, Between(0, 2**20)] = 0
    """Number of task embeddings (ERNIE)."""


@dataclass(frozen=True)
class OutputConfig(Checked):
    """The output projection and BERT's next-sentence head."""

    where: ClassVar[str] = "model.output."
    bias: bool = False
    scale: Positive = 1.0
    """Factor on the hidden states before the projection."""
    language_head: bool = True
    """Whether a model of one stack predicts tokens; without, it only represents them."""
    next_sentence: bool = False
    """Whether an encoder also predicts if its second segment follows the first (BERT's second task)."""


@dataclass(frozen=True)
class PoolingConfig:
    """From one vector per token to one per sequence: see nn/pooling.py."""

    kind: Literal["first", "last", "mean"] = "first"
    pooler: str | None = None
    """Activation of a dense layer over the first position: "tanh" in BERT. None: no such layer."""


@dataclass(frozen=True)
class PatchConfig(Checked):
    """Arguments of the patch embeddings in `nn.embedding`, and the size of the images."""

    where: ClassVar[str] = "model.patches."
    kind: str = "linear"
    """linear, or convolutional (the hybrid of the ViT paper)."""
    image_size: Annotated[int, Between(1, 2**16)] = 224
    patch_size: Annotated[int, Between(1, 2**16)] = 16
    channels: Annotated[int, Between(1, 1024)] = 3

    def check(self) -> None:
        if self.image_size % self.patch_size:
            raise ConfigError(
                f"images of {self.image_size} pixels cannot be cut into patches of {self.patch_size}: "
                "model.patches.image_size must be a multiple of model.patches.patch_size"
            )
        if self.kind == "convolutional" and self.patch_size not in (2, 4, 8, 16, 32):
            raise ConfigError(
                "convolutional patches halve the image several times: model.patches.patch_size must be 2, 4, 8, 16 "
                f"or 32, not {self.patch_size}"
            )


@dataclass(frozen=True)
class EncoderConfig(Checked):
    """Where the encoder of an encoder-decoder differs from its decoder. None: as the decoder."""

    where: ClassVar[str] = "model.encoder."
    layers: Layers | None = None
    width: Width | None = None
    heads: Annotated[int, Between(1, 2**16)] | None = None
    hidden: Annotated[int, Between(1, 2**24)] | None = None


@dataclass(frozen=True)
class ModelConfig(Checked):
    """The shape of a model, one table per part. `model.preset` in a recipe sets other defaults (see presets.py)."""

    where: ClassVar[str] = "model."
    family: str = "encoder_decoder"
    """encoder_decoder, causal_lm, masked_lm or vision."""
    preset: str | None = "base"
    width: Width = 512
    """d_model."""
    layers: Layers = 6
    """Layers of the stack; in an encoder-decoder, of the decoder, and of the encoder unless `encoder.layers` is set."""
    shared_layers: Layers | None = None
    """Layers with weights of their own, each used for several neighbouring layers (ALBERT: 1). None: all layers."""
    stack: str = "transformer"
    """transformer, or lstm: the architecture before it, for comparison."""
    bias: bool = True
    """Biases of the feed-forward, and of the attention unless `attention.bias` is set."""
    dropout: ShareBelowOne = 0.1
    """Dropout on the embeddings and on the output of each sublayer, as in the paper."""
    init: str = "xavier"
    tie: Literal["all", "decoder", "embeddings", "none"] = "all"
    """all: source, target and output share a matrix; decoder: target and output do; embeddings: source and target
    do; none: three matrices."""
    classes: Annotated[int, Between(1, 2**24)] | None = None
    """Outputs of a classifier over the pooled sequence; 1 for a regression. None: no classifier."""
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    feed_forward: FeedForwardConfig = field(default_factory=FeedForwardConfig)
    norm: NormConfig = field(default_factory=NormConfig)
    positions: PositionsConfig = field(default_factory=PositionsConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    pooling: PoolingConfig = field(default_factory=PoolingConfig)
    encoder: EncoderConfig | None = None
    """None: the encoder has the shape of the decoder, or there is only one stack."""
    patches: PatchConfig | None = None
    """How images are read. None: the model reads text."""

    @property
    def head_width(self) -> int:
        return self.attention.head_width or self.width // self.attention.heads

    @property
    def attention_bias(self) -> bool:
        """Whether the query, key and value projections have biases."""
        return self.bias if self.attention.bias is None else self.attention.bias

    @property
    def encoder_side(self) -> "ModelConfig":
        """The config of the encoder: this one, with what `encoder` changes."""
        if self.encoder is None:
            return self
        own = self.encoder
        return dataclasses.replace(
            self,
            layers=own.layers or self.layers,
            width=own.width or self.width,
            attention=dataclasses.replace(self.attention, heads=own.heads or self.attention.heads),
            feed_forward=dataclasses.replace(self.feed_forward, hidden=own.hidden or self.feed_forward.hidden),
            encoder=None,
        )

    @property
    def image_patches(self) -> PatchConfig:
        """The patches of a model that reads images."""
        if self.patches is None:
            raise ConfigError(f"a model of the family {self.family} without model.patches does not read images")
        return self.patches

    @property
    def position_limit(self) -> int:
        """The length of the longest text: a learned encoding ends with its table, the others have no limit."""
        return self.positions.max_positions if self.positions.kind == "learned" else sys.maxsize

    def check(self) -> None:
        """Refuse tables that do not fit together."""
        if self.family in ("causal_lm", "masked_lm", "vision") and self.encoder is not None:
            raise ConfigError(f"a model of the family {self.family} has one stack: set model.layers, not model.encoder")
        if self.family in ("encoder_decoder", "causal_lm", "masked_lm") and self.patches is not None:
            raise ConfigError(f"a model of the family {self.family} reads no images: remove model.patches")
        for side in (self, self.encoder_side):
            side._check_heads()
            if self.shared_layers is not None and self.shared_layers > side.layers:
                raise ConfigError("model.shared_layers cannot be more than there are layers")
        self._check_buckets()
        self._check_ties()
        if self.patches is not None:
            self.patches.check()

    def _check_heads(self) -> None:
        heads, groups = self.attention.heads, self.attention.key_value_heads
        if self.width % heads and not self.attention.head_width:
            raise ConfigError(f"model.width {self.width} cannot be split into {heads} heads")
        if groups and heads % groups:
            raise ConfigError(f"model.attention.heads {heads} is not a multiple of {groups} key/value heads")
        if self.positions.kind == "rotary":
            rotated = self.positions.rotary.width or self.head_width
            if rotated % 2:
                raise ConfigError(f"rotary positions need an even head width, not {rotated}")
            if rotated > self.head_width:
                raise ConfigError(f"model.positions.rotary.width {rotated} is more than a head has ({self.head_width})")

    def _check_buckets(self) -> None:
        buckets, distance = self.positions.buckets, self.positions.distance
        if self.positions.kind == "relative" and (buckets < 4 or distance * 2 <= buckets):
            raise ConfigError(
                "relative positions need at least 4 buckets, half of them fewer than model.positions.distance: "
                f"not {buckets} for a distance of {distance}"
            )

    def _check_ties(self) -> None:
        if self.tie == "embeddings" and self.family != "encoder_decoder":
            raise ConfigError('a model of one stack has one embedding: model.tie must be "all" or "none"')
        if self.tie in ("all", "embeddings") and self.encoder_side.width != self.width:
            raise ConfigError('an encoder of another width cannot share its embedding: set model.tie = "decoder"')


@dataclass(frozen=True)
class TextConfig(Checked):
    """The tokenizer, trained with the model."""

    where: ClassVar[str] = "text."
    kind: str = "unigram"
    """unigram or bpe (SentencePiece with byte fallback), wordpiece (BERT's), byte_bpe (GPT-2's), words, characters,
    bytes."""
    lossless: bool = False
    """Characters and bytes: keep line ends and runs of spaces, for language models (byte_bpe always does)."""
    split_digits: bool = False
    """Unigram and bpe: each digit, of any script, is a token of its own, so that numbers are copied digit by digit."""
    folder: str = ""
    """Model or tokenizer folder, ours or Hugging Face's, whose tokenizer is used; empty: one is trained."""
    vocabulary: Annotated[int, Between(0, 2**24)] = 0
    """Tokens of the vocabulary. 0: chosen from the size of the corpus."""
    sampling: NotNegative = 0.0
    """Subword sampling while training: smoothing alpha of unigram, dropout rate of bpe. 0: off."""
    candidates: Count = 16
    """Segmentations that unigram sampling chooses from."""
    sample: Count = 300_000
    """Sentences, drawn from the whole corpus, that the tokenizer is trained on."""
    tags: Literal["auto", "always", "never"] = "auto"
    """Whether the source starts with a tag of the target language; auto: if there are several directions."""


@dataclass(frozen=True)
class CorpusConfig(Checked):
    """One corpus: `pairs` (TSV, CSV, TMX, JSON lines) or a `source` and a `target` text file, line by line;
    for the other tasks `text`, `labelled` or `images`."""

    where: ClassVar[str] = "data.train."
    text: tuple[str, ...] = ()
    """Plain text, for language models; an empty line ends a document, or with a lossless tokenizer, a file does."""
    labelled: tuple[str, ...] = ()
    """TSV, CSV or JSON lines with a column of labels (see the classify table)."""
    images: tuple[str, ...] = ()
    """A folder of images (one subfolder per class), an .npz of arrays, or IDX files."""
    pairs: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    source_language: str = ""
    target_language: str = ""
    """Empty: the languages of the data table."""
    weight: NotNegative = 1.0
    """How often an epoch uses each pair; 0.5: another half of them each epoch."""
    reverse_weight: NotNegative | None = None
    """The weight of the opposite direction, with `both_directions`. None: the same; 0: only the forward one."""
    licence: str = ""
    """Named in the model card."""


@dataclass(frozen=True)
class CleanConfig(Checked):
    """Rules that drop unusable training pairs. 0 or false turns a rule off."""

    where: ClassVar[str] = "data.clean."
    max_characters: Natural = 1000
    max_words: Natural = 200
    max_ratio: NotNegative = 4.0
    """Longer side over shorter side, in characters; sides under 10 characters count as 10."""
    duplicates: bool = True
    copies: bool = True
    """Drop pairs whose two sides are equal."""


@dataclass(frozen=True)
class NoiseConfig(Checked):
    """Noise in training pairs: for each kind the share of pairs that have it, drawn anew in each epoch.

    Kinds are independent of each other: a pair may have several. None: the share of the preset.
    """

    where: ClassVar[str] = "data.noise."
    preset: Literal["none", "usual"] = "none"
    """none: no noise but what other keys ask for; usual: the shares in `USUAL_NOISE`."""
    same: Share | None = None
    """The target as the source too: text that is in the target language already."""
    lower: Share | None = None
    """A source in lower case."""
    upper: Share | None = None
    """Both sides in capitals."""
    title: Share | None = None
    """Both sides With Capital Initials."""
    unpunctuated: Share | None = None
    """Both sides without final punctuation."""
    typos: Share | None = None
    """A source with letters swapped, dropped, doubled or replaced by a neighbouring key, or without accents."""
    hyphenated: Share | None = None
    """A source with a word divided, as at the end of a hard-wrapped line."""
    tags: Share | None = None
    """Both sides with the same inline tags or placeholder."""
    copied: Share | None = None
    """Both sides with the same URL, e-mail address, number or file name."""
    emoji: Share | None = None
    """Both sides with the same emoji."""
    bullets: Share | None = None
    """Both sides with the same list mark before them."""
    joined: Share | None = None
    """Two to four consecutive pairs as one."""
    words: Share | None = None
    """A single word and its translation, learnt from the corpus, in place of the pair."""
    terms: Share | None = None
    """A source in which words are annotated with a wanted translation: a glossary then uses annotations, too."""

    @property
    def shares(self) -> dict[str, float]:
        """The share of each kind that is above 0."""
        usual = USUAL_NOISE if self.preset == "usual" else {}
        own = {name: getattr(self, name) for name in USUAL_NOISE}
        shares = {name: usual.get(name, 0.0) if share is None else share for name, share in own.items()}
        return {name: share for name, share in shares.items() if share > 0}


USUAL_NOISE = {
    "same": 0.01,
    "lower": 0.03,
    "upper": 0.07,
    "title": 0.05,
    "unpunctuated": 0.2,
    "typos": 0.05,
    "hyphenated": 0.01,
    "tags": 0.03,
    "copied": 0.03,
    "emoji": 0.02,
    "bullets": 0.01,
    "joined": 0.05,
    "words": 0.02,
    "terms": 0.0,
}
"""The shares of `data.noise.preset = "usual"`."""


@dataclass(frozen=True)
class DataConfig(Checked):
    """The corpora, and how they are read."""

    where: ClassVar[str] = "data."
    source_language: str = ""
    target_language: str = ""
    train: tuple[CorpusConfig, ...] = ()
    valid: tuple[CorpusConfig, ...] = ()
    test: tuple[CorpusConfig, ...] = ()
    folder: str = ""
    """Relative paths of corpora count from here; empty: from the current folder."""
    held_out: Natural = 1000
    """Pairs taken out of the training data for validation when no `valid` is given (at most a twentieth)."""
    both_directions: bool = False
    """Train every corpus in its direction and in the opposite one, distinguished by language tags."""
    max_tokens: Count = 256
    """Pairs with a longer side, in tokens, are left out of training (and counted)."""
    clean: CleanConfig = field(default_factory=CleanConfig)
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    """Noise in training pairs, so that the model copes with it; translation only."""
    cache: str = ""
    """Folder for the encoded corpora; empty: `data` in the output folder."""


@dataclass(frozen=True)
class TrainConfig(Checked):
    """The training loop: batches, optimiser, schedule, validation and checkpoints."""

    where: ClassVar[str] = "train."
    steps: Count = 10_000
    batch_tokens: Auto = 4096
    """Tokens of the longer side in one batch, padding included; for the task images, images. auto: as many as fit in
    the GPU's memory, up to 25,000 per step, for which `accumulate` is set too; 4096 on a CPU."""
    accumulate: Count = 1
    """Batches whose gradients are added up for one step; with `batch_tokens = "auto"`, in units of 25,000 tokens."""
    optimiser: str = "adam"
    """adam, or muon: orthogonalised updates for the matrices inside the layers, Adam for the rest."""
    learning_rate: NotNegative = 0.0
    """The highest rate of the schedule, reached at the end of the warm-up. 0: (width * 4000)^-0.5 whatever the warm-up
    is, which is the paper's peak for its 4,000 steps; with `init`, 5e-5."""
    schedule: str = "inverse_sqrt"
    """inverse_sqrt: learning_rate * min(step / warmup, sqrt(warmup / step)); cosine; warmup_stable_decay."""
    warmup: Natural = 0
    """Steps of linear warm-up. 0: 4,000, or a tenth of all steps if that is less."""
    decay: NotNegative = 0.2
    """warmup_stable_decay: the rate falls to 0 in this last share of the steps."""
    beta1: ShareBelowOne = 0.9
    beta2: ShareBelowOne = 0.98
    epsilon: NotNegative = 1e-9
    weight_decay: NotNegative = 0.0
    clip: NotNegative = 1.0
    """Gradients are clipped to this global norm; 0: no clipping."""
    label_smoothing: ShareBelowOne = 0.1
    agreement: NotNegative = 0.0
    """Translation: weight of R-Drop's loss (5 in its paper). Each batch passes twice with different dropout, and the
    two predictions are trained to agree. It takes twice the time, and helps where data is scarce."""
    guided_alignment: NotNegative = 0.0
    """Translation: weight of the loss that trains one head of the decoder's cross-attention to align words, those of
    the target with their translations in the source (0.1 in docs/alignment.md). Translation with alignments then uses
    that head. 0: off."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 autocast on a GPU that has it, float32 elsewhere. bfloat16 is faster on recent server CPUs too."""
    device: str = "auto"
    validate_every: Count = 500
    validate_pairs: Natural = 1000
    """How many pairs of the validation set are used, from its start; 0: all."""
    validate_bleu: bool = True
    select_by: str = "loss"
    """The metric that makes a validation the best one: loss (lowest), or bleu, accuracy ... (highest)."""
    packed: Literal["auto", "always", "never"] = "auto"
    """Translation: batches without padding, always of the same shape, in random order instead of by length. auto: on a
    GPU, where a kernel for short sentences makes that the fastest way."""
    compile: bool = False
    """Compile the model with torch.compile: up to a minute of start-up, worth it for long runs on a GPU."""
    parallel: Literal["auto", "replicate", "shard"] = "auto"
    """With several processes (torchrun): replicate, each has all weights (DDP); shard, each has a part of every weight,
    its gradient and its optimiser state (FSDP2), for models that fill a GPU. auto: replicate."""
    checkpoint_every: Count = 500
    keep: Count = 3
    """How many of the newest checkpoints are kept, besides the best one."""
    patience: Natural = 0
    """Validations without a better result (see `select_by`) before training stops; 0: never."""
    average: Count = 1
    """The final weights are the mean of this many of the newest checkpoints; 1: the best checkpoint."""
    ema: ShareBelowOne = 0.0
    """Decay of an exponential moving average of the weights, which validation and the result use; 0: none."""
    max_nonfinite: Count = 5
    """Steps in a row with a non-finite loss or gradient before the run stops."""
    log_every: Count = 50
    tensorboard: bool = False


@dataclass(frozen=True)
class LanguageConfig(Checked):
    """Language-model pre-training."""

    where: ClassVar[str] = "language."
    block: Annotated[int, Between(2, 2**31)] = 256
    """Tokens of a training row: documents are joined and cut into rows of this length."""
    mask: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    """masked_lm: share of the tokens to predict (of these, 80 % are masked, 10 % random, 10 % unchanged)."""
    whole_words: bool = False
    """masked_lm: mask all pieces of a word together."""
    next_sentence: bool = False
    """masked_lm: also predict whether the second half of a row follows the first (BERT's second task)."""


@dataclass(frozen=True)
class ClassifyConfig(Checked):
    """Classification of sentences or pairs of sentences."""

    where: ClassVar[str] = "classify."
    text: str = ""
    """Column of the sentence: its name in the header, or its number from 0; empty: `sentence` or `text`."""
    pair: str = ""
    """Column of the second sentence, if there is one."""
    label: str = "label"
    header: bool = True
    regression: bool = False
    """The labels are numbers to be predicted."""
    metrics: tuple[str, ...] = ()
    """Names of metrics (see metrics.py); empty: accuracy, or Pearson and Spearman for a regression."""
    batch: Natural = 0
    """Examples per batch, whatever their lengths; 0: as many of similar length as fit train.batch_tokens."""
    language_model: NotNegative = 0.0
    """Weight of the language-model loss that is added to the task's, as in the GPT paper (0.5 there)."""


@dataclass(frozen=True)
class ImageConfig(Checked):
    """Augmentation of training images, on the device that trains. 0 or false turns a step off."""

    where: ClassVar[str] = "images."
    crop: Natural = 4
    """Pixels of padding from which a random crop is taken."""
    flip: bool = True
    random_augment: Natural = 0
    """How many randomly drawn operations change each image."""
    magnitude: Annotated[float, Between(0, 30)] = 9.0
    """Strength of these operations, from 0 to 30."""
    erase: Share = 0.0
    """Probability that a rectangle is erased."""
    mixup: NotNegative = 0.0
    cutmix: NotNegative = 0.0
    """Alpha of the Beta distribution that mixes two images; if both are set, each image gets one of the two."""


@dataclass(frozen=True)
class TuneConfig(Checked):
    """How fine-tuning changes the weights of `init`."""

    where: ClassVar[str] = "tune."
    freeze: tuple[str, ...] = ()
    """Weights whose names begin with one of these are not trained, such as embedding or encoder.layers.0."""
    layer_decay: Annotated[float, Between(0, 1, open_low=True)] = 1.0
    """Factor on the learning rate from each layer to the one below it."""
    lora_rank: Natural = 0
    """Above 0: LoRA. The matrices of attention and feed-forward are frozen, and updates of this rank are trained."""
    lora_alpha: Positive = 16.0
    lora_dropout: ShareBelowOne = 0.0
    blend: Annotated[float, Between(0, 1, open_low=True)] = 1.0
    """The result is this share of the trained weights, and for the rest those of `init`: below 1, less is forgotten of
    what `init` could do. Validation measures the blend. 1: the trained weights alone."""


@dataclass(frozen=True)
class Recipe(Checked):
    """A whole training run."""

    task: str = "translation"
    """translation, causal_lm, masked_lm, classify or images."""
    seed: Annotated[int, Between(0, 2**63, open_high=True)] = 1
    out: str = ""
    init: str = ""
    """Model that the run starts from, with its shape and tokenizer: a folder, ours or Hugging Face's, or a name, as
    bundled. Int8 weights are dequantised. none: a new model."""
    model: ModelConfig = field(default_factory=ModelConfig)
    text: TextConfig = field(default_factory=TextConfig)
    data: DataConfig = field(default_factory=DataConfig)
    language: LanguageConfig = field(default_factory=LanguageConfig)
    classify: ClassifyConfig = field(default_factory=ClassifyConfig)
    images: ImageConfig = field(default_factory=ImageConfig)
    tune: TuneConfig = field(default_factory=TuneConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
