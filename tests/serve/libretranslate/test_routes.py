"""LibreTranslate's API as its clients use it, with its fields and its error messages."""

import io
import json
import os
import re
import zipfile
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwise.serve import document_service
from headwise.serve.http.edge import HEADERS
from headwise.serve.service import Service
from tests.taught import SOURCES, TARGETS

ASKED = {"q": SOURCES[0], "source": "en", "target": "de"}


def refused(answer: Any, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    return str(answer.json()["error"])


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_fields_come_as_json_form_or_query(client: TestClient, way: str) -> None:
    answer = client.post("/translate", **{way: ASKED})
    assert answer.json() == {"translatedText": TARGETS[0]}


def test_a_form_may_have_its_characters_as_they_are(client: TestClient) -> None:
    """As `curl -d q=...` sends them."""
    body = "q=Äpfel, 100% reif&s=Pommes%20m%C3%BBres à point&source=de&target=fr".encode()
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/suggest", content=body, headers=form).json() == {"success": True}
    answer = client.post("/translate", json={"q": "Äpfel, 100% reif", "source": "de", "target": "fr"})
    assert answer.json() == {"translatedText": "Pommes mûres à point"}
    assert "UTF-8" in refused(client.post("/translate", content=b"q=\xe4&source=de&target=en", headers=form))


def test_a_multipart_form_is_utf_8(client: TestClient) -> None:
    """Python knows encodings that take minutes for a megabyte."""
    body = b'--x\r\ncontent-disposition: form-data; name="q"\r\n\r\nHello-\r\n--x--\r\n'
    for charset in ("punycode", "idna", "utf-16", "klingon"):
        given = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
        assert refused(client.post("/detect", content=body, headers=given)) == "Invalid request: the form must be UTF-8"
    given = {"content-type": "multipart/form-data; boundary=x; charset=UTF-8"}
    assert client.post("/detect", content=body, headers=given).status_code == 200


def test_an_empty_or_null_key_is_none_and_unknown_fields_are_ignored(client: TestClient) -> None:
    for key in ("", None):
        answer = client.post("/translate", json={**ASKED, "api_key": key, "unknown": {"a": [1]}})
        assert answer.status_code == 200
    assert client.post("/translate", json={**ASKED, "source": "EN", "target": "De"}).status_code == 200


def test_a_list_gives_lists(client: TestClient) -> None:
    answer = client.post("/translate", json={**ASKED, "q": SOURCES[:3], "source": "auto", "alternatives": 2}).json()
    assert answer["translatedText"] == TARGETS[:3]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en"] * 3
    assert all(0 <= each["confidence"] <= 100 for each in answer["detectedLanguage"])
    assert [len(each) for each in answer["alternatives"]] == [2, 2, 2]


def test_one_text_gives_an_object(client: TestClient) -> None:
    answer = client.post("/translate", data={**ASKED, "source": "auto", "alternatives": "1"}).json()
    assert answer["translatedText"] == TARGETS[0]
    assert answer["detectedLanguage"]["language"] == "en"
    assert len(answer["alternatives"]) == 1


def test_a_text_in_the_target_language_stays(client: TestClient) -> None:
    answer = client.post("/translate", json={**ASKED, "q": TARGETS[0], "source": "auto"}).json()
    assert answer["translatedText"] == TARGETS[0]
    assert answer["detectedLanguage"]["language"] == "de"


def test_paragraphs_stay_apart(client: TestClient) -> None:
    text = f"{SOURCES[0]}\n\n{SOURCES[1]} {SOURCES[2]}\n"
    answer = client.post("/translate", json={**ASKED, "q": text}).json()
    assert answer["translatedText"] == f"{TARGETS[0]}\n\n{TARGETS[1]} {TARGETS[2]}"


def test_markup_stays_where_it_belongs(client: TestClient) -> None:
    html = f'<meta charset="latin-1"><p data-x="ä">{SOURCES[0]}</p><p>{SOURCES[1]}</p>'
    answer = client.post("/translate", json={**ASKED, "q": [html], "format": "html"}).json()
    [made] = answer["translatedText"]
    assert f"<p>{TARGETS[1]}</p>" in made
    assert f">{TARGETS[0]}</p>" in made
    assert "ä" in made
    assert made.startswith('<meta charset="latin-1">')


def test_alternatives_have_the_markup_too(client: TestClient) -> None:
    """They are those of the plain sentences, each with all tags."""
    html = f"<p>{SOURCES[0].replace('The cat', '<b>The cat</b>')}</p><p>{SOURCES[1]}</p>"
    asked = {**ASKED, "q": html, "format": "html", "alternatives": 2}
    answer = client.post("/translate", json=asked).json()
    plain = client.post("/translate", json={**ASKED, "q": SOURCES[:2], "alternatives": 2}).json()
    first, second = ([best, *others] for best, others in zip(*plain.values(), strict=True))
    made = [answer["translatedText"], *answer["alternatives"]]
    untagged = [re.sub("</?b>", "", each) for each in made]
    assert untagged == [f"<p>{one}</p><p>{other}</p>" for one, other in zip(first, second, strict=True)]
    assert all(re.search("<b>.+</b>", each) for each in made)
    assert client.post("/translate", json={**asked, "target": "en"}).json()["alternatives"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": "x" * 5001}, "Invalid request: request (5001) exceeds text limit (5000)"),
        ({"q": ["x"] * 1001}, "Invalid request: request (1001) exceeds batch limit (1000)"),
        ({"alternatives": "x"}, "Invalid request: alternatives must be a whole number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives must be a whole number"),
        ({"alternatives": True}, "Invalid request: alternatives must be a whole number"),
        ({"alternatives": 10**9}, "Invalid request: alternatives must be between 0 and 8"),
        ({"alternatives": -1}, "Invalid request: alternatives must be between 0 and 8"),
        ({"q": 5}, "Invalid request: q must be a string or a list of strings"),
        ({"q": [1, 2]}, "Invalid request: q must be a string or a list of strings"),
        ({"q": ["a", None]}, "Invalid request: q must be a string or a list of strings"),
        ({"q": {"a": 1}}, "Invalid request: q must be a string or a list of strings"),
        ({"source": ["en"]}, "Invalid request: source must be a string"),
        ({"target": 5}, "Invalid request: target must be a string"),
        ({"api_key": 5}, "Invalid request: api_key must be a string"),
        ({"pivot": "maybe"}, "Invalid request: pivot must be true or false"),
        ({"format": {}}, "Invalid request: format must be a string"),
    ],
)
def test_mistakes_are_named(client: TestClient, change: dict[str, Any], message: str) -> None:
    assert refused(client.post("/translate", json={**ASKED, **change})) == message


