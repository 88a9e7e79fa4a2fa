"""A selective build has the operators of a list and what these need, trains and computes as the
whole library does, and says what to add when something else is called.

`DOVETAIL_BUILDS=100` makes more builds of random lists; `DOVETAIL_FIRST_BUILD` begins elsewhere.
"""

from __future__ import annotations

import json
import os
import pickle
from ast import literal_eval
from pathlib import Path
from random import Random

import numpy as np
import pytest
import selective_builds
from selective_builds import Call, copy_package, python, results, without_tensors
from typer.testing import CliRunner

import dovetail_aten
from dovetail.command import app
from dovetail_aten.codegen.__main__ import main
from dovetail_dispatcher.testing import OpInfo, op_infos
from dovetail_kernel import Device, float32, int64

pytestmark = pytest.mark.cpu_only(reason="other processes run the builds")

BUILDS = int(os.environ.get("DOVETAIL_BUILDS", "2"))
FIRST_BUILD = int(os.environ.get("DOVETAIL_FIRST_BUILD", "0"))
SAMPLES = 3

MLP = "[linear, relu, mse_loss]"
"""What a multilayer perceptron calls by name; the rest is dragged in."""

CHECKED = "[linear, relu, mse_loss, isfinite, all, flip, _local_scalar_dense]"
"""The same, and what the checks of ``dovetail check`` call."""

TRAIN = """
import numpy
import dovetail
from dovetail import nn
from dovetail.nn import functional as F

dovetail.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = dovetail.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x = dovetail.from_numpy(numpy.linspace(-1, 1, 48, dtype="float32").reshape(16, 3))
y = dovetail.from_numpy(numpy.linspace(0, 1, 16, dtype="float32").reshape(16, 1) ** 2)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(float(loss.array))
"""

CALLS = [
    ("dovetail.sigmoid(x)", "sigmoid"),
    ("x.sigmoid()", "sigmoid"),
    ("x.sigmoid_()", "sigmoid_"),
    ("F.sigmoid(x)", "sigmoid"),
    ("F.gelu(x)", "gelu"),
    ("F.cross_entropy(x, x)", "cross_entropy_loss"),
    ("x == x", "eq"),
    ("x // 2", "floor_divide"),
    ("x.__ifloordiv__(2)", "floor_divide_"),
    ("x.T", "numpy_T"),
    ("dovetail.norm(x)", "linalg_vector_norm"),
    ("dovetail.ops.aten.sigmoid", "sigmoid"),
    ("dovetail.ops.aten.sigmoid.default", "sigmoid"),
]
"""Calls of operators that were left out, each with its operator."""


def build(folder: Path, ops: str, *options: str) -> Path:
    """Make a build of the operators that a YAML text lists; return the folder to put in the
    path.
    """
    package = copy_package(folder)
    (folder / "ops.yaml").write_text(ops, encoding="utf-8")
    assert main(["--folder", str(package), "--ops", str(folder / "ops.yaml"), *options]) == 0
    return folder


