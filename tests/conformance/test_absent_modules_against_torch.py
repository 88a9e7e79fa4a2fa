"""Every module of PyTorch is in Dovetail, or its import says what there is instead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import dovetail


def public_modules() -> Iterator[str]:
    """Yield the names of PyTorch's modules after ``torch.``; imports none."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return
    root = Path(spec.origin).parent
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        folders = [root.joinpath(*parts[:count]) for count in range(1, len(parts))]
        is_package = all([(folder / "__init__.py").exists() for folder in folders])
        if parts and is_package and not any([part.startswith("_") for part in parts]):
            yield ".".join(parts)


def test_every_module_of_pytorch_is_there_or_says_what_to_use() -> None:
    found, without = 0, []
    for name in public_modules():
        try:
            import_module(f"dovetail.{name}")
        except ModuleNotFoundError as error:
            text = str(error)
            if "pip install" not in text and not text.partition("not in Dovetail. ")[2]:
                without.append(f"{name}: {text}")
        found += 1
    assert found > 700
    assert without == []


def test_modules_that_pytorch_imports_itself_are_attributes_without_an_import() -> None:
    program = """
import sys, torch, dovetail
from functools import reduce
from importlib import import_module


def value(lib, name):
    try:
        return reduce(getattr, name.split("."), lib)
    except AttributeError:
        return None


def is_there(name):
    try:
        return import_module(f"dovetail.{name}")
    except ModuleNotFoundError:
        return None


names = [each.partition(".")[2] for each in sorted(sys.modules) if each[:6] == "torch."]
public = [each for each in names if not any([part[0] == "_" for part in each.split(".")])]
without = [each for each in public if value(torch, each) and not value(dovetail, each)]
assert len(public) > 200
print([each for each in without if is_there(each)])
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["distributed.fsdp", "export", "nn.quantized", "utils.hipify"])
def test_as_torch_its_import_says_the_same(name: str) -> None:
    with pytest.raises(ModuleNotFoundError) as own:
        import_module(f"dovetail.{name}")
    with dovetail.as_torch(), pytest.raises(ModuleNotFoundError) as as_torch:
        import_module(f"torch.{name}")
    said = str(own.value).partition(": ")[2]
    assert said and str(as_torch.value).partition(": ")[2] == said
