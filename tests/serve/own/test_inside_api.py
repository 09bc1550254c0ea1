"""The inside of models over HTTP: answers, limits, streams, and what is kept."""

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from headwise.inspect.inside.one_translation import Question, translate_inside
from headwise.inspect.inside.open_inside import open_inside
from headwise.inspect.inside.translation_trace import trace_json
from headwise.models.folder.load import save_model
from headwise.serve.own.inside_routes import KeptAnswers
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings
from tests.kinds import language_model, seer
from tests.serve.conftest import ready_client
from tests.serve.own.test_own_api import refused
from tests.taught import SOURCES, TARGETS, taught

ASKED = {"text": SOURCES[0], "source": "en", "target": "de"}


def ask(client: TestClient, what: str, **fields: Any) -> Any:
    answer = client.post(f"/api/inside/{what}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of several kinds of models; the translator has checkpoints of its training."""
    models = tmp_path_factory.mktemp("models")
    save_model(models / "run", taught())
    save_model(models / "run" / "checkpoints" / "step-00000010", taught(steps=10))
    save_model(models / "gpt", language_model())
    save_model(models / "vit", seer())
    state = str(tmp_path_factory.mktemp("state"))
    with ready_client(Service(ServeSettings(models=str(models), state=state, workers=1, threads=1))) as client:
        yield client


def test_a_trace_is_what_the_package_computes(client: TestClient, small_folder: Path) -> None:
    found = ask(client, "trace", **ASKED, detail="all")
    one = translate_inside(open_inside(small_folder), Question(SOURCES[0], "en", "de"))
    wanted = json.loads(json.dumps(trace_json(one, "all")))
    assert found == wanted
    assert found["translation"] == TARGETS[0]
    assert found["model"]["precision"] == "float32"  # int8 weights, multiplied by their scales


def test_a_given_translation_is_scored(client: TestClient) -> None:
    own = ask(client, "trace", **ASKED)
    other = ask(client, "trace", **ASKED, translation=TARGETS[5])
    assert not own["translation_given"]
    assert other["translation_given"]
    assert other["score"] < own["score"]
    begun = ask(client, "trace", **ASKED, prefix=TARGETS[9].split()[0])
    assert begun["translation"].startswith(TARGETS[9].split()[0])


def test_only_one_layer_or_no_tables(client: TestClient) -> None:
    found = ask(client, "trace", **ASKED, only={"kind": "cross", "layer": 0})
    assert found["attention"]["cross"][0]
    assert found["attention"]["cross"][1:] == [None]
    brief = ask(client, "trace", **ASKED, detail="brief", switches={"positions": False})
    assert "attention" not in brief
    assert brief["changed_by"] == {"positions": False}


def test_the_tree_has_the_server_s_translation(client: TestClient) -> None:
    found = ask(client, "decode", **ASKED, beam=3)
    nodes = {node["id"]: node for node in found["nodes"]}
    assert found["translation"] == TARGETS[0]
    assert [nodes[each]["finished"] for each in found["best"]][-1]
    assert found["beam"] == 3


def test_two_settings_are_compared(client: TestClient) -> None:
    blind = {"switches": {"heads_off": [["cross", layer, head] for layer in range(2) for head in range(2)]}}
    found = ask(client, "compare", **ASKED, left={"precision": "int8"}, right=blind)
    assert found["left"]["model"]["precision"] == "int8"
    assert found["left"]["translation"] == TARGETS[0] != found["right"]["translation"]
    assert found["diverges"]["reason"]


def test_roles_positions_and_importance(client: TestClient) -> None:
    roles = ask(client, "roles", source="en", target="de", texts=SOURCES[:3])
    assert roles["sentences"] == 3
    assert len(roles["roles"]) == 2 * (1 + 2 + 2)
    assert ask(client, "positions", kind="sinusoidal", width=4, length=3)["table"][0] == [0, 1, 0, 1]
    pairs = [list(pair) for pair in zip(SOURCES[:3], TARGETS[:3], strict=True)]
    answer = client.post("/api/inside/importance", json={"source": "en", "target": "de", "pairs": pairs})
    *progress, result = [json.loads(line) for line in answer.text.splitlines()]
    assert [each["done"] for each in progress] == list(range(1, len(roles["roles"]) + 1))
    assert result["heads"] == [each["head"] for each in progress]
    assert result["bleu"] > 50


def test_checkpoints_are_those_of_the_model_s_folder(client: TestClient, several: TestClient) -> None:
    assert refused(client.post("/api/inside/checkpoints", json=ASKED)).startswith("this model's folder has no")
    [found] = ask(several, "checkpoints", **ASKED)["checkpoints"]
    assert found["step"] == 10
    by_name = {each["name"]: each for each in several.get("/api/models").json()["models"]}
    assert {name: each["checkpoints"] for name, each in by_name.items()} == {"run": 1, "gpt": 0, "vit": 0}


def test_other_families(several: TestClient) -> None:
    found = ask(several, "family", model="gpt", text="The cat", generate=2)
    assert found["kind"] == "causal_lm"
    Image.new("RGB", (9, 9), (1, 200, 3)).save(file := io.BytesIO(), "PNG")
    image = base64.b64encode(file.getvalue()).decode()
    seen = ask(several, "family", model="vit", image="data:image/png;base64," + image)
    assert seen["kind"] == "vision"
    assert math.isclose(sum(seen["rollout"]), 1, abs_tol=1e-5)
    for wrong in ({"model": "vit", "image": "!"}, {"model": "vit", "image": "AAAA"}, {"model": "gpt"}, {"text": "x"}):
        assert refused(several.post("/api/inside/family", json=wrong))


def test_the_page_is_one_html_file(client: TestClient) -> None:
    answer = client.post("/api/inside/page", json=ASKED)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "attachment" in answer.headers["content-disposition"]
    assert answer.text.startswith("<!doctype html>")
    assert "headwise-packed" in answer.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""},
        {"text": 1},
        {"text": "x" * 5000},
        {"source": "auto"},
        {"source": None},
        {"target": "en"},
        {"target": None},
        {"translation": 1},
        {"translation": "x" * 5000},
        {"beam": 99},
        {"precision": "int3"},
        {"detail": "more"},
        {"only": {"kind": "all", "layer": 0}},
        {"only": {"kind": "cross", "layer": True}},
        {"switches": {"unknown": 1}},
        {"switches": {"heads_off": [["cross", 99, 0]]}},
        {"switches": {"patch": {"text": "x" * 5000, "heads": []}}},
        {"model": "none"},
    ],
)
def test_what_makes_no_sense_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert refused(client.post("/api/inside/trace", json={**ASKED, **wrong}))


@pytest.mark.parametrize("pairs", [[], [["a"]], [["a", "b"]] * 201, "x", [["a", 1]]])
def test_test_sets_that_make_no_sense_are_refused(client: TestClient, pairs: Any) -> None:
    assert refused(client.post("/api/inside/importance", json={"source": "en", "target": "de", "pairs": pairs}))


def test_the_last_answers_are_kept_up_to_a_size() -> None:
    kept = KeptAnswers(10)
    kept.put("a", "12345")
    kept.put("b", "12345")
    assert kept.get("a") == "12345"
    kept.put("c", "123")  # b was not used for longest
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("12345", None, "123")
    kept.put("d", "x" * 11)
    assert kept.get("d") is None