def test_no_alternatives_may_be_null(client: TestClient) -> None:
    assert client.post("/translate", json={**ASKED, "alternatives": None}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"q"',
        b"\xff\xfe",
        b'{"q": NaN}',
        b'{"q": "\\ud800", "source": "en", "target": "de"}',
        b'{"q": ["\\udc00x"], "source": "en", "target": "de"}',
        '{"q": "\\ud800", "source": "en", "target": "de"}'.encode("utf-16"),
        '{"q": "a", "source": "en", "target": "de"}'.encode("utf-32"),
        b'{"q": ' + b"9" * 5000 + b"}",
        b'{"q": ' + b"[" * 100_000,
        b'{"q": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_malformed_json_is_an_error_of_the_client(client: TestClient, body: bytes) -> None:
    refused(client.post("/translate", content=body, headers={"content-type": "application/json"}))
    assert client.post("/translate", json=ASKED).json() == {"translatedText": TARGETS[0]}


def test_a_byte_order_mark_before_the_json_is_ignored(client: TestClient) -> None:
    body = json.dumps(ASKED).encode("utf-8-sig")
    answer = client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.json() == {"translatedText": TARGETS[0]}


def test_pairs_of_surrogates_are_characters(client: TestClient) -> None:
    body = json.dumps({**ASKED, "q": "🙂"}).encode()
    assert b"\\ud83d" in body
    answer = client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"q=%ff&source=en&target=de", "application/x-www-form-urlencoded"),
        (b"q=\xc3\xa4", "application/x-www-form-urlencoded"),
        (b"&".join([b"q=1"] * 20_000), "application/x-www-form-urlencoded"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"nothing", "multipart/form-data"),
        (b"--x\r\ncontent-disposition: form-data; name=q\r\n\r\n\xff\r\n--x--\r\n", "multipart/form-data; boundary=x"),
        (b"q", "text/plain"),
    ],
)
def test_malformed_forms_are_errors_of_the_client(client: TestClient, body: bytes, kind: str) -> None:
    refused(client.post("/translate", content=body, headers={"content-type": kind}))


