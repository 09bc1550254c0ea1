"""The decoding tree is the search of the translator, with all that it considered."""

import math
from typing import Any

import pytest

from headwise.inspect.inside.decoding import decode_json
from headwise.inspect.inside.one_translation import Question
from headwise.inspect.inside.switches import Head, Switches
from tests.inspect.inside.models import random_inside, taught_inside
from tests.shapes import VARIANTS, small
from tests.taught import SOURCES

UNSEEN = "My sister eats a small dog, and the cat finds an apple."


@pytest.mark.parametrize("beam", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("text", [SOURCES[0], UNSEEN])
def test_the_best_branch_is_the_translation(text: str, beam: int) -> None:
    found = decode_json(taught_inside(), Question(text, "en", "de", beam=beam))
    wanted = taught_inside().translator.translate(text, beam=beam, repair=False)
    assert found["translation"] == wanted.text
    assert found["score"] == pytest.approx(wanted.score, abs=1e-4)
    single = taught_inside().translator.translate(text, beam=1, repair=False)
    assert found["greedy"]["translation"] == single.text
    assert found["greedy"]["score"] == pytest.approx(single.score, abs=1e-4)


@pytest.mark.parametrize("name", ["shared-layers", "window", "learned-rms-pre-4kv", "rotary-in-part", "wider-encoder"])
def test_other_models_are_searched_alike(name: str) -> None:
    inside = random_inside(VARIANTS.get(name) or small())
    found = decode_json(inside, Question("a dog", "en", "de", beam=3))
    wanted = inside.translator.translate("a dog", beam=3, repair=False)
    assert found["translation"] == wanted.text
    assert found["score"] == pytest.approx(wanted.score, abs=1e-4)


def test_every_node_continues_a_branch_that_was_kept() -> None:
    beam = 3
    found = decode_json(taught_inside(), Question(UNSEEN, "en", "de", beam=beam))
    nodes = found["nodes"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    for node in nodes:
        parent = nodes[node["parent"]] if node["parent"] is not None else None
        assert node["step"] == (parent["step"] + 1 if parent else 0)
        assert parent is None or (parent["kept"] and not parent["finished"])
        path = _path(nodes, node)
        total = sum(each["log_probability"] for each in path)
        assert node["score"] == pytest.approx(total / len(path), abs=1e-4)
        assert math.exp(node["log_probability"]) <= 1.0001
    for step in found["steps"]:
        considered = [nodes[each] for each in step["candidates"]]
        assert [each["rank"] for each in considered] == list(range(len(considered)))
        assert len(considered) <= 2 * beam
        assert sum(each["kept"] and not each["finished"] for each in considered) <= beam
        totals = [each["score"] for each in considered]
        assert totals == sorted(totals, reverse=True)
    followed = {node["parent"] for node in nodes}
    lived = {n["id"] for n in nodes if n["kept"] and not n["finished"] and n["step"] < len(found["steps"]) - 1}
    assert followed - {None} <= lived


def test_kept_nodes_have_the_attention_of_their_step() -> None:
    found = decode_json(taught_inside(), Question(SOURCES[0], "en", "de", beam=2))
    kept = {str(node["id"]) for node in found["nodes"] if node["kept"]}
    assert found["attention"].keys() == kept
    for row in found["attention"].values():
        assert len(row) == len(found["source_tokens"])
        assert sum(row) == pytest.approx(1.0, abs=1e-5)


def test_switches_change_the_tree() -> None:
    heads = tuple(Head("cross", layer, head) for layer in range(2) for head in range(4))
    plain = decode_json(taught_inside(), Question(SOURCES[0], "en", "de", beam=2))
    blind = decode_json(taught_inside(), Question(SOURCES[0], "en", "de", beam=2, switches=Switches(heads_off=heads)))
    other = decode_json(taught_inside(), Question(SOURCES[7], "en", "de", beam=2, switches=Switches(heads_off=heads)))
    assert blind["translation"] != plain["translation"]
    assert blind["translation"] == other["translation"]  # it does not see the source at all


def test_a_prefix_is_kept() -> None:
    found = decode_json(taught_inside(), Question(SOURCES[0], "en", "de", beam=3, prefix="Ein"))
    assert found["translation"].startswith("Ein ")


def _path(nodes: list[Any], node: Any) -> list[Any]:
    found = [node]
    while found[-1]["parent"] is not None:
        found.append(nodes[found[-1]["parent"]])
    return found
