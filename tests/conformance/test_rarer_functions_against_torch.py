"""Functions and settings that few programs reach for, beside PyTorch's."""

from __future__ import annotations

import mmap
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

BOTH = pytest.mark.parametrize("t", [torch, dovetail], ids=["torch", "dovetail"])


@pytest.mark.parametrize(
    "arguments", [(1, 4), (0, 1, 0.5), (3, 1, -1), (2, 2), (0, 1, 0.3), (-1.5, 1.5)], ids=str
)
def test_a_range_includes_its_end(arguments: tuple[float, ...]) -> None:
    with pytest.warns(UserWarning, match="range is deprecated"):
        ours = dovetail.range(*arguments)
    with pytest.warns(UserWarning, match="range is deprecated"):
        theirs = torch.range(*arguments)
    np.testing.assert_allclose(ours.cpu().numpy(), theirs.cpu().numpy())
    assert str(ours.dtype)[8:] == str(theirs.dtype)[5:]


@BOTH
@pytest.mark.filterwarnings("ignore:.*range is deprecated")
def test_a_range_takes_options_and_refuses_what_has_no_end(t: Any) -> None:
    assert t.range(1, 3, dtype=t.int64).tolist() == [1, 2, 3]
    assert t.range(1, 3, requires_grad=True).requires_grad
    for arguments, words in (((3, 1), "inconsistent with step sign"), ((1, 3, 0), "nonzero")):
        with pytest.raises(RuntimeError, match=words):
            t.range(*arguments)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        t.range(1)


@BOTH
@pytest.mark.parametrize(("power", "dim"), [(2, 0), (2, 1), (2, -1), (1, 0), (3, 1), (1, -1)])
def test_norms_of_slices(t: Any, power: int, dim: int) -> None:
    weight = np.arange(6.0).reshape(2, 3)
    found = t.norm_except_dim(t.tensor(weight), power, dim).cpu().numpy()
    axes = None if dim == -1 else 1 - dim
    expected = (weight**power).sum(axis=axes, keepdims=dim != -1) ** (1 / power)
    np.testing.assert_allclose(found, expected)


@BOTH
def test_a_device_type_has_a_module(t: Any) -> None:
    assert t.get_device_module("cpu") is t.get_device_module(t.device("cpu")) is t.cpu
    assert t.get_device_module("cuda") is t.cuda
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        t.get_device_module("abacus")
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        t.get_device_module("meta")


@BOTH
def test_anomalies_are_looked_for_when_asked(t: Any) -> None:
    try:
        t.set_anomaly_enabled(True, False)
        assert t.is_anomaly_enabled()
        assert not t.is_anomaly_check_nan_enabled()
    finally:
        t.set_anomaly_enabled(False)
    assert not t.is_anomaly_enabled()
    assert t.is_anomaly_check_nan_enabled()


@BOTH
def test_questions_whose_answer_is_no(t: Any) -> None:
    assert not t.is_distributed(t.ones(1))
    assert not t.is_vulkan_available()
    assert not t.jit.onednn_fusion_enabled()
    with t.jit.optimized_execution(False), t.jit.fuser("fuser1"):
        assert t.ones(1).item() == 1.0


@BOTH
def test_attention_may_ask_for_its_fast_path(t: Any) -> None:
    mha = import_module(f"{t.__name__}.backends.mha")
    assert mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    assert not mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(True)


@BOTH
def test_settings_of_loading_are_kept(t: Any) -> None:
    files = t.serialization
    assert files.get_default_load_endianness() is None
    assert files.get_crc32_options()
    assert files.get_default_mmap_options() == mmap.MAP_PRIVATE
    try:
        files.set_default_load_endianness(files.LoadEndianness.BIG)
        files.set_crc32_options(False)
        assert files.get_default_load_endianness() is files.LoadEndianness.BIG
        assert not files.get_crc32_options()
    finally:
        files.set_default_load_endianness(None)
        files.set_crc32_options(True)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_end"):
        files.set_default_load_endianness("big")
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or mmap\.MAP_SHARED"):
        files.set_default_mmap_options(77)
    with files.set_default_mmap_options(mmap.MAP_PRIVATE):
        pass
    assert files.location_tag(t.ones(1, device="cpu").untyped_storage()) == "cpu"
    assert issubclass(files.SourceChangeWarning, Warning)
    assert files.MAP_LOCATION is not None


