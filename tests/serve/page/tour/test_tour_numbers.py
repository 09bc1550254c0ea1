"""Every station of the tour shows the model's own tensors, to 1e-5, and computes with them under the pointer."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.serve.page.tour.tour_page import SENTENCE, TRANSLATION, Reference, TourPage, numbers_in


def same(shown: Any, tensor: Tensor) -> None:
    """Shown numbers equal a tensor's to 1e-5 of the size of its numbers."""
    found = torch.tensor(shown, dtype=torch.float64)
    assert found.shape == tensor.shape
    assert (found - tensor.double()).abs().max() <= 1e-5 * max(1.0, float(tensor.abs().max()))


def computed(text: str, *wanted: float) -> None:
    """A computation states these numbers."""
    found = list(numbers_in(text))
    for each in wanted:
        assert any(abs(abs(one) - abs(each)) <= 2e-5 * max(1.0, abs(each)) for one in found), (each, text)


def test_tokenisation(tour: TourPage, model: Reference) -> None:
    page = tour.open("tokenisation")
    chips = page.locator(".tour-chip")
    shown = chips.evaluate_all(
        "(all) => all.map((each) => [each.querySelector('bdi').textContent, each.querySelector('code').textContent])"
    )
    ids = [*model.source.tolist(), *model.target.tolist()]
    pieces = [*model.pieces["source"], *model.pieces["target"]]
    assert shown == [[piece, str(token)] for piece, token in zip(pieces, ids, strict=True)]
    chips.first.hover()
    assert f"number {ids[0]} of" in tour.computation()


def test_embeddings(tour: TourPage, model: Reference) -> None:
    tour.open("embeddings")
    embedding = model.model.source_embedding
    rows = embedding(model.source)[:, :8]
    same(tour.grid(), rows)
    computed(tour.point(1, 3), float(embedding.weight[model.source[1], 3]), float(rows[1, 3]))
    tour.open("embeddings", side="target")
    same(tour.grid(), model.model.target_embedding(model.shown)[:, :8])


