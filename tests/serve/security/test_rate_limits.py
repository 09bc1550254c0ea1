"""Rate limits: a minute's requests at once, then as many as the time allows."""

from pathlib import Path

import pytest
from starlette.requests import Request

from headwise.serve.http.gate import Gate
from headwise.serve.security.rate_limits import RateLimits
from headwise.serve.service import Service
from headwise.serve.service_errors import RateLimitError
from headwise.serve.settings import ServeSettings


def test_a_bucket_empties_and_refills() -> None:
    now = 0.0
    limits = RateLimits(lambda: now)
    for _ in range(12):
        limits.take("a", 12)
    with pytest.raises(RateLimitError, match="Slowdown: 12 per 1 minute") as caught:
        limits.take("a", 12)
    assert caught.value.retry_after == pytest.approx(5.0)
    limits.take("b", 12)
    now = 4.9
    with pytest.raises(RateLimitError):
        limits.take("a", 12)
    now = 5.0
    limits.take("a", 12)
    now = 1e6
    for _ in range(12):
        limits.take("a", 12)
    with pytest.raises(RateLimitError):
        limits.take("a", 12)


def test_addresses_of_one_client_share_a_limit(small_folder: Path, tmp_path: Path) -> None:
    gate = Gate(Service(ServeSettings(models=str(small_folder), state=str(tmp_path))))

    def client(host: str) -> str:
        return gate.admit(Request({"type": "http", "client": (host, 1), "headers": []}), None).id

    assert client("1.2.3.4") == client("::ffff:1.2.3.4") != client("::ffff:1.2.3.5")
    assert client("2001:db8::1") == client("2001:db8::2") == client("2001:db8::1%eth0") != client("2001:db8:0:1::1")
    assert client("somewhere") != client("elsewhere")


def test_no_limit() -> None:
    limits = RateLimits(lambda: 0.0)
    for _ in range(1000):
        limits.take("a", 0)
