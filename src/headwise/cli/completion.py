"""The command `headwise completion`: scripts that complete commands in a shell."""

import argparse
from typing import Any

from headwise.cli.options import add_command

BASH = """_headwise() {{
  local words
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{commands}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"; fi
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _headwise headwise
"""


def add_completion(commands: Any) -> None:
    command = add_command(
        commands,
        "completion",
        lambda args: print_completion(commands.choices, args.shell),
        "Print a script that completes commands and options in a shell.",
        """
source <(headwise completion bash)
source <(headwise completion zsh)
headwise completion fish > ~/.config/fish/completions/headwise.fish
""",
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def print_completion(commands: dict[str, argparse.ArgumentParser], shell: str) -> int:
    options = {name: option_names(parser) for name, parser in commands.items()}
    if shell == "fish":
        print(f"complete -c headwise -n __fish_use_subcommand -f -a '{' '.join(options)}'")
        for name, names in options.items():
            for option in names:
                print(f"complete -c headwise -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}")
        return 0
    cases = "\n".join(f'    {name}) words="{" ".join(names)}" ;;' for name, names in options.items())
    start = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    print(start + BASH.format(cases=cases, commands=" ".join(options)), end="")
    return 0


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    """The long options of a command, and the commands below it."""
    names = [name for action in parser._actions for name in action.option_strings if name.startswith("--")]
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [*(name for choices in below for name in choices), *names]
