"""What examples and benchmarks import of Dovetail is there: they are run by people, not by the
tests.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("examples/*/*.py"), *ROOT.glob("benchmarks/*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_imported_by_a_script_exist(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.partition(".")[0].startswith("dovetail")
        ):
            module = import_module(node.module)
            missing = [each.name for each in node.names if not hasattr(module, each.name)]
            assert not missing, f"{node.module} has no {missing}"
