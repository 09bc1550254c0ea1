"""A plain server around CTranslate2, as one would write it in an afternoon: each request is translated by itself.

    python benchmarks/serving/plain_server.py MODEL PORT               # one after the other, with all cores
    python benchmarks/serving/plain_server.py MODEL PORT --pool 2      # two at a time, each with its share of the cores

MODEL is a folder of `headwise convert ... --to ctranslate2`. It answers POST /translate like LibreTranslate.
"""

import argparse
import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ctranslate2
import sentencepiece
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

BEAM = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--pool", type=int, default=1, help="translations at a time (default: 1)")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    translator = ctranslate2.Translator(
        str(args.model), inter_threads=args.pool, intra_threads=max(1, cores // args.pool)
    )
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(args.model / f"{side}.spm"))
        for side in ("source", "target")
    )
    threads = ThreadPoolExecutor(args.pool)

    def work(text: str) -> str:
        [result] = translator.translate_batch([source.encode(text, out_type=str)], beam_size=BEAM)
        return str(target.decode(result.hypotheses[0])).replace("▁", " ")

    async def translate(request: Request) -> JSONResponse:
        text = (await request.json())["q"]
        return JSONResponse({"translatedText": await asyncio.get_running_loop().run_in_executor(threads, work, text)})

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ready"})

    app = Starlette(routes=[Route("/translate", translate, methods=["POST"]), Route("/ready", ready)])
    uvicorn.run(app, port=args.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
