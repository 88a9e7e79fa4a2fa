"""The ``dovetail`` command."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from py_compile import compile as compile_module
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dovetail
from dovetail import Tensor
from dovetail.command import app
from dovetail.command.common import print_rows
from dovetail.inspection import installation_checks
from dovetail.library import Library, _scoped_library, register_fake, register_op_infos
from dovetail.testing import OpInfo, SampleInput, TensorMaker, floating_types
from dovetail_dispatcher.compiled_code import is_in_force
from dovetail_kernel import plugin_manager

pytestmark = pytest.mark.cpu_only(
    reason="the command runs in this process, with what it prints about the cpu"
)


def run(*words: str) -> str:
    """Return what the command prints; it has to succeed."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def failure(*words: str, status: int = 1) -> str:
    """Return what the command complains of; it has to fail, and to print nothing else."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == status
    assert result.stdout == ""
    return result.stderr


def test_plugins_lists_each_with_its_state() -> None:
    lines = run("plugins").splitlines()
    assert any(
        line.split()[:5] == ["dovetail-aten", "0.1.0", "dovetail.libraries", "aten", "available"]
        for line in lines
    )


def test_plugins_as_json_has_a_record_per_entry_point() -> None:
    records = json.loads(run("plugins", "--json"))
    names = {(record["group"], record["name"]) for record in records}
    assert {
        ("dovetail.backends", "cpu"),
        ("dovetail.transforms", "autograd"),
        ("dovetail.libraries", "aten"),
    } <= names
    kernels = {(record["group"], record["name"]): record["kernels"] for record in records}
    assert kernels["dovetail.libraries", "aten"] > 100
    assert set(records[0]) == {"distribution", "version", "group", "name", "state", "kernels"}


def test_ops_prints_the_schemas_that_match() -> None:
    lines = run("ops", "aten::add.*").splitlines()
    assert "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in lines
    assert all(line.startswith("aten::add.") for line in lines)


def test_ops_as_json_gives_schemas_by_name() -> None:
    assert json.loads(run("ops", "aten::relu", "--json")) == {
        "aten::relu": "aten::relu(Tensor self) -> Tensor"
    }


def test_ops_knows_names_with_underscores() -> None:
    assert "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor" in run(
        "ops", "aten::__and__*"
    )


def test_table_is_the_computed_table() -> None:
    lines = [line.partition(": ") for line in run("table", "aten::add.Tensor").splitlines()]
    whole = dovetail._C._dispatch_dump_table("aten::add.Tensor")  # the command loads the backends
    assert [f"{key}: {rest}" for keys, _, rest in lines for key in keys.split(", ")] == (
        whole.splitlines()
    )


def test_neighbours_of_the_table_with_one_kernel_share_a_line() -> None:
    lines = run("table", "aten::relu").splitlines()
    rests = [line.partition(": ")[2] for line in lines]
    assert all(first != second for first, second in pairwise(rests))
    assert any(line.startswith("AutogradOther, AutogradCPU, AutogradCUDA, ") for line in lines)


@pytest.mark.parametrize("name", ["relu", "aten::relu", "aten::relu.default"])
def test_an_operator_without_namespace_is_looked_for_in_aten(name: str) -> None:
    assert run("table", name) == run("table", "aten::relu")
    assert run("ops", "relu") == run("ops", "aten::relu")


def asked(*words: str) -> str:
    """Return what the command asks for; the status is that of a command not understood."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert result.stdout == ""
    return result.stderr


def test_a_packet_lists_its_overloads() -> None:
    text = asked("table", "add")
    assert text.startswith("add has 4 overloads:\n")
    assert "  aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n" in text
    assert "Example: dovetail table aten::add.Scalar" in text


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("aten::add", "aten::add has 4 overloads:"),
        ("aten::relu", "aten::relu needs --args:"),
        ("add", "add needs arguments. Give them as --args: add(input, other"),
        ("nn.functional.relu", "nn.functional.relu needs arguments"),
    ],
)
def test_missing_arguments_are_asked_for(op: str, said: str) -> None:
    text = asked("explain", op)
    assert text.startswith(said)
    assert f"Example: dovetail explain {op}" in text


