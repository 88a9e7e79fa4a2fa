"""The samples of the READMEs and of the documentation run, and do what their comments say."""

import re
from pathlib import Path

import pytest
from fresh_interpreter import printed_by

ROOT = Path(__file__).parents[1]
READMES = [
    "README.md",
    "docs/architecture.md",
    "docs/differences.md",
    "examples/dovetail-activations/README.md",
    "plugins/aten/README.md",
]


def python_blocks(path: Path) -> str:
    """Return the Python blocks of a page, in order, as one program."""
    return "\n".join(
        re.findall(
            r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
    )


@pytest.mark.parametrize("readme", READMES)
def test_the_samples_run(readme: str) -> None:
    program = python_blocks(ROOT / readme)
    assert program
    printed_by(program)


def test_the_first_sample_prints_the_gradient_and_the_kernels() -> None:
    gradient, explanation = printed_by(python_blocks(ROOT / "README.md")).split("\n", 1)
    assert gradient == "tensor([ 3., 12., 27.])"
    assert "taste::cube" in explanation
    assert "AutogradCPU [autograd kernel]" in explanation
    assert "CPU [kernel]: __main__.cube" in explanation


def test_the_backend_of_the_sample_computes_a_gradient() -> None:
    assert (
        printed_by(python_blocks(ROOT / "plugins/aten/README.md"))
        == "tensor([2., 2., 2.], device='board:0')\n"
    )


@pytest.mark.parametrize("readme", READMES)
def test_links_to_files_lead_somewhere(readme: str) -> None:
    page = ROOT / readme
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
