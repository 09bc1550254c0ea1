"""Rate limits: a minute's requests at once, then as many as the time allows."""

import pytest

from headwise.serve.security.rate_limits import RateLimits
from headwise.serve.service_errors import RateLimitError


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


def test_no_limit() -> None:
    limits = RateLimits(lambda: 0.0)
    for _ in range(1000):
        limits.take("a", 0)
