"""The command `headwise inspect`: attention as pictures, numbers or a page."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.console import Countdown, say
from headwise.cli.options import add_command, add_languages, add_model, as_utf8, is_same_file, model_folder, positive
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.inspect.inside.one_translation import OneTranslation
    from headwise.inspect.maps import AttentionMaps
    from headwise.models.folder.description import LoadedModel


def add_inspect(commands: Any) -> None:
    command = add_command(
        commands,
        "inspect",
        run_inspect,
        "Show what every attention head looks at in a text, a translation or an image, as a picture or as numbers.",
        """
headwise inspect "I ate an apple." --to de --out apple.png
headwise inspect --model my-model "I ate an apple." --target "Ich aß einen Apfel." --out apple.svg
headwise inspect --model my-model "I ate an apple." --kind encoder --layer 1 --out layer1.png
headwise inspect --model my-model "I ate an apple." --out apple.json
headwise inspect --model my-run "I ate an apple." --checkpoints --out apple.html
headwise inspect --model teacher "I ate an apple." --compare student --out apple.html
headwise inspect --model my-gpt "Once upon a time" --generate 20 --out story.png
headwise inspect --model my-bert "The capital of France is ___." --out blank.png
headwise inspect --model my-vit --image cat.png --out looks.png
""",
    )
    command.add_argument("text", nargs="?", metavar="TEXT", help="the text to look at")
    add_model(command, bundled=True)
    command.add_argument("--image", metavar="FILE", help="the image to look at, for an image classifier")
    command.add_argument("--target", metavar="TEXT", help="the translation to look at (default: the model's own)")
    command.add_argument("--second", metavar="TEXT", help="the other text of a pair, for an encoder or a classifier")
    command.add_argument("--generate", type=positive, metavar="N", help="let a language model generate N tokens first")
    command.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=".png, .svg, .pdf, .json, .html (a page that shows everything) or .pharaoh (the word alignment)",
    )
    add_languages(command)
    command.add_argument(
        "--kind",
        choices=("cross", "encoder", "decoder"),
        help="which attention (default: cross for a translator, else the only one)",
    )
    command.add_argument("--compare", metavar="MODEL", help="a page: another model that translates the text too")
    command.add_argument(
        "--checkpoints", action="store_true", help="a page: the translation by each checkpoint of the model's training"
    )
    command.add_argument("--layer", type=positive, metavar="N", help="only layer N, larger (default: all)")


def run_inspect(args: argparse.Namespace) -> int:
    out = Path(args.out)
    for name in ("text", "target", "second"):
        if getattr(args, name) is not None:
            setattr(args, name, as_utf8(getattr(args, name)))
    if not out.parent.is_dir():
        raise ConfigError(f"{out}: there is no such folder")
    kind = out.suffix.lower()
    if kind in (".json", *_WHOLE) and args.layer is not None:
        raise ConfigError(f"--layer applies to pictures: {kind} holds every layer")
    if kind != ".html" and (args.compare or args.checkpoints):
        raise ConfigError("--compare and --checkpoints are for a page: --out page.html")
    if args.image and is_same_file(args.image, args.out):
        raise ConfigError(f"--out {out} is the input image: choose another file")
    if (args.text is None) == (args.image is None):
        raise ConfigError("give either TEXT, or --image FILE for an image classifier")

    if kind in _WHOLE:
        _WHOLE[kind](args, out)
        print(f"wrote {out}")
        return 0

    from headwise.decode.open import open_model

    loaded, _ = open_model(model_folder(args), args.device)
    if args.image is not None:
        _look_at_image(loaded, args, out)
    else:
        _look_at_text(loaded, args, out)
    print(f"wrote {out}")
    return 0


def _look_at_image(loaded: "LoadedModel", args: argparse.Namespace, out: Path) -> None:
    from headwise.inspect.image_attention import capture_image
    from headwise.inspect.image_picture import draw_over_image

    _refuse(args, "an image", "target", "second", "generate", "source_language", "target_language")
    if args.kind not in (None, "encoder"):
        raise ConfigError(f"an image classifier has no {args.kind} attention; it has: encoder")
    maps = capture_image(loaded, Path(args.image), args.device)
    if out.suffix.lower() == ".json":
        _write_json(out, {"image": args.image, **maps.as_dict()})
    else:
        draw_over_image(maps, out, args.layer)
    print(f"{args.image}" + (f" -> {maps.text}" if maps.text else ""))


def _look_at_text(loaded: "LoadedModel", args: argparse.Namespace, out: Path) -> None:
    from headwise.inspect.picture import draw_attention

    maps = _capture(loaded, args)
    if args.kind is not None:
        _ = maps[args.kind]
    if out.suffix.lower() == ".json":
        _write_json(out, maps.as_dict())
    else:
        draw_attention(maps, out, args.kind, args.layer)
    print(maps.text if maps.text == args.text else f"{args.text} -> {maps.text}")


def _capture(loaded: "LoadedModel", args: argparse.Namespace) -> "AttentionMaps":
    from headwise.decode.translator import Translator
    from headwise.inspect.attention_capture import capture_attention, capture_text
    from headwise.models.encoder_decoder import EncoderDecoder

    if isinstance(loaded.model, EncoderDecoder):
        _refuse(args, "a translation", "second", "generate")
        translator = Translator(loaded, device=args.device)
        return capture_attention(translator, args.text, args.target, args.source_language, args.target_language)
    _refuse(args, "a text that is not translated", "target", "source_language", "target_language")
    return capture_text(loaded, args.text, args.second, args.generate or 0, args.device)


def _write_page(args: argparse.Namespace, out: Path) -> None:
    """Everything about a translation as a page."""
    from headwise.inspect.inside.open_inside import open_inside
    from headwise.inspect.page.write_page import write_page

    one = _translated(args, "a page")
    others = [open_inside(args.compare)] if args.compare else []
    say("computing what the page shows: with large models, some minutes")
    with Countdown("answers") as countdown:
        write_page(out, one, others, Path(model_folder(args)) if args.checkpoints else None, countdown.show)


def _write_pharaoh(args: argparse.Namespace, out: Path) -> None:
    """The word alignment of a translation in Pharaoh format."""
    from headwise.decode.alignment import pharaoh
    from headwise.files.atomic import write_text
    from headwise.inspect.inside.translation_trace import sentence_of

    write_text(out, pharaoh(sentence_of(_translated(args, "an alignment")).alignment) + "\n")


def _translated(args: argparse.Namespace, what: str) -> "OneTranslation":
    from headwise.inspect.inside.one_translation import Question, translate_inside
    from headwise.inspect.inside.open_inside import open_inside

    _refuse(args, what, "image", "second", "generate", "kind")
    question = Question(args.text, args.source_language, args.target_language, args.target)
    one = translate_inside(open_inside(model_folder(args)), question)
    print(f"{args.text} -> {one.text}")
    return one


_WHOLE = {".html": _write_page, ".pharaoh": _write_pharaoh}
"""What is written of a whole translation, by suffix."""
_OPTIONS = {"source_language": "--from", "target_language": "--to"}


def _refuse(args: argparse.Namespace, what: str, *names: str) -> None:
    """Refuse options that would be ignored."""
    for name in names:
        if getattr(args, name) is not None:
            raise ConfigError(f"{_OPTIONS.get(name, f'--{name}')} does not apply to {what}")


def _write_json(out: Path, numbers: dict[str, Any]) -> None:
    from headwise.files.atomic import write_text

    write_text(out, json.dumps(numbers, ensure_ascii=False))
