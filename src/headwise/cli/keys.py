"""The command `headwise keys`: adds, lists and removes API keys of the server."""

import argparse
import os
import time
from typing import TYPE_CHECKING, Any

from headwise.cli.options import add_command, positive

if TYPE_CHECKING:
    from headwise.serve.security.api_keys import ApiKeys


def add_keys(commands: Any) -> None:
    command = add_command(
        commands,
        "keys",
        run_keys,
        "Manage the API keys of `headwise serve`.",
        """
headwise keys add alice
headwise keys add bot --rate 600
headwise keys list
headwise keys remove alice

A key is shown once, when it is made: only its digest is stored. A running server notices changes by itself.
""",
    )
    command.add_argument("action", choices=["add", "list", "remove"], help="what to do")
    command.add_argument("name", nargs="?", metavar="NAME", help="the name of the key")
    command.add_argument("--rate", type=positive, metavar="N", help="add: requests per minute")
    command.add_argument("--config", metavar="FILE", help="TOML file with the settings of the server")
    command.add_argument("--state", metavar="DIR", help="folder of keys and corrections, as in `headwise serve`")


def run_keys(args: argparse.Namespace) -> int:
    from headwise.errors import ConfigError
    from headwise.serve.security.api_keys import ApiKeys
    from headwise.serve.settings import load_settings

    settings = load_settings(args.config, os.environ, {"state": args.state} if args.state else {})
    keys = ApiKeys(settings.state_folder)
    if args.action == "list":
        show(keys)
        return 0
    if not args.name:
        raise ConfigError(f"headwise keys {args.action} needs the name of a key")
    if args.action == "add":
        print(keys.add(args.name, args.rate or 0))
    else:
        keys.remove(args.name)
    return 0


def show(keys: "ApiKeys") -> None:
    for key in keys.listed():
        made = time.strftime("%Y-%m-%d", time.localtime(key.created))
        print(f"{key.name}\t{made}\t{f'{key.rate} per minute' if key.rate else ''}".rstrip())