def test_positions(tour: TourPage, model: Reference) -> None:
    tour.open("positions")
    width = model.memory.size(-1)
    table = [
        [(math.sin, math.cos)[i % 2](t / 10000 ** (i // 2 * 2 / width)) for i in range(8)]
        for t in range(len(model.source))
    ]
    same(tour.grid(), torch.tensor(table))
    entering = model.model._enter(
        model.source[None],
        torch.arange(len(model.source)),
        model.model.source_embedding,
        model.model.source_positions,
        None,
        None,
        None,
    )
    computed(tour.point(2, 1), table[2][1], float(entering[0, 2, 1]))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_query_key_value(tour: TourPage, model: Reference, kind: str) -> None:
    tour.open("query-key-value", kind=kind, **{f"head_{kind}": [0, 1]})
    for number, part in enumerate(("query", "key", "value")):
        made = model.heads(kind, 0, part)[1]
        same(tour.grid(number), made)
        computed(tour.point(1, 5, number), float(made[1, 5]))


def test_attention_of_one_query(tour: TourPage, model: Reference) -> None:
    tour.open("attention", kind="cross", head_cross=[1, 0], row=2)
    query, key, value = (model.heads("cross", 1, part)[0] for part in ("query", "key", "value"))
    products = key @ query[2]
    weights = model.weights["cross"][1][0, 2]
    same(tour.data(".tour-table tbody td:nth-child(3)"), products)
    same(tour.data(".tour-table tbody td:nth-child(4)"), products / math.sqrt(key.size(-1)))
    same(tour.data(".tour-table tbody td:nth-child(5)"), weights)
    tour.page.locator(".tour-table tbody tr").nth(1).hover()
    computed(tour.computation(), float(products[1]), float(products[1]) / math.sqrt(key.size(-1)), float(weights[1]))
    tour.page.locator(".tour-table tfoot tr").hover()
    computed(tour.computation(), float((weights @ value)[0]))


@pytest.mark.parametrize(
    ("station", "kind"),
    [("self-attention", "encoder"), ("masked-attention", "decoder"), ("encoder-decoder-attention", "cross")],
)
def test_weights(tour: TourPage, model: Reference, station: str, kind: str) -> None:
    tour.open(station, **{f"head_{kind}": [1, 1]})
    weights = model.weights[kind][1][1]
    shown = tour.grid()
    same(shown, weights)
    assert all(abs(sum(row) - 1) < 1e-5 for row in shown)
    query, key = (model.heads(kind, 1, part)[1] for part in ("query", "key"))
    score = float(query[3] @ key[2]) / math.sqrt(key.size(-1))
    computed(tour.point(3, 2), score, float(weights[3, 2]))


def test_masked_cells_are_exactly_zero(tour: TourPage, model: Reference) -> None:
    page = tour.open("masked-attention")
    shown = tour.grid()
    assert all(value == 0 for row, line in enumerate(shown) for value in line[row + 1 :])
    hidden = len(shown) * (len(shown) - 1) // 2
    assert page.locator(".tour-figure td.tour-hidden").count() == hidden
    assert set(page.locator(".tour-figure td.tour-hidden").all_inner_texts()) == {"0"}
    assert "exactly 0" in tour.point(0, 1)


def test_all_heads(tour: TourPage, model: Reference) -> None:
    tour.open("multi-head-attention", kind="encoder", head_encoder=[1, 0], row=1)
    weights = model.weights["encoder"][1]
    same(tour.grid(), weights[:, 1])
    found = weights[1, 1] @ model.heads("encoder", 1, "value")[1]
    computed(tour.point(1, 2), float(weights[1, 1, 2]), float(found[0]))


def test_feed_forward(tour: TourPage, model: Reference) -> None:
    tour.open("feed-forward", kind="decoder", head_decoder=[1, 0])
    hidden = model.seen["decoder.layers.1.feed_forward.contract"][0]
    same(tour.data(".tour-bars li"), (hidden > 0).float().mean(-1))
    best = hidden.abs().topk(5, -1).indices
    same(tour.grid(), hidden.gather(-1, best))
    assert f"unit {int(best[2, 1])}" in tour.point(2, 1)
    computed(tour.computation(), float(hidden[2, best[2, 1]]))


@pytest.mark.parametrize(("place", "block"), list(enumerate(["self", "cross", "feed_forward"])))
def test_add_and_norm(tour: TourPage, model: Reference, place: int, block: str) -> None:
    tour.open("add-norm", kind="decoder", head_decoder=[1, 0], sublayer=place)
    norm = f"decoder.layers.1.{block}_norm"
    before, after = model.seen[norm][0][:, :8], model.seen[norm][1][:, :8]
    for number, tensor in enumerate((before, after - before, after)):
        same(tour.grid(number), tensor)
    computed(tour.point(2, 3, 2), float(model.seen[f"{norm}.norm"][1][2, 3]), float(before[2, 3]), float(after[2, 3]))
    sizes = [model.seen["decoder.layers.0.self_norm"][0]]
    sizes += [model.state("decoder", layer, each) for layer in range(2) for each in ("self", "cross", "feed_forward")]
    same(tour.grid(3), torch.stack([each.square().mean(-1).sqrt() for each in sizes]))


def test_encoder(tour: TourPage, model: Reference) -> None:
    tour.open("encoder", row=2)
    entering = model.seen["encoder.layers.0.self_norm"][0]
    levels = [model.memory, *(model.state("encoder", layer, "feed_forward") for layer in (1, 0)), entering]
    same(tour.grid(), torch.stack([each[2, :8] for each in levels]))
    computed(tour.point(0, 4), float(levels[1][2, 4]), float(model.memory[2, 4]))


def test_linear(tour: TourPage, model: Reference) -> None:
    tour.open("linear", row=1)
    best = model.logits[1].topk(10)
    same(tour.data(".tour-bars li"), best.values)
    same(tour.grid(), model.hidden[1:2, :8])
    tour.page.locator(".tour-bars li").nth(2).hover()
    deviations = (best.values[2] - model.logits[1].mean()) / model.logits[1].std()
    computed(tour.computation(), float(best.values[2]), float(deviations))


def test_softmax(tour: TourPage, model: Reference) -> None:
    tour.open("softmax", row=1)
    best = model.logits[1].softmax(-1).topk(10)
    same(tour.data(".tour-bars li"), best.values)
    tour.page.locator(".tour-bars li").nth(1).hover()
    computed(
        tour.computation(),
        float(model.logits[1, best.indices[1]]),
        float(model.logits[1].logsumexp(-1)),
        float(best.values[1]),
    )


def test_decoder_layers_by_the_logit_lens(tour: TourPage, model: Reference) -> None:
    tour.open("decoder")
    states = [
        model.seen["decoder.layers.0.self_norm"][0],
        *(model.state("decoder", layer, "feed_forward") for layer in (0, 1)),
    ]
    norm: Any = model.model.decoder.final_norm
    lens = [model.model.output_projection(norm(each)).softmax(-1).max(-1).values for each in reversed(states)]
    same(tour.grid(), torch.stack(lens))


def test_the_whole_model(tour: TourPage, model: Reference) -> None:
    page = tour.open("model")
    same(tour.grid(), model.log_probability[None])
    total = float(model.log_probability.sum())
    computed(page.locator(".tour-figure .tour-note").last.inner_text(), total)
    text = tour.point(0, len(model.target) - 1)
    computed(text, float(model.log_probability[-1]), total)
    parameters = sum(each.numel() for each in model.model.parameters())
    assert f"{parameters:,} parameters in all" in page.locator(".tour-figure").inner_text()


def test_teacher_forcing_next_to_steps(tour: TourPage, model: Reference) -> None:
    page = tour.open("teacher-forcing")
    same(tour.data(".tour-table tbody td:last-child"), -model.log_probability)
    computed(page.locator(".tour-table tfoot").inner_text() + "000", round(-float(model.log_probability.mean()), 3))
    page.locator(".tour-table tbody tr").nth(2).hover()
    computed(tour.computation(), float(model.log_probability[2].exp()), float(model.log_probability[2]))
    stepper = page.locator("section", has=page.get_by_role("heading", name="Translating: one step after the other"))
    same(tour.data("section .tour-bars li")[:5], model.logits[1].softmax(-1).topk(5).values)
    stepper.get_by_role("button", name="On", exact=True).click()
    same(tour.data("section .tour-bars li")[:5], model.logits[2].softmax(-1).topk(5).values)


def test_greedy_search(tour: TourPage, model: Reference) -> None:
    page = tour.open("greedy")
    assert TRANSLATION in page.locator(".tour-outcome").inner_text()
    for step in range(len(model.target)):
        same(tour.data(".tour-bars li"), model.logits[step].softmax(-1).topk(8).values)
        computed(tour.computation(), float(model.log_probability[step]), float(model.log_probability[: step + 1].sum()))
        page.get_by_role("button", name="On", exact=True).click()


def test_beam_search(tour: TourPage, model: Reference) -> None:
    page = tour.open("beam", beam=2)
    outcome = page.locator(".tour-outcome").first.inner_text()
    assert TRANSLATION in outcome
    assert "Beam search (2)" in outcome
    computed(tour.computation(), float(model.log_probability.sum()))
    assert page.get_by_role("group", name="Tree of the beam search").is_visible()
    page.get_by_role("radio", name="4").check()
    tour.settle()
    assert "Beam search (4)" in page.locator(".tour-outcome").first.inner_text()
    assert SENTENCE[:15] in page.locator(".tour-machine").text_content()
