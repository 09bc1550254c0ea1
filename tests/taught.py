"""A very small translator that has learned a handful of sentences by heart, in about two seconds.

Its translations make sense and end, which those of a random model hardly ever do.
"""

from functools import cache
from itertools import permutations, product

import torch
from torch.nn.functional import cross_entropy

from headwise.config import ModelConfig, TextConfig
from headwise.decode.batching import padded
from headwise.decode.translator import Translator
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.recipe import model_config, replaced
from headwise.text.kinds import train_tokenizer
from headwise.text.term_marks import annotated

_SUBJECTS = [("The cat", "Die Katze"), ("A dog", "Ein Hund"), ("My sister", "Meine Schwester")]
_VERBS = [("sees", "sieht"), ("eats", "isst"), ("finds", "findet")]
_OBJECTS = [("an apple.", "einen Apfel."), ("the house.", "das Haus."), ("a small fish.", "einen kleinen Fisch.")]

PAIRS = [tuple(" ".join(words) for words in zip(*parts, strict=True)) for parts in product(_SUBJECTS, _VERBS, _OBJECTS)]
SOURCES, TARGETS = [source for source, _ in PAIRS], [target for _, target in PAIRS]

TERM, FORM = "Maschine", "Maschinen"
WITH_TERM = [(annotated(s, [(7, TERM)]), t.replace("Die Katze", f"Die {FORM}")) for s, t in PAIRS if s[:7] == "The cat"]
"""Sources with an annotated term, which the translations inflect."""

SHAPE = model_config(
    {
        "width": 32,
        "encoder.layers": 1,
        "layers": 2,
        "attention.heads": 4,
        "feed_forward.hidden": 64,
        "dropout": 0.0,
        "norm.order": "pre",
    }
)

NATIVE = replaced(SHAPE, {"attention.heads": 2})
"""A shape that the native engine takes, whose heads are at least 16 wide."""


@cache
def taught(
    kind: str = "unigram",
    both_directions: bool = False,
    usual_tokens: int = 24,
    max_tokens: int = 32,
    shape: ModelConfig = SHAPE,
    steps: int = 80,
    untaught: tuple[str, ...] = (),
    terms: bool = False,
) -> LoadedModel:
    """English to German; with `both_directions` also back, told apart by tags. Made once: do not change it.

    With `terms` it knows sources with annotated terms, too.

    With 0 `steps` it is random, and quick. It has the directions of `untaught` languages too, with random translations.
    """
    languages = ["de", "en", *untaught] if both_directions else []
    pairs = PAIRS + WITH_TERM if terms else PAIRS
    texts = [*SOURCES, *TARGETS, *([FORM] if terms else [])]
    tokenizer = train_tokenizer(TextConfig(kind=kind, vocabulary=400), texts, languages)
    directions = tuple(permutations(("en", "de", *untaught), 2)) if both_directions else (("en", "de"),)
    task = Task(directions, both_directions, usual_tokens, max_tokens, terms=terms)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        loaded = LoadedModel(build(shape, tokenizer.size, tokenizer.pad), Description(shape, tokenizer, task))
    translator = Translator(loaded, device="cpu")
    rows = [(translator.source_ids(s, source="en", target="de"), tokenizer.encode(t)) for s, t in pairs]
    rows += [
        (translator.source_ids(t, source="de", target="en"), tokenizer.encode(s)) for s, t in PAIRS if both_directions
    ]
    source = padded([source for source, _ in rows], tokenizer.pad, translator.device)
    target = padded([[tokenizer.sos, *target, tokenizer.eos] for _, target in rows], tokenizer.pad, translator.device)
    optimiser = torch.optim.Adam(loaded.model.parameters(), lr=0.01)
    for _ in range(steps):
        logits = loaded.model(source, target[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=tokenizer.pad)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return loaded


def translator(**how: object) -> Translator:
    return Translator(taught(**how), device="cpu")  # type: ignore[arg-type]