@BOTH
def test_a_setting_maps_files_by_default(t: Any, tmp_path: Path) -> None:
    config = import_module(f"{t.__name__}.utils.serialization.config")
    path = tmp_path / "tensor.pt"
    t.save({"x": t.arange(4.0)}, path)
    assert not config.load.mmap
    with config.patch("load.mmap", True):
        assert config.load.mmap
        assert t.load(path)["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
        with path.open("rb") as stream, pytest.raises(ValueError, match="must be a file"):
            t.load(stream)
        with path.open("rb") as stream:
            assert t.load(stream, mmap=False)["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert not config.load.mmap
    assert config.save.compute_crc32


def test_a_file_is_never_mapped_to_be_written() -> None:
    with pytest.raises(NotImplementedError, match="mapped privately"):
        dovetail.serialization.set_default_mmap_options(mmap.MAP_SHARED)
    patch = import_module("dovetail.utils.serialization.config").patch
    with pytest.raises(AttributeError, match=r"load\.mmap"):
        patch({"load.speed": 3})


@BOTH
def test_tensors_are_grouped_by_dtype(t: Any) -> None:
    group = import_module(f"{t.__name__}.utils._foreach_utils")._group_tensors_by_device_and_dtype
    single, double, other = t.ones(1), t.ones(2, dtype=t.float64), t.ones(3)
    groups = group([[single, double, other], [None, double, single]], with_indices=True)
    found = {kind: parts for (_, kind), parts in groups.items()}
    (firsts, seconds), places = found[t.float32]
    assert firsts[0] is single
    assert firsts[1] is other
    assert seconds[0] is None
    assert places == [0, 2]
    assert found[t.float64][1] == [1]


def test_functions_keep_their_names_beside_modules_of_the_same_name(tmp_path: Path) -> None:
    program = """
import torch
from torch.nn.utils.weight_norm import WeightNorm
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.parallel.data_parallel import DataParallel
from torch.autograd.gradcheck import GradcheckError
import torch.autograd.anomaly_mode, torch.autograd.profiler_util, torch.backends.opt_einsum

utils = torch.nn.utils
functions = utils.weight_norm, utils.spectral_norm, torch.nn.parallel.data_parallel
print(*[callable(each) for each in (*functions, torch.autograd.gradcheck)])
"""
    script = tmp_path / "program.py"
    script.write_text(program)
    for words in ([], ["-m", "dovetail", "run"]):
        done = subprocess.run(
            [sys.executable, *words, str(script)], capture_output=True, text=True, check=False
        )
        assert done.stdout == "True True True True\n", done.stderr


def test_a_report_names_the_machine_and_its_packages() -> None:
    from dovetail.utils import collect_env

    facts = collect_env.get_env_info()
    assert facts.torch_version in collect_env.get_pretty_env_info()
    assert f"numpy=={np.__version__}" in facts.pip_packages
    assert collect_env.run(["no-such-command-here"])[0] == 127
    assert collect_env.run("echo 3") == (0, "3", "")


def test_an_extension_in_another_language_is_refused_where_it_is_built() -> None:
    from dovetail.utils import cpp_extension

    assert cpp_extension.CUDA_HOME is None
    assert not cpp_extension.is_ninja_available()
    for build in (
        cpp_extension.load,
        cpp_extension.load_inline,
        cpp_extension.CppExtension,
        cpp_extension.CUDAExtension,
        cpp_extension.BuildExtension,
        cpp_extension.BuildExtension.with_options,
        cpp_extension.include_paths,
        cpp_extension.library_paths,
    ):
        with pytest.raises(NotImplementedError, match=r"cpp_extension\.\w+.*custom_op"):
            build("name", ["file.cpp"])


def test_an_old_file_is_read_in_the_order_that_was_set(tmp_path: Path) -> None:
    import io
    import zipfile

    buffer = io.BytesIO()
    torch.save(torch.tensor([1.0, 2.0]), buffer)
    old = tmp_path / "old.pt"
    with zipfile.ZipFile(buffer) as whole, zipfile.ZipFile(old, "w") as part:
        for name in whole.namelist():
            if not name.endswith("byteorder"):
                part.writestr(name, whole.read(name))
    files = dovetail.serialization
    assert dovetail.load(old).tolist() == [1.0, 2.0]
    try:
        files.set_default_load_endianness(files.LoadEndianness.BIG)
        with warnings.catch_warnings():
            swapped = dovetail.load(old).cpu().numpy()
    finally:
        files.set_default_load_endianness(None)
    expected = np.array([1.0, 2.0], np.float32).byteswap()
    np.testing.assert_array_equal(swapped, expected)


@BOTH
def test_the_default_generator_is_the_one_of_the_top_level(t: Any) -> None:
    generator = import_module(f"{t.__name__}.random").default_generator
    assert generator is t.default_generator
    generator.manual_seed(42)
    first = t.rand(3, device="cpu").tolist()
    t.manual_seed(42)
    assert t.rand(3, device="cpu").tolist() == first


@pytest.mark.filterwarnings("ignore:.*range is deprecated", "ignore:An output with one or more")
@pytest.mark.parametrize(
    ("size", "dtype", "wanted"),
    [
        ((0,), "float32", None),
        ((5,), "int64", None),
        ((9,), "float64", "float64"),
        ((5,), "float64", "float32"),
        ((1, 5), "float32", None),
    ],
)
def test_a_range_is_written_to_out(size: tuple[int, ...], dtype: str, wanted: str | None) -> None:
    def outcome(t: Any) -> Any:
        out = t.empty(size, dtype=getattr(t, dtype))
        try:
            made = t.range(0, 8, 2, out=out, dtype=wanted and getattr(t, wanted))
        except RuntimeError as error:
            return str(error)[:40]
        return made is out, out.tolist(), str(out.dtype).rpartition(".")[2]

    assert outcome(dovetail) == outcome(torch)


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8", "float64"])
def test_coins_are_written_to_out_of_any_dtype(dtype: str) -> None:
    def outcome(t: Any) -> Any:
        t.manual_seed(5)
        out = t.empty(40, dtype=getattr(t, dtype), device="cpu")
        made = t.bernoulli(t.full((40,), 0.3, device="cpu"), out=out)
        return made is out, out.tolist()

    assert outcome(dovetail) == outcome(torch)


@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 3, 2)])
@pytest.mark.parametrize("place", [3, -1])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_an_index_out_of_range_is_refused_in_its_way(
    shape: tuple[int, ...], place: int, dim: int
) -> None:
    def outcome(t: Any) -> Any:
        source = t.ones([1 if d == dim else n for d, n in enumerate(shape)])
        with pytest.raises((IndexError, RuntimeError)) as caught:
            t.zeros(shape).index_add_(dim, t.tensor([place]), source)
        return caught.type, str(caught.value)[:23]

    if dim < len(shape):
        assert outcome(dovetail) == outcome(torch)