def refusal(folder: Path, ops: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return why a list is refused."""
    (folder / "ops.yaml").write_text(ops, encoding="utf-8")
    package = Path(dovetail_aten.__file__).parent
    capsys.readouterr()
    arguments = ["--folder", str(package), "--ops", str(folder / "ops.yaml"), "--explain"]
    assert main([*arguments, *options]) == 1
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("mlp"), MLP)


@pytest.fixture(scope="module")
def inference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("inference"), "[linear, relu]", "--no-autograd")


# -- what it does ----------------------------------------------------------------------------------


def test_three_listed_operators_train_a_perceptron_as_the_whole_library_does(mlp: Path) -> None:
    trained = python(mlp, "-c", f"{TRAIN}\nprint(losses)").decode()
    namespace: dict[str, list[float]] = {}
    exec(TRAIN, namespace)
    # BLAS may sum in another order where arrays are aligned in another way.
    assert literal_eval(trained) == pytest.approx(namespace["losses"], rel=1e-4)
    assert namespace["losses"][-1] < namespace["losses"][0] / 3


def test_a_build_is_smaller_than_the_whole_library(mlp: Path) -> None:
    def lines(package: Path) -> int:
        return sum(len(path.read_bytes().splitlines()) for path in package.rglob("*.py"))

    whole = Path(dovetail_aten.__file__).parent / "_generated"
    assert lines(mlp / "dovetail_aten" / "_generated") < lines(whole) / 3


def test_every_module_of_the_front_end_can_be_imported_with_a_build(mlp: Path) -> None:
    python(
        mlp,
        "-c",
        "import dovetail, importlib, pkgutil\n"
        "for root in ('dovetail', 'dovetail_aten', 'dovetail_cpu', 'dovetail_autograd'):\n"
        "    package = importlib.import_module(root)\n"
        "    for module in pkgutil.walk_packages(package.__path__, root + '.'):\n"
        "        if module.name.endswith('__main__') or '.tensorboard' in module.name:\n"
        "            continue  # the latter needs a package that need not be there\n"
        "        importlib.import_module(module.name)\n",
    )


def test_a_build_without_autograd_computes_and_has_no_derivatives(inference: Path) -> None:
    code = """
import dovetail
from dovetail import nn
from dovetail_aten._generated import derivatives
model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
for parameter in model.parameters():
    parameter.requires_grad_(False)
model[0].weight.copy_(dovetail.tensor([[1.0, 2.0], [-1.0, 0.0]]))
print(model(dovetail.tensor([[3.0, 4.0]])).tolist(), derivatives.OPERATORS)
"""
    assert python(inference, "-c", code).decode().strip() == "[[11.0, 0.0]] {}"


def test_the_checks_of_all_operators_that_a_build_has_pass_on_it(tmp_path: Path) -> None:
    folder = build(tmp_path, CHECKED)
    code = "from dovetail.command import app; app(['check', 'aten'])"
    *_, last = python(folder, "-c", code).decode().splitlines()
    assert " 0 failed" in last and int(last.split()[0]) > 100


def test_a_class_may_override_the_functions_of_a_build(inference: Path) -> None:
    code = """
import dovetail
class Named(dovetail.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
x = dovetail.Tensor._make_subclass(Named, dovetail.ones(2, 2))
print(x.shape, x.relu(), x.T)
try:
    dovetail.ones(2, 2).T
except NotImplementedError as error:
    print(str(error).partition(' of ')[0])
"""
    assert python(inference, "-c", code).decode() == (
        "__get__ relu __get__\naten::numpy_T was left out\n"
    )


def test_backward_says_that_a_build_has_no_derivatives(inference: Path) -> None:
    code = """
import dovetail
from dovetail import nn
try:
    dovetail.relu(dovetail.ones(2, requires_grad=True)).backward(dovetail.ones(2))
except RuntimeError as error:
    print(error)
"""
    assert python(inference, "-c", code).decode().strip() == (
        "Trying to backward through aten.relu.default but no autograd formula was registered. This "
        "selective build of dovetail_aten has no derivatives. Generate it again without "
        "--no-autograd: dovetail codegen dovetail_aten --ops ops.yaml"
    )


# -- what it has not -------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "operator"), CALLS)
def test_an_operator_that_was_left_out_says_what_to_add(
    left_out: dict[str, str], call: str, operator: str
) -> None:
    kind = "AttributeError" if ".ops." in call else "NotImplementedError"
    assert left_out[call] == (
        f"{kind}: aten::{operator} was left out of this selective build of dovetail_aten, which "
        "has what ops.yaml lists (linear, relu, mse_loss) and what these need. Add "
        f"'- {operator}' to ops.yaml and generate it again: dovetail codegen dovetail_aten --ops "
        "ops.yaml"
    )


@pytest.fixture(scope="module")
def left_out(mlp: Path) -> dict[str, str]:
    """What a call of operators that are not in the build raises, by call."""
    code = """
import json, sys
import dovetail
from dovetail.nn import functional as F
x = dovetail.ones(2, 2)
found = {}
for call in json.load(sys.stdin):
    try:
        eval(call)
        found[call] = "nothing"
    except Exception as error:
        found[call] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""
    found: dict[str, str] = json.loads(
        python(mlp, "-c", code, given=json.dumps([call for call, _ in CALLS]).encode())
    )
    return found


# -- what is refused -------------------------------------------------------------------------------


def test_what_is_needed_cannot_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(tmp_path, "ops: [linear]\nwithout:\n  - gelu\n  - t\n  - dot\n", capsys)
    first, *reasons, remedy = said.splitlines()
    assert first == "ops.yaml:4: t, dot cannot be left out:"
    assert reasons == [
        "  t: linear, whose composite families/matmul/composites/matmul.py:linear needs t",
        "  dot: linear, whose composite families/matmul/composites/matmul.py:linear needs dot",
    ]
    assert remedy == " Take them out of 'without', or leave out what needs them."


def test_a_derivative_needs_what_it_calls_and_no_autograd_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "{ops: [relu], without: [threshold_backward]}"
    said = refusal(tmp_path, text, capsys)
    assert "threshold_backward: relu, whose derivative activations/derivatives.yaml:" in said
    build(tmp_path, text, "--no-autograd")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- add\n- rellu\n", "ops.yaml:2: no operator rellu is declared. Did you mean"),
        ("{ops: [add], without: [nosuch]}", "ops.yaml:1: no operator nosuch is declared."),
        ("ops: [add]\nwith: [mul]\n", "ops.yaml:2: unknown key 'with'. Write '- add' lines"),
        ("add\n", "ops.yaml:1: not a list of operator names."),
        ("- [add]\n", "ops.yaml:1: not the name of an operator."),
        ("[add\n", "ops.yaml:2: not YAML: "),
        ("", "ops.yaml:1: not a list of operator names."),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    assert words in refusal(tmp_path, text, capsys)


def test_the_command_explains_what_each_entry_drags_in(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text("[mm, aten::square]", encoding="utf-8")
    package = Path(dovetail_aten.__file__).parent
    arguments = ["codegen", str(package), "--ops", str(tmp_path / "ops.yaml"), "--explain"]
    shown = CliRunner().invoke(app, arguments).output
    place = "composite families/pointwise/composites/pointwise.py:square"
    rows = [line.split() for line in shown.splitlines()]
    assert rows[0] == ["entry", "drags", "in", "called", "by", "in"]
    assert ["square", "pow", "square", *place.split()] in rows
    assert rows[-1][:4] == ["2", "operators", "listed,", rows[-1][3]]
    table = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)
    assert {"operator": "pow", "called_by": "square", "in": place} in table["square"]


def test_options_of_a_selective_build_need_a_list() -> None:
    package = str(Path(dovetail_aten.__file__).parent)
    result = CliRunner().invoke(app, ["codegen", package, "--no-autograd"])
    assert result.exit_code == 2
    assert "--explain and --no-autograd go with --ops LIST.yaml. Give a list." in result.output


# -- random lists ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(FIRST_BUILD, FIRST_BUILD + BUILDS))
def test_what_a_list_names_computes_as_in_the_whole_library(tmp_path: Path, seed: int) -> None:
    """Every listed operator on samples, with its gradient over arrays and over tensors."""
    random = Random(seed)
    infos = op_infos("aten")
    chosen = random.sample(infos, random.randint(1, 5))
    names = [info.name.removeprefix("aten::") for info in chosen]
    calls = [call for info in chosen for call in _calls(info, random)]
    print(f"DOVETAIL_FIRST_BUILD={seed}: {names}")
    folder = build(tmp_path, f"[{', '.join(map(repr, names))}]")
    script = selective_builds.__file__
    found = pickle.loads(python(folder, script, given=pickle.dumps(calls)))
    expected = results(calls)
    for call, mine, whole in zip(
        [call for call in calls for _ in range(2)], found, expected, strict=True
    ):
        np.testing.assert_equal(mine, whole, err_msg=f"{call.name} in a build of {names}")


def _calls(info: OpInfo, random: Random) -> list[Call]:
    dtype = next((each for each in (float32, int64) if each in info.dtypes), None)
    if dtype is None:
        dtype = min(info.dtypes, key=str)
    differentiable = dtype is float32 and info.supports_autograd
    samples = info.sample_inputs(Device("cpu"), dtype, differentiable)
    chosen = random.sample(samples, min(SAMPLES, len(samples)))
    return [
        Call(
            info.name,
            tuple(map(without_tensors, sample.arguments)),
            {name: without_tensors(value) for name, value in sample.kwargs.items()},
            info.is_random,
        )
        for sample in chosen
    ]
