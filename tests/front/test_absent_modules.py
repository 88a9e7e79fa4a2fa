"""Imports of modules that PyTorch has and Dovetail has not say what there is instead."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

import dovetail
from dovetail.names.module_remedies import REMEDIES
from dovetail.names.refused_names import is_refused_module


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("distributed.fsdp", "dovetail.nn.parallel.DistributedDataParallel"),
        ("distributed.pipelining", "dovetail.nn.parallel.DistributedDataParallel"),
        ("distributed.launcher", "mpiexec -n 2 python program.py"),
        ("distributed.run", "mpiexec -n 2 python program.py"),
        ("distributed.checkpoint", "dovetail.save"),
        ("export", "Save the state_dict"),
        ("quantization", "keep tensors floating"),
    ],
)
def test_an_absent_module_says_what_to_use_when_imported_and_as_an_attribute(
    name: str, remedy: str
) -> None:
    parent, _, last = f"dovetail.{name}".rpartition(".")
    with pytest.raises(ModuleNotFoundError) as imported:
        import_module(f"dovetail.{name}")
    with pytest.raises(AttributeError) as asked:
        getattr(import_module(parent), last)
    with dovetail.as_torch(), pytest.raises(ModuleNotFoundError) as as_torch:
        import_module(f"torch.{name}")
    for caught in (imported, asked, as_torch):
        assert "it is not in Dovetail." in str(caught.value)
        assert remedy in str(caught.value).partition("not in Dovetail.")[2]
    assert imported.value.name == f"dovetail.{name}"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("distributed.fsdp.wrap", "DistributedDataParallel"),
        ("distributed.tensor.parallel", "DistributedDataParallel"),
        ("fx.experimental.recording", "dir(dovetail.fx) lists"),
        ("cuda.nccl", "dovetail-mpi sends between processes"),
        ("cuda.tunable", "cuBLAS"),
        ("accelerator.memory", "dovetail.cuda.memory_allocated"),
        ("utils.qqq", "dir(dovetail.utils) lists what there is."),
        ("mps.qqq", "dir(dovetail.mps) lists what there is."),
    ],
)
def test_a_module_within_another_says_what_holds_for_that(name: str, remedy: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="not in Dovetail") as caught:
        import_module(f"dovetail.{name}")
    assert remedy in str(caught.value)


def test_what_asks_whether_a_module_is_there_is_told_no() -> None:
    assert find_spec("dovetail.distributed.fsdp") is None
    assert find_spec("dovetail.qqq") is None
    assert find_spec("dovetail.nn") is not None


def test_a_misspelled_name_of_a_module_that_is_there_still_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"The nearest is dovetail\.fft\.fftshift\."):
        dovetail.fft.fftshft  # noqa: B018


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_names_only_what_there_is(name: str) -> None:
    words = [word.strip(":.,()") for word in REMEDIES[name].replace("dir(", "").split()]
    for word in [each for each in words if each.startswith("dovetail.")]:
        if word == "dovetail.distributed.save_checkpoint":  # of dovetail-mpi
            continue
        module, _, attribute = word.rpartition(".")
        assert word in sys.modules or hasattr(import_module(module), attribute), word


def test_no_remedy_is_of_a_module_that_can_be_imported() -> None:
    own = ("_C", "_C._functorch", "_dynamo", "compiler", "distributed", "fx", "jit", "onnx")
    # Said of what is not in them.
    inner = ("distributed.optim", "distributed.rpc", "distributed.tensor")
    for name in REMEDIES:
        if name not in (*own, *inner) and not is_refused_module(f"dovetail.{name}"):
            with pytest.raises(ModuleNotFoundError):
                import_module(f"dovetail.{name}")