def test_the_route_is_shown_on_request() -> None:
    words = ("explain", "aten::relu", "--args", "dovetail.ones(2)")
    without, whole = run(*words), run(*words, "--route")
    assert re.search(r"└─ route of \d+ lines, not shown", without)
    assert "def relu(" not in without
    assert "def relu(" in whole


def test_a_pattern_that_matches_nothing_fails() -> None:
    for command in ("ops", "coverage"):
        text = failure(command, "aten::reluu*", status=2)
        assert "no operator matches 'aten::reluu*'. Did you mean 'aten::relu'?" in text


def test_the_examples_of_listings_list_something() -> None:
    assert "aten::conv2d" in run("coverage", "aten::conv*")
    text = run("coverage", "aten::conv2d*", "--missing")
    assert "cpu: 2 of 2 operators" in text


def test_a_table_of_many_columns_keeps_the_name_of_each_row_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ("operator", *(f"board{number}" for number in range(26)))
    print_rows([dict.fromkeys(columns, "kernel") | {"operator": "aten::conv2d.padding"}], columns)
    assert "aten::conv2d.padding" in capsys.readouterr().out


def test_a_script_that_fails_in_graph_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    for content, said in (
        ("import nothing_like_it\n", "does not run: ModuleNotFoundError at .*:1: import nothing"),
        ("def loss():\n    return 1 / 0\n", r"loss\(\) of .* raised: ZeroDivisionError at .*:2: "),
        ("def loss():\n    return 3\n", r"loss\(\) of .* returned int, and no tensor"),
    ):
        file.write_text(content)
        assert re.search(said, failure("graph", f"{file}:loss"))


def test_table_as_json_has_a_row_per_key() -> None:
    data = json.loads(run("table", "aten::add.Tensor", "--json"))
    rows = {row["key"]: row["rule"] for row in data["table"]}
    assert data["operator"] == "aten::add.Tensor"
    assert rows["AutogradCPU"] == "autograd kernel"


def test_table_of_an_unknown_operator_suggests_the_nearest() -> None:
    assert "Did you mean 'aten::add.Tensor'?" in failure("table", "aten::ad.Tensor", status=2)


def test_explain_names_the_kernels_of_a_call() -> None:
    text = run(
        "explain",
        "aten::mul.Tensor",
        "--args",
        "dovetail.ones(2, requires_grad=True), dovetail.ones(2)",
    )
    assert "a graph is recorded" in text
    assert "numpy.multiply" in text


def test_explain_takes_keyword_arguments() -> None:
    text = run(
        "explain", "aten::add.Tensor", "--args", "dovetail.ones(2), dovetail.ones(2), alpha=2"
    )
    assert "aten::add.Tensor" in text


def test_explain_chooses_the_overload_by_the_arguments() -> None:
    data = json.loads(run("explain", "aten::sum", "--args", "dovetail.ones(2), [0]", "--json"))
    assert data["operator"] == "aten::sum.dim_IntList"


@pytest.mark.parametrize(
    ("op", "args", "complaint"),
    [
        ("aten::mul.Tensor", "dovetail.ones(", "SyntaxError"),
        ("aten::mul.Tensor", "dovetail.ones(2)", "missing value for argument 'other'"),
        ("aten::nothing", "", "operator aten::nothing does not exist"),
        ("nothing::there.default", "", "does not exist"),
    ],
)
def test_explain_says_what_it_cannot_use(op: str, args: str, complaint: str) -> None:
    assert complaint in failure("explain", op, "--args", args, status=2)


