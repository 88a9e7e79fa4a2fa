"""The ``dovetail`` command."""

import json

import pytest
from typer.testing import CliRunner

import dovetail
from dovetail.command import app


def run(*words: str) -> str:
    """Return what the command prints; it has to succeed."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def failure(*words: str) -> str:
    """Return what the command complains of; it has to fail, and to print nothing else."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert result.stdout == ""
    return result.stderr


def test_plugins_lists_each_with_its_state() -> None:
    lines = run("plugins").splitlines()
    assert any(
        line.split()[:5] == ["dovetail-aten", "0.1.0", "dovetail.libraries", "aten", "available"] for line in lines
    )


def test_plugins_as_json_has_a_record_per_entry_point() -> None:
    records = json.loads(run("plugins", "--json"))
    names = {(record["group"], record["name"]) for record in records}
    assert {("dovetail.backends", "cpu"), ("dovetail.transforms", "autograd"), ("dovetail.libraries", "aten")} <= names
    kernels = {(record["group"], record["name"]): record["kernels"] for record in records}
    assert kernels["dovetail.libraries", "aten"] > 100
    assert set(records[0]) == {"distribution", "version", "group", "name", "state", "kernels"}


def test_ops_prints_the_schemas_that_match() -> None:
    lines = run("ops", "aten::add.*").splitlines()
    assert "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" in lines
    assert all(line.startswith("aten::add.") for line in lines)


def test_ops_as_json_gives_schemas_by_name() -> None:
    assert json.loads(run("ops", "aten::relu", "--json")) == {"aten::relu": "aten::relu(Tensor self) -> Tensor"}


def test_ops_knows_names_with_underscores() -> None:
    assert "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor" in run("ops", "aten::__and__*")


def test_table_is_the_computed_table() -> None:
    assert run("table", "aten::add.Tensor") == dovetail._C._dispatch_dump_table("aten::add.Tensor")


def test_table_as_json_has_a_row_per_key() -> None:
    data = json.loads(run("table", "aten::add.Tensor", "--json"))
    rows = {row["key"]: row["rule"] for row in data["table"]}
    assert data["operator"] == "aten::add.Tensor"
    assert rows["AutogradCPU"] == "autograd kernel"


def test_table_of_an_unknown_operator_suggests_the_nearest() -> None:
    assert "Did you mean 'aten::add.Tensor'?" in failure("table", "aten::ad.Tensor")


def test_explain_names_the_kernels_of_a_call() -> None:
    text = run("explain", "aten::mul.Tensor", "--args", "dovetail.ones(2, requires_grad=True), dovetail.ones(2)")
    assert "a graph is recorded" in text
    assert "numpy.multiply" in text


def test_explain_takes_keyword_arguments() -> None:
    text = run("explain", "aten::add.Tensor", "--args", "dovetail.ones(2), dovetail.ones(2), alpha=2")
    assert "aten::add.Tensor" in text


def test_explain_chooses_the_overload_by_the_arguments() -> None:
    data = json.loads(run("explain", "aten::sum", "--args", "dovetail.ones(2), [0]", "--json"))
    assert data["operator"] == "aten::sum.dim_IntList"


@pytest.mark.parametrize(
    ("op", "args", "complaint"),
    [
        ("aten::mul.Tensor", "dovetail.ones(", "SyntaxError"),
        ("aten::mul.Tensor", "dovetail.ones(2)", "missing value for argument 'other'"),
        ("aten::nothing", "", "has no attribute 'nothing'"),
        ("nothing::there.default", "", "does not exist"),
    ],
)
def test_explain_says_what_it_cannot_use(op: str, args: str, complaint: str) -> None:
    assert complaint in failure("explain", op, "--args", args)
