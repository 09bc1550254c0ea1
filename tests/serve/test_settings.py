"""Settings: the same names in a file, the environment and options; mistakes are one line."""

import re
from pathlib import Path

import pytest

from headwise.cli import main
from headwise.errors import ConfigError
from headwise.serve.settings import ServeSettings, load_settings, setting_help, setting_kinds
from tests.commands import wrong


def test_options_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nhost = "::1"\nrate = 3\nkey_required = true\n')
    found = load_settings(file, {"HEADWISE_SERVE_PORT": "2", "HEADWISE_SERVE_RATE": "4", "OTHER": "x"}, {"port": 3})
    assert (found.port, found.host, found.rate, found.key_required) == (3, "::1", 4, True)


def test_strings_stay_strings() -> None:
    found = load_settings(environment={"HEADWISE_SERVE_MODELS": "5", "HEADWISE_SERVE_LOG": "debug"})
    assert (found.models, found.log) == ("5", "debug")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HEADWISE_SERVE_PORT": "x"}, "serve.port must be a whole number, not 'x'"),
        ({"HEADWISE_SERVE_PORT": "70000"}, "serve.port must be at most 65,535"),
        ({"HEADWISE_SERVE_POTR": "1"}, "unknown key serve.potr: did you mean serve.port"),
        ({"HEADWISE_SERVE_FILES": "perhaps"}, "serve.files must be true or false"),
        ({"HEADWISE_SERVE_LOG": "loud"}, "serve.log must be one of warning, info, debug"),
        ({"HEADWISE_SERVE_TIMEOUT": "0"}, "serve.timeout must be above 0"),
        (
            {"HEADWISE_SERVE_TRUSTED_PROXIES": "10.0.0.1, nginx"},
            "serve.trusted_proxies must have addresses or networks",
        ),
        ({"HEADWISE_SERVE_TRUSTED_PROXIES": "10.0.0.1/8"}, "not '10.0.0.1/8'"),
    ],
)
def test_mistakes_are_named(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environment=environment)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_proxies_are_addresses_or_networks() -> None:
    for given in ("", "*", "127.0.0.1", "::1, 10.0.0.0/8 ,"):
        assert load_settings(options={"trusted_proxies": given}).trusted_proxies == given


def test_every_setting_is_an_option_with_a_line_of_help() -> None:
    assert setting_help().keys() == setting_kinds().keys()
    assert all(setting_help().values())


def test_every_setting_is_documented() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "serve.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    for name, described in setting_help().items():
        usual = getattr(ServeSettings, name)
        shown = {"": '`""`', True: "true", False: "false"} if isinstance(usual, str | bool) else {}
        assert rows[name] == f"{shown.get(usual, usual if isinstance(usual, str) else f'{usual:.10g}')} | {described}"


def test_the_help_shows_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for option in (
        "port N port to listen on; 0: any free one (default: 5000)",
        "beyond that, requests are refused (503) (default: 4000000)",
    ):
        assert option in shown


def test_the_command_refuses_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "serve.port must be" in wrong(capsys, "serve", "--port", "x")
    assert "no such model folder" in wrong(capsys, "serve", "--models", tmp_path / "none")
