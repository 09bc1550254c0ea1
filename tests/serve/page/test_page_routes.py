"""The page's files: sent once, checked again, and nothing else beside them."""

import gzip
import re

import pytest
from starlette.testclient import TestClient

from headwise.serve.page.page_routes import FOLDER, page_files, sent_bytes

WITHOUT_COMMENTS = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)


def test_the_page_and_all_its_files_are_served(client: TestClient) -> None:
    assert client.get("/").text == (FOLDER / "index.html").read_text(encoding="utf-8")
    for name, path in page_files().items():
        found = client.get(f"/page/{name}")
        assert found.status_code == 200, name
        assert found.content == sent_bytes(path)
        assert found.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "none.js",
        "page_routes.py",
        "__init__.py",
        "../app.py",
        "%2e%2e/app.py",
        "..%2fapp.py",
        "core",
        "core/",
        "/etc/passwd",
    ],
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    found = client.get(f"/page/{name}")
    assert found.status_code == 404
    assert found.json() == {"error": "Not Found"}


def test_a_browser_keeps_a_file_and_asks_whether_it_has_changed(client: TestClient) -> None:
    first = client.get("/page/app.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/page/app.js", headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]
    assert client.get("/page/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


def test_files_are_compressed_for_those_who_take_gzip(client: TestClient) -> None:
    with client.stream("GET", "/page/app.js", headers={"Accept-Encoding": "br, gzip"}) as found:
        raw = b"".join(found.iter_raw())
        assert found.headers["content-encoding"] == "gzip"
        assert found.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(raw) == sent_bytes(FOLDER / "app.js")
    for refused in ("identity", "gzip;q=0", "br"):
        assert "content-encoding" not in client.get("/page/app.js", headers={"Accept-Encoding": refused}).headers


def test_the_page_may_load_from_its_server_alone_and_run_no_inline_script(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in client.get("/").text


def test_no_file_names_another_address() -> None:
    """Namespaces of XML are names, not addresses."""
    for name, path in page_files().items():
        text = path.read_text(encoding="utf-8")
        found = [each for each in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text) if "www.w3.org" not in each]
        assert not found, name


def test_no_script_writes_html() -> None:
    """Texts reach the page through the DOM only, so that no text can become markup."""
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    for name, path in page_files().items():
        if path.suffix == ".js":
            assert not forbidden.search(WITHOUT_COMMENTS.sub("", path.read_text(encoding="utf-8"))), name
