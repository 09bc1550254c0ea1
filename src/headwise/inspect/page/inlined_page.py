"""The files of the page in one HTML text, which opens from disk and asks for nothing else.

Modules become entries of an import map, as data URLs: browsers do not let a file load other files as modules. The data
are compressed; the browser's own `DecompressionStream` unpacks them before the page begins.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

import headwise

FOLDER = Path(headwise.__file__).parent / "serve" / "page"
PREFIX = "headwise/"
"""Names of modules in the import map."""

_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(["'])(\.{1,2}/[^"']+)\2""")
_STYLE = re.compile(r'^<link rel="stylesheet"[^>]*>\n?', re.MULTILINE)
_SCRIPT = re.compile(r'^<script[^>]*\bsrc="page/([^"]+)"[^>]*></script>\n?', re.MULTILINE)
_ICON = re.compile(r'(<link rel="icon"[^>]*href=")page/([^"]+)(")')

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy of the file: it cannot reach any network."""

BOOT = """
(async () => {
  const read = (id) => document.getElementById(id).textContent;
  const embed = (id, text) => {
    const element = document.createElement("script");
    element.type = "application/json";
    element.id = id;
    element.textContent = text;
    document.head.append(element);
  };
  try {
    const bytes = Uint8Array.from(atob(read("headwise-packed").trim()), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { data, texts, modules } = JSON.parse(await new Response(stream).text());
    embed("headwise-data", JSON.stringify(data));
    embed("headwise-texts", JSON.stringify(texts));
    const imports = {};
    for (const [name, source] of Object.entries(modules)) {
      imports[name] = "data:text/javascript;charset=utf-8," + encodeURIComponent(source);
    }
    const map = document.createElement("script");
    map.type = "importmap";
    map.textContent = JSON.stringify({ imports });
    document.head.append(map);
    await import("PREFIXapp.js");
  } catch (error) {
    const note = document.createElement("p");
    note.setAttribute("role", "alert");
    note.textContent = "This browser cannot open the page: " + error.message;
    document.getElementById("main").append(note);
    throw error;
  }
})();
""".replace("PREFIX", PREFIX)
"""The script that unpacks the page. Chromium 89, Firefox 113 and Safari 16.4 have all that it needs."""


def inlined(data: dict[str, Any]) -> str:
    """The page with these data as one HTML text."""
    text = (FOLDER / "index.html").read_text("utf-8")
    styles = "\n".join(path.read_text("utf-8") for path in sorted_styles())
    early = _SCRIPT.findall(text)
    scripts = "".join(f"<script>\n{_in_script(_read(name))}</script>\n" for name in early if name != "app.js")
    text = _SCRIPT.sub("", _STYLE.sub("", text))
    text = _ICON.sub(lambda found: found[1] + _data_url(found[2]) + found[3], text)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
        f"<style>\n{_in_style(styles)}</style>\n{scripts}"
    )
    body = (
        f'<script type="text/plain" id="headwise-packed">{packed(data)}</script>\n<script>{_in_script(BOOT)}</script>\n'
    )
    return _before(_before(text, "</head>", head), "</body>", body)


def packed(data: dict[str, Any]) -> str:
    """The data, the words of the interface and the modules, compressed; base64 has nothing that could end a script."""
    content = {"data": data, "texts": page_texts(), "modules": page_modules()}
    return base64.b64encode(gzip.compress(as_bytes(content), 9, mtime=0)).decode("ascii")


def as_bytes(value: Any) -> bytes:
    """A value as compact JSON; lone surrogates, which UTF-8 does not have, stay escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def page_modules() -> dict[str, str]:
    """The modules of the page by their names in the import map; each imports the others by these names."""
    return {
        PREFIX + path.relative_to(FOLDER).as_posix(): _named(path)
        for path in sorted(FOLDER.rglob("*.js"))
        if path.name != "early.js"
    }


def page_texts() -> dict[str, dict[str, Any]]:
    """The words of the interface by language and view."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((FOLDER / "texts").glob("*/*.json")):
        found.setdefault(path.parent.name, {})[path.stem] = json.loads(path.read_text("utf-8"))
    return found


def sorted_styles() -> list[Path]:
    """The style sheets, in the order of the page; those of single views follow."""
    linked = re.findall(r'href="page/(styles/[^"]+)"', (FOLDER / "index.html").read_text("utf-8"))
    first = [FOLDER / name for name in linked]
    return [*first, *(path for path in sorted((FOLDER / "styles").glob("*.css")) if path not in first)]


def _named(path: Path) -> str:
    """A module whose relative imports are names of the import map."""
    folder = path.parent.relative_to(FOLDER).as_posix()

    def name(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[3]))
        return f"{found[1]}{found[2]}{PREFIX}{target}{found[2]}"

    return _IMPORT.sub(name, path.read_text("utf-8"))


def _read(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def _data_url(name: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(_read(name).encode()).decode("ascii")


def _in_script(source: str) -> str:
    """A script that nothing in it can end early."""
    return re.sub(r"</(?=script)|<!--", lambda found: found[0].replace("<", r"\x3c"), source, flags=re.IGNORECASE)


def _in_style(source: str) -> str:
    return re.sub(r"</(?=style)", r"<\\/", source, flags=re.IGNORECASE)


def _before(text: str, mark: str, more: str) -> str:
    place = text.rindex(mark)
    return text[:place] + more + text[place:]
