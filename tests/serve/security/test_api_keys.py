"""API keys: stored as digests only, found again, noticed when added or removed."""

import re
from pathlib import Path

import pytest

from headwise.errors import CheckpointError, ConfigError
from headwise.serve.security.api_keys import FILE, ApiKeys
from tests.commands import ok, wrong


def test_a_key_is_found_and_stored_as_a_digest_only(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path)
    made = keys.add("alice", rate=7)
    assert re.fullmatch(r"hw_[\w-]{43}", made)
    found = keys.find(made)
    assert found is not None
    assert (found.name, found.rate) == ("alice", 7)
    for wrong_key in ("", made[:-1], made + "x", made.upper(), "hw_" + "A" * 43, "\ud800"):
        assert keys.find(wrong_key) is None
    assert made not in (tmp_path / FILE).read_text()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_a_running_server_notices_changes(tmp_path: Path) -> None:
    server, operator = ApiKeys(tmp_path), ApiKeys(tmp_path)
    assert server.listed() == ()
    first, second = operator.add("a"), operator.add("b")
    assert server.find(first)
    operator.remove("a")
    assert server.find(first) is None
    assert server.find(second)


def test_names_are_used_once(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path)
    keys.add("a")
    with pytest.raises(ConfigError, match="already"):
        keys.add("a")
    with pytest.raises(ConfigError, match="no key named b"):
        keys.remove("b")
    for name in ("", "x\ny", "x" * 101):
        with pytest.raises(ConfigError, match="between 1 and 100"):
            keys.add(name)


def test_an_altered_file_lets_nobody_in(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path)
    made = keys.add("a")
    path = tmp_path / FILE
    path.write_text(path.read_text().replace('"a"', '"admin"'))
    with pytest.raises(CheckpointError, match="altered"):
        keys.find(made)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ok(capsys, "keys", "add", "bot", "--rate", "60", "--state", tmp_path).strip()
    assert ApiKeys(tmp_path).find(made)
    listed = ok(capsys, "keys", "list", "--state", tmp_path)
    assert listed.startswith("bot\t")
    assert "60 per minute" in listed
    assert made not in listed
    assert "needs the name" in wrong(capsys, "keys", "remove", "--state", tmp_path)
    ok(capsys, "keys", "remove", "bot", "--state", tmp_path)
    assert ok(capsys, "keys", "list", "--state", tmp_path) == ""
