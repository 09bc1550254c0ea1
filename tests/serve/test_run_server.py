"""What the server says when it starts, and why it cannot listen."""

import socket
from pathlib import Path

import pytest

from headwise.errors import ConfigError
from headwise.serve import run_server as module
from headwise.serve.run_server import run_server
from headwise.serve.settings import ServeSettings


@pytest.fixture(autouse=True)
def own_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the log of the tests as it is."""
    monkeypatch.setattr(module.logging, "basicConfig", lambda **given: None)


def test_numbers_and_their_nouns_agree(small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.DrainingServer, "run", lambda *given: None)
    said: list[str] = []
    run_server(ServeSettings(models=str(small_folder), state=str(tmp_path), port=0), said.append)
    assert said[0].startswith("serving 20 directions of 1 model on http://127.0.0.1:")


def test_an_ipv6_address_has_brackets(small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    monkeypatch.setattr(module.DrainingServer, "run", lambda *given: None)
    said: list[str] = []
    run_server(ServeSettings(models=str(small_folder), state=str(tmp_path), host="::1", port=0), said.append)
    assert said[0].rpartition(" on ")[2].startswith("http://[::1]:")


def test_a_port_in_use_is_named_once(small_folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=r"cannot listen on 127.0.0.1, port .* choose another") as caught:
            run_server(ServeSettings(models=str(small_folder), state=str(tmp_path), port=port))
    assert (str(caught.value).count("127.0.0.1"), str(caught.value).count(str(port))) == (1, 1)
