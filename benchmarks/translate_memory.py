"""Memory of a process that only translates: started by `translate_cpu.py --memory`, once per system.

It imports only what its system needs. CTranslate2 is measured without PyTorch, which it imports if installed but does
not need. Its input is tokenised with SentencePiece, if the model has such files; otherwise it gets tokens, while
Headwise gets text.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Translate = Callable[[int], object]
"""Translates the given number of sentences with a beam of 4, to the length of the sources."""


def ours(given: dict[str, Any]) -> Translate:
    from headwise import TranslateOptions, Translator

    options = TranslateOptions(
        beam=4, max_ratio=0.0, max_extra=given["length"], batch_tokens=1 << 20
    )  # fmt: skip
    translator = Translator(given["folder"], device="cpu", engine=given["system"])
    return lambda count: translator.translate(given["texts"][:count], options=options)


def ctranslate2(given: dict[str, Any]) -> Translate:
    sys.modules["torch"] = None  # type: ignore[assignment]
    import ctranslate2

    precision = "int8" if given["system"].endswith("int8") else "float32"
    translator = ctranslate2.Translator(given["folder"], compute_type=precision, intra_threads=given["threads"])
    how = {"beam_size": 4, "max_decoding_length": given["length"]}
    if not given["sentencepiece"]:
        return lambda count: translator.translate_batch(given["pieces"][:count], **how)
    from sentencepiece import SentencePieceProcessor

    source, target = (SentencePieceProcessor(model_file=path) for path in given["sentencepiece"])

    def translate(count: int) -> list[str]:
        found = translator.translate_batch(source.encode(given["texts"][:count], out_type=str), **how)
        return [target.decode(each.hypotheses[0]) for each in found]

    return translate


def transformers(given: dict[str, Any]) -> Translate:
    import torch
    from transformers import MarianMTModel

    torch.set_num_threads(given["threads"])
    model: Any = MarianMTModel.from_pretrained(given["folder"]).eval()

    def translate(count: int) -> None:
        with torch.inference_mode():
            model.generate(torch.tensor(given["ids"][:count]), num_beams=4, max_new_tokens=given["length"])

    return translate


def tell(what: str) -> None:
    kinds = {}
    for name in ("smaps_rollup", "status"):
        for line in Path(f"/proc/self/{name}").read_text(encoding="utf-8").splitlines():
            kind, _, value = line.partition(":")
            if kind in ("Rss", "Private_Dirty", "VmHWM"):
                kinds[kind] = int(value.split()[0]) // 1024
    row = {"rss": kinds["Rss"], "private": kinds["Private_Dirty"], "peak": kinds["VmHWM"]}
    print(json.dumps({"after": what, **row, "seconds": round(time.time() - begun, 2)}), flush=True)


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    begun = float(sys.argv[2])
    tell("start")
    system = given["system"].partition("-")[0]
    translate = {"ctranslate2": ctranslate2, "transformers": transformers}.get(system, ours)(given)
    tell("model")
    translate(1)
    tell("one sentence")
    translate(len(given["texts"]))
    tell("a batch")
