"""Labels: the model's own softmax, for texts, pairs and pictures."""

import pytest
import torch

from headwise.config import ModelConfig
from headwise.decode.labeller import Label, Labeller
from headwise.errors import ConfigError
from headwise.recipe import replaced
from tests.kinds import BERT, GPT, LABELS, VIT, classifier, seer

TEXTS = ["A dog", "My sister finds a small fish.", "The cat", ""]
SECOND = ["The cat eats.", "", "A", "dog"]
BODIES = {
    "encoder": BERT,
    "encoder, mean": replaced(BERT, {"pooling.kind": "mean"}),
    "decoder": replaced(GPT, {"pooling.kind": "last"}),
}


@pytest.mark.parametrize("pairs", [None, SECOND], ids=["texts", "pairs"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_is_the_softmax_of_each_text_alone(body: ModelConfig, pairs: list[str] | None) -> None:
    loaded = classifier(body)
    words = loaded.tokenizer
    assert words is not None
    found = Labeller(loaded, device="cpu").classify(TEXTS, pairs)
    assert len(found) == len(TEXTS)
    for i, label in enumerate(found):
        second = words.encode(pairs[i]) if pairs else None
        ids, segments = words.frame(words.encode(TEXTS[i]), second)
        with torch.inference_mode():
            expected = loaded.model(torch.tensor([ids]), torch.tensor([segments]))[0].softmax(-1).tolist()
        assert list(label.probabilities) == list(LABELS)
        assert list(label.probabilities.values()) == pytest.approx(expected, abs=1e-5)
        assert label.label == LABELS[expected.index(max(expected))]
        assert label.score == label.probabilities[label.label] == max(label.probabilities.values())


def test_the_order_of_a_pair_matters() -> None:
    labeller = Labeller(classifier(), device="cpu")
    assert labeller.classify(TEXTS[:1], SECOND[:1]) != labeller.classify(SECOND[:1], TEXTS[:1])


def test_a_regression_gives_numbers() -> None:
    loaded = classifier(BERT, regression=True)
    (label,) = Labeller(loaded, device="cpu").classify(TEXTS[:1])
    words = loaded.tokenizer
    assert words is not None
    with torch.inference_mode():
        expected = float(loaded.model(torch.tensor([words.frame(words.encode(TEXTS[0]))[0]])))
    assert label == Label(f"{label.score:.4f}", label.score)
    assert label.score == pytest.approx(expected, abs=1e-5)


def test_what_is_too_long_is_cut_from_the_longer_side() -> None:
    labeller = Labeller(classifier(), device="cpu")
    long = "fish " * 100
    assert labeller.classify([long]) == labeller.classify(["fish " * 90])
    assert labeller.classify([long], ["A dog"]) != labeller.classify([long], ["The cat"])
    assert labeller.classify(["A dog"], [long]) != labeller.classify(["The cat"], [long])
    words = classifier().tokenizer
    assert words is not None
    ids, segments = labeller._framed(words.encode(long), words.encode("A dog"))
    assert len(ids) == len(segments) == BERT.positions.max_positions
    assert words.decode(ids).endswith("A dog")


def test_pictures_are_normalised_and_classified() -> None:
    loaded = seer()
    images = torch.randint(
        0, 256, (5, 3, VIT.image_patches.image_size, VIT.image_patches.image_size), dtype=torch.uint8
    )
    found = Labeller(loaded, device="cpu").classify_images(images)
    mean, std = (torch.tensor(each)[:, None, None] for each in (loaded.task.image_mean, loaded.task.image_std))
    with torch.inference_mode():
        expected = loaded.model((images / 255 - mean) / std).softmax(-1)
    for label, row in zip(found, expected.tolist(), strict=True):
        assert list(label.probabilities.values()) == pytest.approx(row, abs=1e-5)


def test_pictures_are_no_texts() -> None:
    with pytest.raises(ConfigError, match="classifies images"):
        Labeller(seer(), device="cpu").classify(["A dog"])
    with pytest.raises(ConfigError, match="classifies texts"):
        Labeller(classifier(), device="cpu").classify_images(torch.zeros(1, 3, 8, 8, dtype=torch.uint8))


def test_pairs_of_unequal_numbers() -> None:
    with pytest.raises(ConfigError, match="2 first texts, but 1 second ones"):
        Labeller(classifier(), device="cpu").classify(["a", "b"], ["c"])
    assert Labeller(classifier(), device="cpu").classify([]) == []
