"""What a worker does to show the inside of models: traces, decoding trees, comparisons and the rest as JSON texts."""

from __future__ import annotations

import base64
import binascii
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwise.decode.open import open_model
from headwise.errors import ConfigError, DataError
from headwise.inspect.inside.decoding import decode_json
from headwise.inspect.inside.divergence import compare_json
from headwise.inspect.inside.importance import bleu_without, heads_in, lost
from headwise.inspect.inside.one_translation import OneTranslation, read_question, translate_inside
from headwise.inspect.inside.open_inside import InsideModel, open_inside
from headwise.inspect.inside.position_numbers import positions_json
from headwise.inspect.inside.run_history import history_json
from headwise.inspect.inside.switches import Head
from headwise.inspect.inside.translation_trace import roles_json, trace_json
from headwise.inspect.other_families import family_json, image_json
from headwise.inspect.page.page_answers import page_answers
from headwise.inspect.page.write_page import page_text
from headwise.models.folder.description import PRECISIONS, LoadedModel
from headwise.serve.workers.model_pool import ModelPool, Opened

Json = dict[str, Any]


class InsideOperations:
    """The operations, with the models that are loaded for them. An answer `invalid` is the client's mistake."""

    def __init__(self, memory: float) -> None:
        self._memory = memory

        def translators(precision: str) -> ModelPool[Opened[InsideModel]]:
            return ModelPool(lambda folder: Opened(open_inside(folder, precision)), memory)

        def open_other(folder: Path) -> Opened[LoadedModel]:
            return Opened(open_model(folder, "cpu")[0])

        self._models = {precision: translators(precision) for precision in ("", *PRECISIONS)}
        self._others = ModelPool(open_other, memory)
        self._table: dict[str, Callable[[Json], Any]] = {
            "trace": self._trace,
            "decode": self._decode,
            "compare": self._compare,
            "roles": self._roles,
            "heads": self._heads,
            "bleu_without": self._bleu_without,
            "checkpoints": self._checkpoints,
            "family": self._family,
            "positions": self._positions,
            "page": self._page,
        }

    @property
    def bytes(self) -> int:
        """Bytes of the loaded models, as on disk."""
        return self._others.bytes + sum(pool.bytes for pool in self._models.values())

    def close_idle(self, seconds: float) -> None:
        """Close models that were not used for some seconds."""
        self._others.close_idle(seconds)
        for pool in self._models.values():
            pool.close_idle(seconds)

    def run(self, message: Json) -> Json:
        """The answer to a question, as a text: the server passes it on without reading it."""
        if self.bytes > self._memory:  # each pool has its own bound: together they must not exceed it for long
            self.close_idle(0.0)
        try:
            found = self._table[message["what"]](message)
        except (ConfigError, DataError) as error:
            return {"invalid": str(error)}
        return {"json": json.dumps(found, ensure_ascii=False, separators=(",", ":"))}

    def _model(self, given: Json, precision: str = "") -> InsideModel:
        return self._models[precision].get(Path(given["folder"]), given["version"]).model

    def _one(self, message: Json) -> OneTranslation:
        fields = message["fields"]
        return translate_inside(self._model(message, fields.get("precision") or ""), read_question(fields))

    def _trace(self, message: Json) -> Json:
        fields = message["fields"]
        return trace_json(self._one(message), fields.get("detail") or "", _only(fields))

    def _decode(self, message: Json) -> Json:
        return decode_json(self._model(message), read_question(message["fields"]))

    def _compare(self, message: Json) -> Json:
        left, right = (self._one(message[side]) for side in ("left", "right"))
        return compare_json(left, right, _only(message["fields"]))

    def _roles(self, message: Json) -> Json:
        fields = message["fields"]
        languages = {"source": fields["source"], "target": fields["target"]}
        model = self._model(message)
        return roles_json(
            [translate_inside(model, read_question({"text": text, **languages})) for text in fields["texts"]]
        )

    def _heads(self, message: Json) -> list[Head]:
        return heads_in(self._model(message))

    def _bleu_without(self, message: Json) -> Json:
        """BLEU of the whole model, or of the model without a head."""
        fields, model = message["fields"], self._model(message)
        heads = [Head(*each) for each in fields["heads"]]
        bleu = bleu_without(model, fields["pairs"], fields["source"], fields["target"], heads)
        return lost(heads[0], fields["whole"], bleu) if heads else {"bleu": bleu}

    def _checkpoints(self, message: Json) -> Json:
        return history_json(Path(message["folder"]), read_question(message["fields"]))

    def _family(self, message: Json) -> Json:
        fields = message["fields"]
        loaded = self._others.get(Path(message["folder"]), message["version"]).model
        if not fields.get("image"):
            return family_json(loaded, fields.get("text") or "", fields.get("generate") or 0)
        try:
            pixels = base64.b64decode(fields["image"].rpartition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            raise DataError("'image' must be an image file in base64") from None
        with tempfile.TemporaryDirectory() as folder:
            (path := Path(folder) / "image").write_bytes(pixels)
            return image_json(loaded, path)

    def _page(self, message: Json) -> str:
        one = self._one(message)
        return page_text(one, page_answers(one, beam=one.question.beam))

    def _positions(self, message: Json) -> Json:
        fields = message["fields"]
        model = self._model(message) if "folder" in message and fields["kind"] == "learned" else None
        return positions_json(fields["kind"], fields["width"], fields["length"], model)


def _only(fields: Json) -> tuple[str, int] | None:
    """The only attention that is wanted, if not all is."""
    only = fields.get("only")
    return None if only is None else (only["kind"], only["layer"])
