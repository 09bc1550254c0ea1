"""A LibreTranslate package made from an OPUS-MT model, so that both servers can be compared with one model.

    LIBRETRANSLATE/bin/python benchmarks/serving/argos_package.py MODEL DATA --from en --to fr

MODEL is a folder of `headwise convert opus-mt-en-fr ... --to ctranslate2 --precision int8`; LibreTranslate finds the
package with XDG_DATA_HOME=DATA. It runs in LibreTranslate's environment, where `spacy` must be installed as well:
sentences are split by spaCy's rules (ARGOS_CHUNK_TYPE=SPACY), because the models that LibreTranslate otherwise uses for
that come from the network.

LibreTranslate has one SentencePiece model for both languages, OPUS-MT has two. The pieces of the target are appended to
the model of the source, so improbable that texts are still cut as the source's model cuts them.
"""

import argparse
import json
import shutil
from pathlib import Path

import spacy
from sentencepiece import sentencepiece_model_pb2

NAMES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "hi": "Hindi", "it": "Italian"}
IMPROBABLE = -1000.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    args = parser.parse_args()
    package = args.data / "argos-translate" / "packages" / f"translate-{args.source}_{args.target}"
    (package / "model").mkdir(parents=True)
    for name in ("config.json", "model.bin", "shared_vocabulary.json"):
        shutil.copy(args.model / name, package / "model" / name)
    (package / "sentencepiece.model").write_bytes(merged(args.model / "source.spm", args.model / "target.spm"))
    about = {
        "package_version": "1.0",
        "argos_version": "1.9",
        "from_code": args.source,
        "from_name": NAMES.get(args.source, args.source),
        "to_code": args.target,
        "to_name": NAMES.get(args.target, args.target),
    }
    (package / "metadata.json").write_text(json.dumps(about), encoding="utf-8")
    spacy.blank(args.source).to_disk(package / "spacy")
    print(f"wrote {package}")


def merged(source: Path, target: Path) -> bytes:
    """The SentencePiece model of the source with the pieces of the target."""
    made, other = sentencepiece_model_pb2.ModelProto(), sentencepiece_model_pb2.ModelProto()
    made.ParseFromString(source.read_bytes())
    other.ParseFromString(target.read_bytes())
    known = {piece.piece for piece in made.pieces}
    for piece in other.pieces:
        if piece.piece not in known:
            made.pieces.add(piece=piece.piece, score=IMPROBABLE, type=piece.type)
    return bytes(made.SerializeToString())


if __name__ == "__main__":
    main()
