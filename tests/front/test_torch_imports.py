"""``as_torch``, ``dovetail run``, and what asks for a compiler."""

import importlib.metadata
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

import dovetail
from dovetail.torch_version import TorchVersion


def run(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dovetail", "run", *words]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env={**os.environ, **environment},
    )


def test_imports_of_torch_give_the_modules_of_dovetail() -> None:
    with dovetail.as_torch() as given:
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torch.nn.modules.linear import Linear
        from torch.utils.checkpoint import checkpoint

    assert torch is given
    assert torch.torch is given
    assert torch.Tensor is dovetail.Tensor
    assert nn is dovetail.nn
    assert F is dovetail.nn.functional
    assert Linear is dovetail.nn.Linear
    assert checkpoint is dovetail.utils.checkpoint.checkpoint
    assert dovetail.nn.__spec__.name == "dovetail.nn"


def test_what_was_imported_as_torch_before_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = type(sys)("torch")
    monkeypatch.setitem(sys.modules, "torch", before)
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), dovetail.as_torch():
        import torch

        assert torch is not before
        _ = 1 / 0
    assert sys.modules["torch"] is before
    assert sys.meta_path == finders


def test_torch_has_the_version_that_it_follows() -> None:
    with dovetail.as_torch() as torch:
        assert importlib.metadata.version("torch") == "2.13.0"
    assert torch.__version__ >= (2, 13)
    assert torch.__version__ >= "2.9"
    assert torch.__version__ < "2.13.1"
    assert torch.__version__ == TorchVersion("2.13")
    assert torch.__version__.split(".")[0] == "2"


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            "torch.softplus",
            "module 'dovetail' has no attribute 'softplus': it is not in Dovetail. "
            "The nearest is dovetail.nn.functional.softplus.",
        ),
        ("torch.nn.Lineer", "it is not in Dovetail. The nearest is dovetail.nn.Linear."),
        (
            "torch.sparse_bsr_tensor",
            "it is not in Dovetail. dovetail.sparse_coo_tensor and sparse_csr_tensor make",
        ),
        ("torch.linalg.qrr", "module 'dovetail.linalg' has no attribute 'qrr': it is not in"),
        ("torch.qqqqqq", "module 'dovetail' has no attribute 'qqqqqq': it is not in Dovetail."),
    ],
)
def test_a_name_that_is_not_there_says_so_and_names_the_nearest(statement: str, text: str) -> None:
    with dovetail.as_torch() as torch, pytest.raises(AttributeError) as caught:
        import torch.linalg
        import torch.nn

        eval(statement, {"torch": torch})
    assert text in str(caught.value)


def test_a_module_that_is_not_there_says_so() -> None:
    with dovetail.as_torch(), pytest.raises(ModuleNotFoundError, match="not in Dovetail") as caught:
        import torch.export  # noqa: F401 - it is not there
    assert "No module named 'torch.export'" in str(caught.value)
    assert caught.value.name == "torch.export"


def test_a_name_set_on_torch_stays_there() -> None:
    with dovetail.as_torch() as torch:
        torch.marker = 3
        import torch as again

        assert again.marker == 3
    assert not hasattr(dovetail, "marker")


def test_a_script_runs_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 7\n")
    (tmp_path / "train.py").write_text(
        "import sys\nimport beside\nimport torch\n"
        "print(sys.argv, __name__, beside.value, torch.arange(3).sum().item())\n"
    )
    done = run("train.py", "--lr", "0.1", "-m", cwd=tmp_path)
    assert done.stdout == "['train.py', '--lr', '0.1', '-m'] __main__ 7 3\n"
    assert done.stderr == "dovetail 0.1.0 stands in for torch in this process\n"
    assert done.returncode == 0


def test_a_module_runs_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys\nimport torch\nprint(sys.argv[1:], torch.nn.__name__)\nsys.exit(5)\n"
    )
    done = run("-q", "-m", "package", "-x", "y", cwd=tmp_path)
    assert done.stdout == "['-x', 'y'] dovetail.nn\n"
    assert done.stderr == ""
    assert done.returncode == 5


