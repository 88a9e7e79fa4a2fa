"""Modules under ``dovetail`` that plugins provide, and what is there without them."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent


def run(program: str, folder: Path | None = None, **environment: str) -> str:
    """Run `program` in a process of its own, with the distributions in `folder` installed, and
    return what it prints.
    """
    source = f"import sys; sys.path.insert(0, {str(folder)!r})\n" if folder else ""
    result = subprocess.run(
        [sys.executable, "-c", source + dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def install(folder: Path, name: str, point: str) -> None:
    """Write the metadata of a distribution with one entry point of `dovetail.modules`."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dovetail.modules]\n{point}\n")


def test_a_plugin_provides_a_module_with_modules_inside(tmp_path: Path):
    package = tmp_path / "acme_clouds" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("from .inner import deep\nrain = 'rain'\n")
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text("class Drop: pass\n")
    (package / "late.py").write_text("here = __name__\n")
    install(tmp_path, "acme_clouds", "clouds = acme_clouds")
    printed = run(
        """
        import sys
        import dovetail
        assert "acme_clouds" not in sys.modules
        print(dovetail.clouds.rain)
        import dovetail.clouds as clouds
        from dovetail.clouds.inner import deep, late
        from acme_clouds.inner.deep import Drop
        assert deep.Drop is Drop and clouds is sys.modules["acme_clouds"] is dovetail.clouds
        print(late.here)
        """,
        tmp_path,
    )
    assert printed.split() == ["rain", "acme_clouds.inner.late"]


def test_no_finder_is_asked_before_those_of_python():
    printed = run(
        """
        import sys
        before = list(sys.meta_path)
        import dovetail, dovetail.distributed, dovetail.nn.parallel
        print(sys.meta_path[: len(before)] == before, len(sys.meta_path) > len(before))
        """,
        DOVETAIL_BLOCK="dovetail-mpi",
    )
    assert printed.split() == ["True", "True"]


def test_a_module_of_the_front_end_is_not_replaced_by_one_that_claims_its_name(tmp_path: Path):
    (tmp_path / "impostor.py").write_text("1 / 0\n")
    install(tmp_path, "impostor", "nn = impostor")
    assert run("import dovetail.nn; print(dovetail.nn.__name__)", tmp_path) == "dovetail.nn\n"


def test_a_module_that_fails_to_import_says_so_and_breaks_nothing_else(tmp_path: Path):
    (tmp_path / "brittle.py").write_text("1 / 0\n")
    install(tmp_path, "brittle", "brittle = brittle")
    printed = run(
        """
        import dovetail
        for _ in range(2):
            try:
                dovetail.brittle
            except dovetail.PluginError as error:
                print(error)
        print(dovetail.ones(1).tolist(), hasattr(dovetail, "nothing_of_the_kind"))
        """,
        tmp_path,
    )
    assert printed.count("module 'brittle' of brittle 1.0 failed to load from 'brittle'") == 2
    assert printed.endswith("[1.0] False\n")


def test_without_the_plugin_distributed_names_say_what_to_install():
    printed = run(
        """
        import dovetail
        from dovetail.distributed import nn
        from dovetail.nn.parallel import DistributedDataParallel
        from dovetail.utils.data import DistributedSampler

        assert not dovetail.distributed.is_available()
        assert not dovetail.distributed.is_initialized()
        assert not isinstance(dovetail.nn.Linear(1, 1), DistributedDataParallel)
        for call in (
            lambda: dovetail.distributed.init_process_group("mpi"),
            lambda: nn.all_reduce,
            lambda: DistributedDataParallel(dovetail.nn.Linear(2, 3)),
            lambda: DistributedSampler(range(3)),
        ):
            try:
                call()
            except (AttributeError, RuntimeError) as error:
                print(type(error).__mro__[1].__name__, error)
        """,
        DOVETAIL_BLOCK="dovetail-mpi",
    )
    assert [line.split()[0] for line in printed.splitlines()] == [
        "Exception",
        "AttributeError",
        "Exception",
        "Exception",
    ]
    assert printed.count("from where dovetail came from (plugins/mpi in a clone)") == 4


def test_without_the_plugin_a_program_imports_what_it_may_never_call():
    printed = run(
        """
        import dovetail
        from dovetail import distributed
        from dovetail.distributed import ProcessGroup, ReduceOp, all_gather, all_reduce, get_rank

        print(distributed.is_nccl_available(), ReduceOp.SUM != ReduceOp.MAX, all_reduce.__name__)
        for call in (lambda: all_reduce(dovetail.ones(1), ReduceOp.SUM), get_rank, ProcessGroup):
            try:
                call()
            except RuntimeError as error:
                print(error)
        try:
            from dovetail.distributed import fully_shard
        except ImportError as error:
            print(error)
        """,
        DOVETAIL_BLOCK="dovetail-mpi",
    )
    lines = printed.splitlines()
    assert lines[0] == "False True all_reduce"
    names = ("all_reduce", "get_rank", "ProcessGroup")
    for name, line in zip(names, lines[1:4], strict=True):
        assert line.startswith(f"dovetail.distributed.{name}: processes do not work together")
        assert "pip install mpich" in line
    assert "fully_shard" in lines[4]


def test_import_of_dovetail_loads_no_module_of_a_plugin():
    printed = run(
        """
        import sys
        import dovetail, dovetail.nn
        print([name for name in sys.modules if name.startswith(("dovetail_mpi", "mpi4py"))])
        """
    )
    assert printed == "[]\n"
