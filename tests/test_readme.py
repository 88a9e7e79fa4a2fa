"""The samples of the READMEs and of the documentation run, and do what their comments say."""

from pathlib import Path

import pytest
from pages import dead_links, pieces

ROOT = Path(__file__).parents[1]
PAGES = [
    "docs/autograd.md",
    "docs/backends.md",
    "docs/beyond_one_machine.md",
    "docs/checkpoints.md",
    "docs/comparing_runs.md",
    "docs/compiled_kernels.md",
    "docs/conditions.md",
    "docs/cuda.md",
    "docs/dispatch.md",
    "docs/dynamic_shapes.md",
    "docs/from_pytorch.md",
    "docs/howto.md",
    "docs/interception.md",
    "docs/operators.md",
    "docs/performance.md",
    "docs/policies.md",
    "docs/profiling.md",
    "docs/security.md",
    "docs/tour.md",
]
"""Pages of the site whose samples show what they print."""

READMES = [
    "README.md",
    "docs/architecture.md",
    "docs/array_api.md",
    "docs/differences.md",
    *PAGES,
    "examples/dovetail-activations/README.md",
    "plugins/aten/README.md",
]
WITHOUT_SAMPLES = [
    "CHANGELOG.md",
    "SECURITY.md",
    "changes/README.md",
    "CONTRIBUTING.md",
    "docs/choosing.md",
    "docs/derivatives.md",
    "docs/imports.md",
    "docs/installing.md",
    "docs/mpi.md",
    "docs/out.md",
    "docs/programs.md",
    "docs/seeds.md",
    "examples/walkthroughs/README.md",
    "plugins/cuda/README.md",
]


def printed(page: str) -> str:
    """Run the samples of a page, and return what they print."""
    return "".join([piece.printed for piece in pieces(ROOT / page)])


@pytest.mark.parametrize("readme", READMES)
def test_the_samples_run(readme: str) -> None:
    found = pieces(ROOT / readme)
    assert found
    if readme in PAGES:
        assert [piece.printed for piece in found] == [piece.shown for piece in found]


def test_the_first_sample_prints_the_gradient_and_the_kernels() -> None:
    gradient, explanation = printed("README.md").split("\n", 1)
    assert gradient == "tensor([ 3., 12., 27.])"
    assert "taste::cube" in explanation
    assert "AutogradCPU [autograd kernel]" in explanation
    assert "CPU [kernel]: __main__.cube" in explanation


def test_the_backend_of_the_sample_computes_a_gradient() -> None:
    assert printed("plugins/aten/README.md") == "tensor([2., 2., 2.], device='board:0')\n"


def test_the_readme_names_every_command() -> None:
    from dovetail.command import app

    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    listed = text.partition("**A command.** `dovetail ")[2].partition("`.")[0].split(" | ")
    commands = [each.callback.__name__ for each in app.registered_commands if each.callback]
    assert sorted(listed) == sorted(commands)


@pytest.mark.parametrize("page", [*READMES, *WITHOUT_SAMPLES])
def test_links_to_files_lead_somewhere(page: str) -> None:
    assert dead_links(ROOT / page) == []