def test_an_error_of_a_program_has_the_traceback_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.compile_all()\n")
    done = run("-q", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[:3] == [
        "Traceback (most recent call last):",
        '  File "train.py", line 2, in <module>',
        "    torch.compile_all()",
    ]
    assert "'compile_all': it is not in Dovetail." in done.stderr


STARTED = {
    "subprocess": """
        import subprocess, sys
        code = "import torch; print(torch.nn.__name__, torch.float32)"
        subprocess.run([sys.executable, "-c", code])
    """,
    "grandchild": """
        import subprocess, sys
        code = "import torch.nn as n; print(n.__name__, __import__('torch').float32)"
        inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
        subprocess.run([sys.executable, "-c", inner])
    """,
    "spawned": """
        import multiprocessing
        import torch
        def work(x):
            return torch.nn.__name__, str((x * 2).dtype)
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(*pool.apply(work, [torch.ones(2)]))
    """,
    "version": """
        import subprocess, sys
        code = "from importlib.metadata import version; print(version('torch'));"
        code += "import torch; print(torch.nn.__name__, torch.float32)"
        subprocess.run([sys.executable, "-c", code])
    """,
}


@pytest.mark.parametrize("how", STARTED)
def test_processes_that_a_program_starts_find_dovetail_too(how: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(STARTED[how]))
    done = run("-q", "train.py", cwd=tmp_path)
    assert done.stdout.split() == [*["2.13.0"] * (how == "version"), "dovetail.nn", "torch.float32"]
    assert (done.stderr, done.returncode) == ("", 0)


def test_processes_find_dovetail_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "lib").symlink_to(Path(dovetail.__file__).parents[1])
    (tmp_path / "train.py").write_text(textwrap.dedent(next(iter(STARTED.values()))))
    done = run("-q", "train.py", cwd=tmp_path, PYTHONPATH=str(tmp_path / "lib"))
    assert done.stdout.split() == ["dovetail.nn", "torch.float32"]


