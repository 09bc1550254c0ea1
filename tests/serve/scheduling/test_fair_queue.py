"""The fair queue: turns of clients, and of the requests of each."""

from headwise.serve.scheduling.fair_queue import FairQueue


def all_of(queue: FairQueue[str]) -> list[str]:
    taken = []
    while queue:
        taken.append(queue.take()[0])
    return taken


def test_clients_take_turns_however_much_each_has() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.add("book", 1, f"book {number}")
    queue.add("short", 2, "short")
    assert all_of(queue) == ["book 0", "short", "book 1", "book 2"]


def test_requests_of_one_client_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.add("one", 1, f"first {number}")
    queue.add("one", 2, "second")
    assert all_of(queue) == ["first 0", "second", "first 1", "first 2"]


def test_many_requests_give_a_client_no_larger_share() -> None:
    queue: FairQueue[str] = FairQueue()
    for request in range(10):
        queue.add("greedy", request, "greedy")
    for _ in range(3):
        queue.add("modest", 99, "modest")
    assert all_of(queue)[:6].count("modest") == 3


def test_the_last_item_of_a_request_is_known() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.add("a", 1, "x")
    queue.add("a", 1, "y")
    assert queue.requests() == 1
    assert queue.take() == ("x", False)
    assert queue.take() == ("y", True)
    assert not queue


def test_a_request_can_be_removed() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.add("a", 1, "x")
    queue.add("b", 2, "y")
    queue.add("a", 1, "z")
    assert queue.remove_request("a", 1) == ["x", "z"]
    assert queue.remove_request("a", 1) == []
    assert all_of(queue) == ["y"]


def test_a_turn_can_be_asked_of_short_requests_only() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.add("reader", 1, f"book {number}")
    queue.add("reader", 2, "short")
    queue.add("other", 3, "brief")
    assert queue.requests(longest=2) == 2
    assert queue.peek(longest=2) == "short"
    assert queue.take(longest=2) == ("short", True)
    assert queue.take(longest=2) == ("brief", True)
    assert queue.peek(longest=2) is None
    assert queue.peek() == "book 0"
