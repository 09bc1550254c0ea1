"""Scripts and styles lose their comments and indentation on the way, and nothing else."""

import re

from headwise.serve.page.page_routes import SHORTENED, page_files
from headwise.serve.page.sent_text import sent_text


def test_comments_and_indentation_go_and_lines_stay() -> None:
    source = """// First.
/** Two
 * lines. */
function run() { // kept
  const address = "https://w"; /* kept */
  /* gone */
  return `a // b`;
}
"""
    assert (
        sent_text(source)
        == """


function run() { // kept
const address = "https://w"; /* kept */

return `a // b`;
}
"""
    )


def test_no_text_of_a_script_spans_lines() -> None:
    """What looks like a comment or an indentation in the middle of a text would be lost."""
    for name, path in page_files().items():
        if path.suffix in SHORTENED:
            for line in sent_text(path.read_text(encoding="utf-8")).splitlines():
                code = re.sub(r"//.*| /\*.*?\*/", "", line)
                assert code.count("`") % 2 == 0, f"{name}: {line}"
                assert not code.endswith("\\"), f"{name}: {line}"
