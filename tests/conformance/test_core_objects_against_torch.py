"""Small objects of the core that tools ask for are those of PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

LIBS = pytest.mark.parametrize("lib", [torch, dovetail], ids=["torch", "dovetail"])


@LIBS
def test_a_weak_reference_tells_whether_the_tensor_is_gone(lib: Any) -> None:
    x = lib.ones(2)
    found = lib._C._WeakTensorRef(x)
    assert not found.expired()
    del x
    assert found.expired()


@LIBS
def test_old_vmap_is_found_without_an_import(lib: Any) -> None:
    made = lib._vmap_internals._vmap(lambda x: x * 2)(lib.ones(2))
    assert made.tolist() == [2.0, 2.0]


def test_classes_of_storages_by_dtype() -> None:
    theirs = torch.storage._dtype_to_storage_type_map()
    ours = dovetail.storage._dtype_to_storage_type_map()
    named = {str(kind).rpartition(".")[2]: name for kind, name in theirs.items()}
    assert named.items() >= {str(k).rpartition(".")[2]: name for k, name in ours.items()}.items()
    assert {name for kind, name in named.items() if kind[0] != "q" and "qu" not in kind} == set(
        ours.values()
    )
