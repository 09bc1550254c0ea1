"""The command `headwise serve`: the HTTP server."""

import argparse
import os
from functools import partial
from typing import Any

from headwise.cli.console import say
from headwise.cli.options import add_command


def add_serve(commands: Any) -> None:
    from headwise.serve.settings import ServeSettings, parse_value, setting_help, setting_kinds

    command = add_command(
        commands,
        "serve",
        run_serve,
        "Serve translations over HTTP, through the APIs of LibreTranslate, DeepL and OpenAI.",
        """
headwise serve
headwise serve --models my-models --port 8080
curl localhost:5000/translate -d q="I ate an apple." -d source=en -d target=de

Each option can also be a key of a TOML file (--config) or an environment variable: --char-limit is char_limit and
HEADWISE_SERVE_CHAR_LIMIT. Options override the environment, which overrides the file. `headwise keys` makes API keys.
More: docs/serve.md
""",
    )
    command.add_argument("--config", metavar="FILE", help="TOML file with settings")
    described = setting_help()
    for name, kind in setting_kinds().items():
        usual = getattr(ServeSettings, name)
        text = described[name][0].lower() + described[name][1:]
        option = f"--{name.replace('_', '-')}"
        if kind is bool:
            text += f" (default: {'yes' if usual else 'no'})"
            command.add_argument(option, action=argparse.BooleanOptionalAction, default=None, dest=name, help=text)
        else:
            text += "" if usual == "" else f" (default: {usual if isinstance(usual, str) else f'{usual:.10g}'})"
            metavar = "TEXT" if isinstance(usual, str) else "N"
            command.add_argument(option, metavar=metavar, dest=name, help=text, type=partial(parse_value, name))


def run_serve(args: argparse.Namespace) -> int:
    from headwise.serve.run_server import run_server
    from headwise.serve.settings import load_settings, setting_kinds

    given = {name: getattr(args, name) for name in setting_kinds() if getattr(args, name) is not None}
    run_server(load_settings(args.config, os.environ, given), lambda text: say(f"headwise: {text}"))
    return 0