def test_processes_keep_their_own_start_and_path(tmp_path: Path) -> None:
    """The `sitecustomize` of before is executed; nothing is imported for other programs."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.custom = 7\n")
    (tmp_path / "train.py").write_text(
        "import subprocess, sys\n"
        "code = 'import sys; print(sys.custom, \"dovetail\" in sys.modules,'\n"
        'code += \' [p for p in sys.path if "new_processes" in p], "numpy" in sys.modules)\'\n'
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout)"
    )
    done = run("-q", "train.py", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == "7 False [] False"


@pytest.mark.parametrize("words", [("absent.py",), ()])
def test_without_a_program_the_usage_is_said(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "dovetail run script.py, or dovetail run -m module" in done.stderr


def test_compiling_returns_the_function_and_says_so_once() -> None:
    from dovetail import compiler

    def double(x):
        return x * 2

    compiler._noticed = False
    with pytest.warns(UserWarning, match="Dovetail has no compiler") as caught:
        assert dovetail.compile(double) is double
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dovetail.compile(fullgraph=True)(double) is double
        assert dovetail.jit.script(double) is double
        assert dovetail.jit.ignore(double) is double
        assert dovetail.jit.ignore(drop=True)(double) is double
        assert dovetail.jit.unused(double) is double
        assert dovetail.compiler.disable(double) is double
        assert dovetail.compiler.disable(recursive=False)(double) is double
        assert dovetail._dynamo.optimize("eager")(double) is double
    assert not dovetail.jit.is_scripting()
    assert not dovetail.compiler.is_compiling()


@pytest.mark.parametrize("name", ["load", "freeze"])
def test_what_needs_a_graph_raises(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"dovetail.jit.{name}: .* compiles none"):
        getattr(dovetail.jit, name)(None)


def test_nothing_is_a_compiled_module() -> None:
    assert not isinstance(dovetail.nn.Linear(1, 1), dovetail.jit.ScriptModule)
    with pytest.raises(NotImplementedError, match="ScriptFunction"):
        dovetail.jit.ScriptFunction()


def test_switches_of_cudnn_are_set_inside_a_block() -> None:
    cudnn = dovetail.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    assert not cudnn.is_available()


def test_devices_without_a_backend_say_that_they_are_not_available() -> None:
    assert not dovetail.backends.mps.is_available()
    assert not dovetail.mps.is_available()
    assert not dovetail.xpu.is_available()
    assert dovetail.cpu.is_available()
    assert dovetail.accelerator.is_available() == dovetail.cuda.is_available()


def test_operators_with_private_names_are_found_at_the_top() -> None:
    dovetail.manual_seed(0)
    drawn = dovetail._standard_gamma(dovetail.ones(2))
    dovetail.manual_seed(0)
    assert drawn.tolist() == dovetail.distributions.Gamma(dovetail.ones(2), 1.0).sample().tolist()
    assert dovetail._softmax(dovetail.zeros(2), 0, False).tolist() == [0.5, 0.5]
    assert not hasattr(dovetail, "_operator_that_there_is_not")


def test_the_context_of_a_function_has_a_class() -> None:
    from dovetail.autograd.function import BackwardCFunction, Function, FunctionCtx

    seen = []

    class Double(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: dovetail.Tensor) -> dovetail.Tensor:
            seen.append(isinstance(ctx, FunctionCtx))
            return 2 * x

        @staticmethod
        def backward(ctx: FunctionCtx, grad: dovetail.Tensor) -> dovetail.Tensor:
            seen.append(isinstance(ctx, FunctionCtx))
            return 2 * grad

    x = dovetail.ones(2, requires_grad=True)
    y = Double.apply(x)
    y.sum().backward()
    assert seen == [True, True]
    assert isinstance(y.grad_fn, BackwardCFunction)
    assert not isinstance((x * x).grad_fn, FunctionCtx)


def test_classes_of_tensors_name_the_modules_of_torch_inside() -> None:
    before = dovetail.Tensor.__module__, dovetail.nn.Parameter.__module__
    with dovetail.as_torch():
        assert dovetail.Tensor.__module__ == "torch"
        assert dovetail.nn.Parameter.__module__ == "torch.nn.parameter"
        parameter = dovetail.nn.Parameter(dovetail.ones(2))
        assert pickle.loads(pickle.dumps(parameter)).tolist() == [1, 1]
    assert (dovetail.Tensor.__module__, dovetail.nn.Parameter.__module__) == before


def test_classes_name_the_modules_of_torch_inside() -> None:
    module = dovetail.nn.Conv2d(1, 1, 1)
    with dovetail.as_torch() as torch:
        from torch.nn.utils.rnn import PackedSequence

        assert module.__module__ == "torch.nn.modules.conv"
        assert type(torch.nn.ReLU()).__module__ == "torch.nn.modules.activation"
        assert str(torch.nn.Sequential) == "<class 'torch.nn.modules.container.Sequential'>"
        assert torch.optim.SGD.__module__.startswith("torch.optim")
        assert PackedSequence.__module__ == "torch.nn.utils.rnn"
        assert torch.distributions.Normal.__module__.startswith("torch.distributions")
        loaded = pickle.loads(pickle.dumps(module))
        assert loaded.weight.tolist() == module.weight.tolist()
        assert b"torch.nn.modules.conv" in pickle.dumps(module)
        assert torch.fx.symbolic_trace(torch.nn.Sequential(module)).graph.find_nodes(
            op="call_module", target="0"
        )
        normal = torch.distributions.Normal(torch.zeros(1), 1).expand([3])
        assert type(normal) is torch.distributions.Normal
    assert module.__module__ == "dovetail.nn"
    assert pickle.loads(pickle.dumps(module)).weight.tolist() == module.weight.tolist()


def test_types_of_tensors_and_storages_are_named_as_in_torch_inside() -> None:
    x = dovetail.ones(2, device="cpu")
    storage = x.untyped_storage()
    assert (x.type(), storage.type()) == ("dovetail.FloatTensor", "dovetail.storage.UntypedStorage")
    with dovetail.as_torch():
        assert (x.type(), storage.type()) == ("torch.FloatTensor", "torch.storage.UntypedStorage")
        assert x.type(x.type()).tolist() == [1, 1]


def test_the_module_that_stands_for_torch_has_a_file() -> None:
    with dovetail.as_torch() as torch:
        assert torch.__file__ == dovetail.__file__


@pytest.mark.parametrize("package", ["nn", "optim", "distributions", "utils.data"])
def test_the_module_that_a_class_names_is_there(package: str) -> None:
    before = {name for name in sys.modules if name.startswith("torch.")}
    with dovetail.as_torch():
        found = importlib.import_module(f"torch.{package}")
        classes = [value for value in vars(found).values() if isinstance(value, type)]
        named = {each for each in classes if each.__module__.startswith("torch.")}
        assert named
        absent = {each for each in named if each.__module__ not in sys.modules}
        assert not absent
        assert all(inspect.getmodule(each) is sys.modules[each.__module__] for each in named)
    assert {name for name in sys.modules if name.startswith("torch.")} == before


def test_the_module_of_a_class_is_there_without_an_import() -> None:
    with dovetail.as_torch() as torch:
        for each in (torch.autograd.Function, torch.profiler.profile, torch.fx.Graph):
            assert each.__module__.startswith("torch.")
            assert inspect.getmodule(each) is sys.modules[each.__module__]