@pytest.mark.parametrize(
    "command", [each.callback.__name__ for each in app.registered_commands if each.callback]
)
def test_the_help_of_every_command_has_an_example(command: str) -> None:
    assert f"Example: dovetail {command}" in " ".join(run(command, "--help").split())


def test_coverage_counts_what_each_backend_has() -> None:
    rows = json.loads(run("coverage", "aten::m*", "--json"))
    by_name = {row["operator"]: row for row in rows}
    assert by_name["aten::mul.Tensor"].items() >= {"cpu": "kernel", "meta": "kernel"}.items()
    assert by_name["aten::matmul"]["cpu"] == "composite"
    assert f"cpu: {len(rows)} of {len(rows)} operators" in run("coverage", "aten::m*")


# -- check -----------------------------------------------------------------------------------------


@pytest.fixture
def library() -> Iterator[Library]:
    with _scoped_library("checked", "DEF") as made:
        yield made


def double(x: Tensor) -> Tensor:
    return x * 2


def test_coverage_can_list_only_what_is_missing(library: Library) -> None:
    for name in ("f", "g"):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, double, "CPU")
    library.impl("g", double, "Meta")
    rows = json.loads(run("coverage", "checked::*", "--missing", "--json"))
    # Others that some test has loaded have neither kernel.
    assert [row["operator"] for row in rows if row["meta"] == ""] == ["checked::f"]
    assert [row["operator"] for row in rows if row["cpu"] == ""] == []


def test_check_names_and_explains_every_check_of_a_library_that_is_in_order() -> None:
    text = run("check", "dovetail-activations")
    assert "activations::snake" in text
    assert (
        "✓ test_schema: what is written to, and what shares memory, is what the schema says" in text
    )
    assert text.splitlines()[-1] == "4 operators: 24 checks passed, 0 failed, 0 skipped"