def test_unknown_pages_and_methods_are_json_too(client: TestClient) -> None:
    assert refused(client.get("/nothing"), 404) == "Not Found"
    assert refused(client.get("/translate"), 405) == "Method Not Allowed"
    for path, methods in (("/translate", "POST"), ("/v2/glossaries", "GET, HEAD, POST")):
        assert client.put(path).headers["allow"] == methods
    assert refused(client.get("/download_file/..%2F..%2Fetc%2Fpasswd"), 404)
    assert refused(client.post("/translate", json={"q": "x" * 9_000_000}), 413) == "the body is larger than 8 MB"


def test_languages(client: TestClient) -> None:
    for answer in (client.get("/languages"), client.post("/languages")):
        listed = {each["code"]: each for each in answer.json()}
        assert set(listed) == {"de", "en", "fr", "hi", "it"}
        assert listed["de"]["name"] == "German"
        assert set(listed["en"]["targets"]) == set(listed)


def test_detection(client: TestClient) -> None:
    [best, *_] = client.post("/detect", data={"q": "Guten Morgen, meine Freunde"}).json()
    assert best["language"] == "de"
    assert 50 < best["confidence"] <= 100
    assert client.post("/detect", json={"q": "123"}).json() == [{"confidence": 0, "language": "en"}]
    assert refused(client.post("/detect")) == "Invalid request: missing q parameter"


def test_a_correction_answers_the_next_exact_request(client: TestClient, shared_service: Service) -> None:
    given = {"q": "Good morning.", "source": "en", "target": "de"}
    assert client.post("/suggest", data={**given, "s": "Guten Morgen."}).json() == {"success": True}
    assert client.post("/translate", json=given).json() == {"translatedText": "Guten Morgen."}
    both = client.post("/translate", json={**given, "q": ["Good morning.", SOURCES[0]]}).json()
    assert both["translatedText"] == ["Guten Morgen.", TARGETS[0]]
    other = client.post("/translate", json={**given, "target": "it"}).json()
    assert other["translatedText"] != "Guten Morgen."
    assert refused(client.post("/suggest", data=given)) == "Invalid request: missing s parameter"
    # Durable: whoever opens the file next finds it, and only the owner can.
    from headwise.serve.state.corrections import Corrections

    stored = Corrections(shared_service.settings.state_folder)
    assert stored.find("en", "de", "Good morning.") == "Guten Morgen."
    stored.close()
    if os.name == "posix":
        assert (shared_service.settings.state_folder / "corrections.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_file_is_translated_and_downloaded(client: TestClient) -> None:
    page = f"<html><body><p>{SOURCES[0]}</p></body></html>".encode()
    files = {"file": ("../../etc/my page.HTML", page, "text/html")}
    for source in ("en", "auto"):
        made = client.post("/translate_file", files=files, data={"source": source, "target": "de"}).json()
        url = made["translatedFileUrl"]
        assert "etc" not in url
        answer = client.get(url)
        assert f"<p>{TARGETS[0]}</p>" in answer.text
        assert answer.headers["content-disposition"] == 'attachment; filename="translation.html"'
        assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("page.exe", b"x", "file format not supported"),
        ("page", b"x", "file format not supported"),
        ("page.docx", b"not a zip", "document.docx"),
        ("page.json", b"[" * 100_000, "document.json"),
    ],
)
def test_files_that_cannot_be_read_are_refused(client: TestClient, name: str, data: bytes, message: str) -> None:
    answer = client.post("/translate_file", files={"file": (name, data)}, data={"source": "en", "target": "de"})
    assert message in refused(answer)


