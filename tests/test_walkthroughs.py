"""The walkthroughs run as they stand, and their pieces print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import pieces

import dovetail
from dovetail_dispatcher.compiled_code import is_in_force

dovetail.ones(1)  # loads the compiled code
ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "walkthroughs"
PAGES = sorted(page.name for page in FOLDER.glob("*.md") if page.name != "README.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_pieces_of_a_page_print_what_it_shows(page: str) -> None:
    if page == "where_prelu_goes.md" and not is_in_force():
        pytest.skip("it shows a compiled kernel")
    found = pieces(FOLDER / page)
    assert len(found) > 2
    assert [piece.printed for piece in found] == [piece.shown for piece in found]


def test_the_list_links_to_every_page() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [page for page in PAGES if f"({page})" not in text] == []