def test_check_fails_with_a_program_that_shows_the_failure(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", double, "CPU")
    register_fake("checked::f", lambda x: x.new_empty(7), lib=library)
    result = CliRunner().invoke(app, ["check", "checked", "--json"])
    assert result.exit_code == 1
    (failed,) = [each for each in json.loads(result.stdout) if each["check"] == "test_faketensor"]
    assert (failed["operator"], failed["state"]) == ("checked::f", "failed")
    assert "Shapes" in failed["detail"]
    with pytest.raises(Exception, match="test_faketensor failed"):
        exec(failed["reproducer"], {})


def test_check_finds_a_wrong_derivative(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", double, "CPU")
    register_fake("checked::f", lambda x: x.new_empty(x.shape), lib=library)
    dovetail.library.register_autograd("checked::f", lambda ctx, grad: grad * 3, lib=library)
    result = CliRunner().invoke(app, ["check", "checked"])
    assert result.exit_code == 1
    assert "✗ gradcheck: derivatives agree with numeric differentiation" in result.stdout
    assert "GradcheckError" in result.stdout
    assert "To see it again:" in result.stdout


def test_check_says_what_it_could_not_check_and_takes_samples_for_it(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.define("g(Tensor x, str mode) -> Tensor")
    library.impl("g", lambda x, mode: x * 2, "CompositeImplicitAutograd")
    assert "1 operators were not checked at all" in run("check", "checked")
    assert CliRunner().invoke(app, ["check", "checked", "--strict"]).exit_code == 1
    (tmp_path / "samples_of_g.py").write_text(
        "import dovetail\nSAMPLES = {'checked::g': [(dovetail.rand(2, dtype=dovetail.float64), "
        "'a')]}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "0 failed" in run("check", "checked", "--samples", "samples_of_g:SAMPLES", "--strict")


def test_check_refuses_what_has_no_operators() -> None:
    assert "there is no library 'nothing-of-the-kind'" in failure(
        "check", "nothing-of-the-kind", status=2
    )
    assert "has no entry point in the group 'dovetail.libraries'" in failure(
        "check", "numpy", status=2
    )


# -- for authors -----------------------------------------------------------------------------------


def test_conformance_prints_a_row_per_family(library: Library) -> None:
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    infos = [doubled(library.ns, family="arithmetic", ref=lambda x: 2 * x)]
    register_op_infos(library.ns, lambda: infos)
    printed = run("conformance", library.ns, "--check", "reference", "--check", "layouts")
    assert re.search(r"arithmetic +1 +2 +0 +0", printed)
    assert "1 operators on cpu: 0 of 2 checks failed" in printed


def test_conformance_fails_with_what_failed_and_its_sample(library: Library) -> None:
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    register_op_infos(library.ns, lambda: [doubled(library.ns, ref=lambda x: 3 * x)])
    result = CliRunner().invoke(app, ("conformance", library.ns, "--check", "reference"))
    assert result.exit_code == 1
    assert f"✗ {library.ns}::twice: reference" in result.stdout
    assert "The sample is SampleInput(dovetail.float32[2, 3])" in result.stdout
    found = CliRunner().invoke(app, ("conformance", library.ns, "--check", "reference", "--json"))
    assert [each["state"] for each in json.loads(found.stdout)] == ["failed"]


def test_conformance_runs_on_another_backend_and_goes_back() -> None:
    pytest.importorskip("dovetail_loopback", reason="the other backend is not installed")
    words = ("conformance", "activations", "--backend", "loopback", "--check", "samples")
    assert "2 operators on loopback: 0 of 2 checks failed" in run(*words)
    assert dovetail.zeros(1).device.type == "cpu"


def outcomes(*words: str) -> list[str]:
    """Return the operators that a run of conformance tested, and check its last words."""
    result = CliRunner().invoke(
        app, ("conformance", "--check", "samples", "--only", "aten::*mm", "--json", *words)
    )
    assert result.exit_code == 0, result.output
    return list(dict.fromkeys(each["operator"] for each in json.loads(result.stdout)))


def test_conformance_runs_a_sample_that_its_seed_repeats() -> None:
    every = outcomes("--operators", "all")
    some = outcomes("--operators", "3", "--seed", "7")
    assert len(some) == 3
    assert some == outcomes("--operators", "3", "--seed", "7") == [e for e in every if e in some]
    assert some != outcomes("--operators", "3", "--seed", "9")
    parts = [outcomes("--operators", f"{part}/2", "--seed", "7") for part in (1, 2)]
    assert sorted([*parts[0], *parts[1]]) == sorted(every)
    assert outcomes("--operators", "100") == every


def test_conformance_says_how_to_repeat_a_sample_and_how_far_it_is() -> None:
    words = ("conformance", "--check", "samples", "--only", "aten::m*", "--operators", "20")
    result = CliRunner().invoke(app, (*words, "--seed", "7", "--markdown"))
    assert "These again: --operators 20 --seed 7. All: --operators all." in result.stderr
    assert "2 of 20 operators, 0 checks failed" in result.stderr
    assert "20 of 20 operators, 0 checks failed" in result.stderr
    assert (
        "Made by `dovetail conformance --backend cpu --only 'aten::m*' --operators 20 --seed 7 "
        "--markdown`, dovetail"
    ) in result.stdout
    assert re.search(r"A sample of 20 of \d+ operators\.", result.stdout)


@pytest.mark.parametrize("text", ["4/3", "0", "some", "1/0"])
def test_conformance_says_what_operators_may_be(text: str) -> None:
    result = CliRunner().invoke(app, ("conformance", "--operators", text))
    assert result.exit_code == 2
    assert f"--operators is {text!r}. Give how many, such as 100, a part" in result.stderr


def test_conformance_in_several_processes_gives_the_same() -> None:
    assert outcomes("--jobs", "2", "--operators", "3", "--seed", "7") == outcomes(
        "--operators", "3", "--seed", "7"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere",), "namespace 'nowhere' has no OpInfo"),
        (("aten", "--backend", "abacuss"), "abacuss"),
        (("aten", "--backend", "meta"), "no values"),
        (("aten", "--check", "metta"), "there is no check 'metta'"),
    ],
)
def test_conformance_refuses_what_there_is_not(words: tuple[str, ...], complaint: str) -> None:
    text = failure("conformance", *words, status=2)
    assert complaint in text
    assert "These again" not in text  # said of runs that begin


def doubled(namespace: str, **fields: Any) -> OpInfo:
    """Return samples of an operator ``twice``."""

    def samples(info: OpInfo, device: Any, dtype: Any, requires_grad: bool) -> list[SampleInput]:
        return [SampleInput(TensorMaker(device=device, dtype=dtype)(2, 3))]

    return OpInfo(
        name=f"{namespace}::twice",
        dtypes=floating_types(),
        sample_inputs_func=samples,
        supports_autograd=False,
        **fields,
    )


def test_check_runs_on_the_samples_of_an_operator_that_has_them(library: Library) -> None:
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    register_op_infos(library.ns, lambda: [doubled(library.ns)])
    results = json.loads(run("check", library.ns, "--json"))
    assert results[0]["detail"] == "1 sets: sample 0 of float64"


def test_stubs_have_a_class_per_operator_and_overload() -> None:
    tree = ast.parse(run("stubs", "aten"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert {"_of_add", "_of_add_Tensor", "_of_add_Scalar"} <= set(classes)
    names = {
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert {"add", "mul", "_softmax"} <= names
    signature = ast.unparse(classes["_of_add_Tensor"].body[0])
    assert signature.startswith(
        "def __call__(__self, self: _Tensor, other: _Tensor, *, alpha: _Number=...) -> _Tensor"
    )


def test_stubs_satisfy_mypy(tmp_path: Path) -> None:
    run("stubs", "activations", "-o", str(tmp_path / "activations.pyi"))
    (tmp_path / "user.py").write_text(
        "import activations\nimport dovetail\n"
        "x: dovetail.Tensor = activations.snake.default(dovetail.ones(2), a=dovetail.ones(2))\n"
        "activations.snake(dovetail.ones(2), 'wrong')\n"
    )
    root = Path(__file__).resolve().parents[2]
    settings = [
        "--strict",
        "--config-file",
        str(root / "pyproject.toml"),
        "--cache-dir",
        str(root / ".mypy_cache"),
    ]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"^(\S+?):(\d+): error: .*\[(.*)\]$", result.stdout, re.M) == [
        ("user.py", "4", "arg-type")
    ]


def test_stubs_of_an_unknown_library_are_an_error() -> None:
    assert "has no operators" in failure("stubs", "nothing_here", status=2)


def test_codegen_writes_a_library_and_then_finds_it_up_to_date(tmp_path: Path) -> None:
    folder = tmp_path / "my_library"
    folder.mkdir()
    (folder / "native_functions.yaml").write_text(
        "- func: twice(Tensor self) -> Tensor\n  shape: elementwise\n"
    )
    assert "registrations.py" in run("codegen", str(folder))
    assert (
        "aten::twice" in (folder / "_generated" / "registrations.py").read_text()
        or "twice" in (folder / "_generated" / "registrations.py").read_text()
    )
    assert json.loads(run("codegen", str(folder), "--check", "--json")) == []
    (folder / "_generated" / "functions.py").write_text("")
    result = CliRunner().invoke(app, ["codegen", str(folder), "--check"])
    assert (result.exit_code, "stale: " in result.stdout) == (1, True)


def test_codegen_of_a_folder_without_declarations_is_an_error(tmp_path: Path) -> None:
    assert "Give the folder of a package that has it" in failure("codegen", str(tmp_path), status=2)


# -- graph -----------------------------------------------------------------------------------------


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(
        "import dovetail\nw = dovetail.ones(2, requires_grad=True)\ndef loss():\n    return (w * "
        "w).sum(), {'w': w}\n"
    )
    return path


def test_graph_writes_the_svg_of_what_a_function_returns(script: Path, tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    assert run("graph", f"{script}:loss", "-o", str(target)) == f"wrote {target}: 4 boxes\n"
    root = ElementTree.parse(target).getroot()
    assert root.tag.endswith("svg")


def test_graph_prints_a_tree_without_a_file(script: Path) -> None:
    assert [
        re.sub(r"^.*?#\d+ ", "", line).split()[0]
        for line in run("graph", f"{script}:loss").splitlines()[:3]
    ] == ["output", "SumBackward0", "MulBackward0"]


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("{}", "does not name a function"),
        ("{}:nothing", "It has: loss"),
        ("gone.py:f", "there is no file"),
    ],
)
def test_graph_says_what_it_cannot_find(script: Path, target: str, complaint: str) -> None:
    assert complaint in failure("graph", target.format(script), status=2)


# -- new -------------------------------------------------------------------------------------------


def test_a_new_package_names_what_its_tests_need_and_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "first:" not in run("new", "one", "--folder", str(tmp_path))
    monkeypatch.setitem(sys.modules, "dovetail_pytest", None)
    assert "first: install dovetail-pytest, from" in run("new", "two", "--folder", str(tmp_path))


def test_help_keeps_brackets_and_fills_paragraphs() -> None:
    paragraphs = re.split(r"\n\s*\n", run("codegen", "--help"))
    paragraph = next(each for each in paragraphs if "(--ops)" in each)
    assert "[add, mm] or {ops: [add], without: [mm]}" in " ".join(paragraph.split())
    assert all(len(line.strip()) > 60 for line in paragraph.strip().splitlines()[:-1])


# -- doctor ----------------------------------------------------------------------------------------


def doctor() -> dict[str, dict[str, str]]:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    return {finding["subject"]: finding for finding in json.loads(result.stdout)}


def test_doctor_finds_nothing_wrong_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("DOVETAIL_")]:
        monkeypatch.delenv(name)  # such as those that make runs of the tests longer
    findings = doctor()
    assert [each for each in findings.values() if each["state"] == "problem"] == []
    assert findings["device cpu"]["text"] == "is available: 1 device"
    assert findings["a small gradient"]["state"] == "fine"
    assert "dovetail-kernel" in findings["dovetail"]["text"]


def test_doctor_finds_a_misspelt_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_BLOK", "cuda")
    finding = doctor()["DOVETAIL_BLOK"]
    assert (finding["state"], finding["remedy"]) == ("problem", "Did you mean DOVETAIL_BLOCK?")
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 1


def test_doctor_names_words_of_the_block_list_that_block_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOVETAIL_BLOCK", "dovetail_cuda dovetail-nativ")
    findings = doctor()
    assert findings["DOVETAIL_BLOCK='dovetail-nativ'"]["remedy"] == "Did you mean dovetail-native?"
    assert "DOVETAIL_BLOCK='dovetail_cuda'" not in findings


def test_doctor_knows_every_variable_that_dovetail_reads() -> None:
    root = Path(dovetail.__file__).parents[2]
    files = [
        file for folder in (".", "*", "plugins/*") for file in root.glob(f"{folder}/src/**/*.py")
    ]
    files += root.glob("plugins/native/*/*.[ch]")
    sources = [
        each.read_text(encoding="utf-8")
        for each in files
        if each != Path(installation_checks.__file__)
    ]
    read = {name for text in sources for name in re.findall(r'"(DOVETAIL_[A-Z_]+)"', text)}
    assert read == set(installation_checks.VARIABLES)


def test_doctor_finds_threads_that_there_are_no_cores_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    assert doctor()["OMP_NUM_THREADS"]["state"] == "problem"


def test_the_report_of_doctor_has_the_facts_and_nothing_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hush")
    monkeypatch.setenv("DOVETAIL_BLOCK", str(Path.home() / "nothing"))
    text = CliRunner().invoke(app, ["doctor", "--report"]).stdout
    for word in ("dovetail:", "numpy", "BLAS:", "threads:", "backends cpu: dovetail-cpu"):
        assert word in text
    assert "DOVETAIL_BLOCK=~" in text
    assert "hush" not in text and str(Path.home()) not in text
    if is_in_force():
        assert "instruction set" in text
        reasons = text.partition("Python routes:")[2].partition("\n")[0]
        assert reasons and "for program" not in reasons
    else:
        assert "compiled code:" in text


def test_doctor_finds_kernels_without_definition() -> None:
    with _scoped_library("undefined_here", "IMPL") as made:
        made.impl("f", double, "CPU")
        finding = doctor()["operator undefined_here::f"]
    assert "has kernels but no definition" in finding["text"]


def test_doctor_finds_a_plugin_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    record = plugin_manager.list_plugins()[0]._replace(
        name="broken", state="failed: ImportError: no", group="dovetail.libraries"
    )
    monkeypatch.setattr(plugin_manager, "list_plugins", lambda: [record])
    finding = doctor()[f"plugin broken of {record.distribution}"]
    assert (finding["state"], "DOVETAIL_BLOCK" in finding["remedy"]) == ("problem", True)


def module_with_old_bytecode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import a module of Dovetail, so to speak, whose source is newer than its bytecode."""
    source = folder / "dovetail_of_yesterday.py"
    source.write_text("old = True\n")
    compile_module(str(source))
    source.write_text("old = 'and longer'\n")
    module = ModuleType("dovetail_of_yesterday")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "dovetail_of_yesterday", module)


def test_doctor_does_not_mind_old_bytecode_that_the_next_start_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_with_old_bytecode(tmp_path, monkeypatch)
    assert doctor().get("bytecode", {"state": "fine"})["state"] != "problem"


def test_doctor_finds_old_bytecode_that_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_with_old_bytecode(tmp_path, monkeypatch)
    monkeypatch.setattr(os, "access", lambda path, mode: tmp_path not in Path(path).parents)
    finding = doctor()["bytecode"]
    assert finding["state"] == "problem"
    assert "dovetail_of_yesterday" in finding["text"]
    assert "compileall" in finding["remedy"]


def test_doctor_names_devices_that_are_not_available_without_fault() -> None:
    if dovetail.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    assert doctor()["device cuda"]["state"] == "note"


# -- words that the command understands ------------------------------------------------------------


def test_the_command_prints_its_version() -> None:
    assert run("--version").strip() == f"dovetail {version('dovetail')}"


def test_the_table_of_a_fresh_process_has_the_kernel_that_runs() -> None:
    program = "from dovetail.command.application import main; main()"
    words = [sys.executable, "-c", program, "table", "aten::mm"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^CPU\b.*\(dovetail-cpu\) \[kernel\]", text, re.MULTILINE), text


@pytest.mark.parametrize("name", ["add", "mm", "conv2d", "cat", "sum.dim_IntList", "relu"])
def test_the_example_for_an_operator_is_one_that_runs(name: str) -> None:
    said = failure("explain", f"aten::{name}", status=2).splitlines()[-1]
    words = shlex.split(said.removeprefix("Example: dovetail "))
    assert words[:1] == ["explain"] and words[1].startswith(f"aten::{name}")
    assert "raises" not in run(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("graph", "file.py"), "FILE.py:FUNCTION"),
        (("graph", "nowhere.py:loss"), "nowhere.py"),
        (("graph", "nowhere.py:loss", "-o", "loss.png"), r"loss\.svg"),
        (("graph", "nowhere.py:loss", "--limit", "0"), "--limit"),
        (("codegen", ".", "--explain"), "go with --ops"),
        (("check", "aten", "--samples", "json:loads"), "names no dict"),
    ],
)
def test_a_command_that_is_not_understood_ends_with_2(words: tuple[str, ...], said: str) -> None:
    assert re.search(said, failure(*words, status=2))


WRONG = {
    **dict.fromkeys(("ops PATTERN", "coverage PATTERN", "table OP"), "aten::nothing_such"),
    "explain OP": "nn.functional.nothing_such",
    "explain aten::relu --args": "nothing_such",
    **dict.fromkeys(("compare FIRST", "compare HERE SECOND"), "nowhere.json"),
    **dict.fromkeys(("compare HERE HERE --rtol", "compare HERE HERE --atol"), "-1"),
    "check PACKAGE": "nothing_such",
    **dict.fromkeys(("check aten --load", "check aten --samples"), "nothing_such"),
    "conformance NAMESPACE": "nothing_such",
    "conformance --backend": "nothing_such",
    "conformance --check": "nothing_such",
    "conformance --only": "aten::nothing_such",
    **dict.fromkeys(("conformance --operators", "conformance --seed", "conformance --jobs"), "x"),
    "new NAME": "bad name",
    "new signal --namespace": "bad-name",
    "new signal --folder": "HERE",
    "stubs NAMESPACE": "nothing_such",
    "stubs aten --output": "nowhere/aten.pyi",
    "codegen FOLDER": "nowhere",
    "codegen . --ops": "nowhere.yaml",
    "graph TARGET": "nowhere.py:loss",
    "graph HERE:loss --output": "loss.png",
    "graph HERE:loss --limit": "0",
    "run TARGET": "nowhere.py",
    "run -m": "nothing_such",
}
"""A value that cannot be meant for every argument and option that takes one. HERE is a file."""


def test_every_option_refuses_what_cannot_be_meant_with_2() -> None:
    taken = set()
    for name, command in get_command(app).commands.items():
        for each in command.params:
            if each.name != "help" and not getattr(each, "is_flag", False):
                spelled = each.name.upper() if each.param_type_name == "argument" else each.opts[-1]
                taken.add(f"{name} {spelled}")
    shortened = [(words.split()[0], words.split()[-1]) for words in WRONG]
    assert {" ".join(each) for each in shortened} == taken


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_meant_ends_with_2(words: str, tmp_path: Path) -> None:
    file = tmp_path / "here.py"
    file.write_text("def loss():\n    pass\n", encoding="utf-8")
    given = [*words.split(), WRONG[words]]
    if given[-2].isupper():  # the value of an argument stands in its place
        del given[-2]
    said = failure(*[each.replace("HERE", str(file)) for each in given], status=2)
    assert said.strip() and "Traceback" not in said


def test_a_pattern_that_is_a_namespace_is_told_from_an_operator() -> None:
    namespace = next(each for each in plugin_manager.namespaces() if each != "aten")
    assert f"'{namespace}::*'" in failure("ops", namespace, status=2)
    assert "Did you mean" not in failure("ops", "nothing*", status=2)


def test_run_refuses_a_module_that_is_not_there() -> None:
    assert "there is no module 'nowhere_at_all'" in failure(
        "run", "-q", "-m", "nowhere_at_all", status=2
    )


def test_a_name_that_no_distribution_can_have_is_refused() -> None:
    assert "'bad name!' cannot name a distribution" in failure("new", "bad name!", status=2)


@pytest.mark.parametrize("operator", ["aten::add.Tensor", "aten::conv2d"])
def test_places_are_relative_to_the_folder_of_imports(operator: str) -> None:
    texts = [run("table", operator), dovetail._C._dispatch_dump(operator)]
    places = re.findall(r"registered at (\S+)", "\n".join(texts))
    assert any(place.startswith("dovetail_aten/") for place in places)
    assert not any(Path(place).is_absolute() for place in places)