def test_a_table_is_translated_by_the_columns_that_are_named(client: TestClient) -> None:
    files = {"file": ("prices.CSV", f"id,Text\n1,{SOURCES[0]}\n".encode())}
    asked = {"source": "en", "target": "de"}
    for columns in ("Text", " 2 ,1"):
        made = client.post("/translate_file", files=files, data={**asked, "columns": columns}).json()
        assert f"1,{TARGETS[0]}\n" in client.get(made["translatedFileUrl"]).text
    message = refused(client.post("/translate_file", files=files, data=asked))
    assert message.startswith("Invalid request: missing columns parameter: name the columns")
    assert "--" not in message
    wrong = refused(client.post("/translate_file", files=files, data={**asked, "columns": "Name"}))
    assert "the table has no column 'Name'; it has 'id', 'Text'" in wrong
    assert not {".csv", ".tsv"} & set(client.get("/frontend/settings").json()["supportedFilesFormat"])


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".pdf"])
def test_a_format_whose_package_is_missing_names_the_extra(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    assert suffix in client.get("/frontend/settings").json()["supportedFilesFormat"]
    monkeypatch.setattr(document_service, "installed", lambda package: False)
    files = {"file": (f"a{suffix}", b"a: b")}
    message = refused(client.post("/translate_file", files=files, data={"source": "en", "target": "de"}), 503)
    assert message.startswith(f"{suffix} files need ")
    assert message.endswith(" on the server: pip install 'headwise[documents]'")
    suffixes = client.get("/frontend/settings").json()["supportedFilesFormat"]
    assert suffix not in suffixes
    assert ".docx" in suffixes


def test_a_small_file_with_millions_of_tags_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, each tag takes fifty times its bytes."""
    monkeypatch.setattr(document_service, "MOST_TAGS", 100_000)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(2):
            archive.writestr(f"{number}.bin", b"<p/>" * 60_000)
    assert len(packed.getvalue()) < 2_000
    for name, data in (("a.docx", packed.getvalue()), ("a.html", b"<p>" * 120_000)):
        answer = client.post("/translate_file", files={"file": (name, data)}, data={"source": "en", "target": "de"})
        assert refused(answer, 413) == "the document has more than 100,000 tags"


def test_a_zip_without_a_document_is_refused(client: TestClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../outside", "x")
    files = {"file": ("a.docx", packed.getvalue())}
    refused(client.post("/translate_file", files=files, data={"source": "en", "target": "de"}))
    refused(client.post("/translate_file", data={"source": "en", "target": "de"}))


def test_settings_for_frontends(client: TestClient) -> None:
    found = client.get("/frontend/settings").json()
    assert found["charLimit"] == 5000
    assert found["language"]["source"] == {"code": "en", "name": "English"}
    assert ".docx" in found["supportedFilesFormat"]
    assert (found["keyRequired"], found["suggestions"], found["filesTranslation"]) == (False, True, True)


def test_status_pages_and_headers(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    client.post("/translate", json=ASKED)
    assert client.get("/ready").json() == {"status": "ready"}
    metrics = client.get("/metrics").text
    assert 'headwise_requests_total{route="/translate",status="200"}' in metrics
    assert SOURCES[0] not in metrics
    for answer in (client.get("/health"), client.get("/nothing"), client.post("/translate", json=ASKED)):
        assert all(answer.headers[name] == value for name, value in HEADERS.items())
        assert "access-control-allow-origin" not in answer.headers
