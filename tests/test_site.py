"""What the site is made of: explanations to choose from, drawings, the table of names, links."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dovetail

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the modules in `tools` be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield
    for name in [each for each in sys.modules if each.partition(".")[0] == "site_pages"]:
        del sys.modules[name]


@pytest.mark.cpu_only(reason="the page explains calls on the cpu")
def test_every_combination_that_can_be_chosen_is_explained() -> None:
    from site_pages.dispatch_examples import explanations

    data = explanations()
    found = data["found"]
    chosen = [
        f"{call}|{arguments}|{mode}"
        for call in data["calls"]
        for arguments in data["arguments"]
        for mode in data["modes"]
    ]
    assert sorted(found) == sorted(chosen)
    recorded = found["mul|float32 that requires grad|no mode"]
    assert recorded["records_graph"] and recorded["chosen"] == "AutogradCPU"
    assert not found["mul|float32 that requires grad|no_grad()"]["records_graph"]
    assert "BFloat16" in str(found['mm|float32|autocast("cpu")']) or "AutocastCPU" in str(
        found['mm|float32|autocast("cpu")']["keys"]
    )
    assert found["cube (of a third party)|float32|no mode"]["chain"][-1]["kernel"].endswith("cube")
    assert [name for name, _ in recorded["plan"]][-1] == "RecordNode"
    plan = found["add|float32 and float64|no mode"]["plan"]
    assert plan[0][0] == "PromoteOperands" and all(about for _, about in plan)
    assert all(each["plan"] or each["error"] for each in found.values())
    assert all(each["chain"] or each["error"] for each in found.values())
    assert not hasattr(dovetail.ops.site, "cube")


@pytest.mark.cpu_only(reason="drawings show where kernels of the cpu are")
def test_drawings_are_whole_and_name_no_folder_of_this_machine(tmp_path: Path) -> None:
    from site_pages.drawings import DRAWINGS, write_drawings

    write_drawings(tmp_path)
    for name in DRAWINGS:
        text = (tmp_path / f"{name}.svg").read_text()
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert str(ROOT) not in text
        assert (ROOT / "docs" / "drawings" / f"{name}.svg").exists()


def test_the_table_counts_the_names_that_it_lists(tmp_path: Path) -> None:
    from site_pages.name_tables import names_by_module, write_names

    write_names(tmp_path / "names.md")
    table = names_by_module()
    assert "relu" in table["torch.nn.functional"] and "backward" in table["torch.Tensor"]
    text = (tmp_path / "names.md").read_text()
    for module, names in table.items():
        assert f"[`{module}`]" in text and f"| {len(names)} |" in text


def test_every_page_of_the_reference_describes_something_and_is_listed(tmp_path: Path) -> None:
    from site_pages.api_reference import write_reference

    write_reference(tmp_path)
    listed = (tmp_path / "index.rst").read_text()
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.rst") if path.stem != "index"}
    assert [name for name in pages if listed.count(f":doc:`{name}`") != 1] == []
    assert [name for name, text in pages.items() if ".. auto" not in text] == []
    for module in ("profiler", "fx", "jit", "sparse", "autograd_graph", "utils_checkpoint"):
        assert f"dovetail_{module}" in pages


def test_links_to_files_outside_of_the_site_become_their_text() -> None:
    from site_pages.copied_pages import linked

    page = ROOT / "docs" / "tour.md"
    text = "[a](backends.md#x) [b](../plugins/aten/README.md) ![c](drawings/trace.svg) [d](#e)"
    assert linked(text, page, page, ROOT) == (
        "[a](backends.md#x) b ![c](drawings/trace.svg) [d](#e)"
    )
    walk = "[w](../examples/walkthroughs/README.md)"
    assert linked(walk, page, page, ROOT) == "[w](_made/walkthroughs/index.md)"


def test_pages_that_no_page_lists_are_listed(tmp_path: Path) -> None:
    from site_pages.copied_pages import list_of_others

    (tmp_path / "index.md").write_text("[stray](stray.md)\n```{toctree}\n:hidden:\n\ntour\n```\n")
    for name in ("tour", "stray"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    assert list_of_others(tmp_path).split("\n\n")[-1] == "stray\n```\n"
    (tmp_path / "stray.md").unlink()
    assert list_of_others(tmp_path) == ""


def test_dead_links_and_things_from_a_network_are_found(tmp_path: Path) -> None:
    from check_site import broken

    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//example.org/x.css"><img src="none.png">'
    )
    (tmp_path / "b.html").write_text('<p id="here">')
    assert broken(tmp_path) == [
        "a.html: loads https://example.org/x.js from a network",
        "a.html: loads //example.org/x.css from a network",
        "a.html: b.html#gone leads to no anchor",
        "a.html: c.html leads to no file",
        "a.html: none.png leads to no file",
    ]


def test_the_numbers_of_the_readmes_are_those_of_the_code() -> None:
    from site_pages.counts import counted_pages

    for page, text in counted_pages(ROOT).items():
        assert page.read_text(encoding="utf-8") == text, "write them: python tools/site_pages"
