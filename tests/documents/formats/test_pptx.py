"""PowerPoint presentations: slides, notes, charts and comments."""

import pytest

from headwise.documents.formats.pptx import read_pptx
from headwise.errors import DataError
from tests.documents.office.packages import check_damage, check_round_trip, contents, open_package, read, shapes

SPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
)
POINT = "officedocument.presentationml"
SLIDE = (
    '<p:sld {spaces}><p:nvPr><p:cNvPr id="4" name="Picture 3" descr="A cat"/></p:nvPr><a:p><a:pPr lvl="1"/>'
    '<a:r><a:rPr lang="en-US" dirty="0"/><a:t>Wel</a:t></a:r><a:r><a:rPr lang="en-GB"/><a:t>come </a:t></a:r>'
    '<a:r><a:rPr lang="en-US" b="1"/><a:t>all</a:t></a:r><a:br/><a:r><a:t>of you</a:t></a:r>'
    '<a:endParaRPr lang="en-US"/></a:p>'
    '<a:p><a:r><a:t>Slide </a:t></a:r><a:fld id="x" type="slidenum"><a:t>4</a:t></a:fld>'
    "<a:r><a:t> here</a:t></a:r></a:p>"
    "<a:p><a:r><a:t>Left\tright</a:t></a:r></a:p></p:sld>"
)


def pptx() -> bytes:
    chart = (
        f"<c:chart {SPACES}><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx><c:cat><c:strCache>"
        '<c:pt idx="0"><c:v>East</c:v></c:pt></c:strCache><c:numCache><c:pt><c:v>1e5</c:v></c:pt></c:numCache>'
        '</c:cat><c:cat><c:multiLvlStrCache><c:lvl><c:pt idx="0"><c:v>Leeds</c:v></c:pt></c:lvl></c:multiLvlStrCache>'
        "</c:cat><c:ser><c:tx><c:v>Costs</c:v></c:tx><c:trendline><c:name>Trend</c:name></c:trendline></c:ser></c:chart>"
    )
    return open_package(
        {
            "ppt/presentation.xml": (f"{POINT}.presentation.main", f"<p:presentation {SPACES}/>"),
            "ppt/slides/slide10.xml": (
                f"{POINT}.slide",
                f"<p:sld {SPACES}><a:p><a:r><a:t>Last</a:t></a:r></a:p></p:sld>",
            ),
            "ppt/slides/slide2.xml": (f"{POINT}.slide", SLIDE.replace("{spaces}", SPACES)),
            "ppt/slideMasters/m.xml": (
                f"{POINT}.slideMaster",
                f"<p:m {SPACES}><p:sp><p:nvSpPr><p:nvPr><p:ph/></p:nvPr></p:nvSpPr>"
                "<a:p><a:r><a:t>Click</a:t></a:r></a:p></p:sp>"
                "<p:sp><a:p><a:r><a:t>Our firm</a:t></a:r></a:p></p:sp></p:m>",
            ),
            "ppt/notesSlides/n.xml": (
                f"{POINT}.notesSlide",
                f"<p:n {SPACES}><a:p><a:r><a:t>Say it</a:t></a:r></a:p></p:n>",
            ),
            "ppt/charts/chart1.xml": ("officedocument.drawingml.chart", chart),
            "ppt/comments/c.xml": (
                f"{POINT}.comments",
                f"<p:cmLst {SPACES}><p:cm><p:text> Nice </p:text></p:cm></p:cmLst>",
            ),
        }
    )


def test_all_texts_in_reading_order() -> None:
    assert shapes(read(read_pptx, pptx())) == [
        "A cat",
        "Welcome [all]| of you",
        "Slide {4} here",
        "Left",
        "right",
        "Last",
        "Say it",
        "Sales",
        "East",
        "Leeds",
        "Costs",
        "Trend",
        "Nice",
        "Our firm",
    ]


def test_round_trip() -> None:
    written = contents(check_round_trip(read_pptx, pptx()))
    slide = written["ppt/slides/slide2.xml"]
    assert '<a:rPr lang="en-US" b="1"/><a:t>áll</a:t></a:r><a:br/>' in slide
    assert '</a:r><a:endParaRPr lang="en-US"/></a:p>' in slide
    assert "<a:t>Léft\tríght</a:t>" in slide
    assert "<p:text> Ñícé </p:text>" in written["ppt/comments/c.xml"]
    assert "Click" in written["ppt/slideMasters/m.xml"]
    assert "fírm" in written["ppt/slideMasters/m.xml"]


def test_bad_files_are_refused() -> None:
    with pytest.raises(DataError, match="not a PowerPoint presentation"):
        read(read_pptx, open_package({}))
    check_damage(read_pptx, pptx())
