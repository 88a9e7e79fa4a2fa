"""What explains things shows as trees in notebooks."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import dovetail
from dovetail.utils import explain_grad

pytestmark = pytest.mark.cpu_only(reason="the texts name the kernels of the cpu")


def words(html: str) -> list[str]:
    """Return the texts of a well-formed tree, in order, without what draws it."""
    return [text.strip() for text in ElementTree.fromstring(html).itertext() if text.strip()]


def test_an_explanation_is_a_tree_of_branches_that_fold() -> None:
    x = dovetail.ones(2, requires_grad=True)
    html = dovetail.explain(dovetail.ops.aten.mul.Tensor, x, x)._repr_html_()
    root = ElementTree.fromstring(html)
    assert root.tag == "details"
    names = [each[0].text for each in root if each.tag == "details"]
    assert names == ["kernels", "arguments", "keys"]
    assert words(html)[0].startswith("aten::mul.Tensor(Tensor self")
    assert not any("├" in text or "└" in text or "│" in text for text in words(html))


def test_an_explanation_of_a_function_is_one_too() -> None:
    html = dovetail.explain("nn.functional.linear", dovetail.ones(2, 3), dovetail.ones(4, 3))
    assert "aten::linear" in html._repr_html_()


def test_a_trace_is_a_tree_with_what_was_called_inside() -> None:
    x = dovetail.ones(2, 3, requires_grad=True)
    with dovetail.tracing() as trace:
        dovetail.nn.functional.linear(x, dovetail.ones(4, 3)).sum().backward()
    root = ElementTree.fromstring(trace._repr_html_())
    (linear,) = [each for each in root if "aten::linear(" in "".join(each.itertext())]
    assert linear.tag == "details"
    assert "called at" in str(linear[0].text)
    assert "aten::mm" in "".join(linear[-1].itertext())


def test_a_table_shows_its_operator_and_a_line_for_each_kernel() -> None:
    from dovetail_dispatcher import dispatch_table

    found = words(dispatch_table("aten::relu")._repr_html_())
    assert found[0] == "aten::relu"
    assert any(text.startswith("AutogradOther, AutogradCPU") for text in found)


def test_the_explanation_of_a_gradient_is_shown_whole() -> None:
    y = (dovetail.ones(2, requires_grad=True) * 2).sum()
    html = explain_grad(y)._repr_html_()
    assert "retain_grad()" in " ".join(words(html))


def test_what_looks_like_html_is_escaped() -> None:
    def call(x: dovetail.Tensor) -> dovetail.Tensor:
        return x + 1

    call.__qualname__ = "<b>call</b>"
    html = dovetail.explain(call, dovetail.ones(2))._repr_html_()
    assert "<b>" not in html


@pytest.mark.cpu_only(reason="a table has the rows of the cpu")
def test_the_interpreter_shows_what_print_shows() -> None:
    from dovetail_dispatcher import dispatch_table

    x = dovetail.ones(2)
    for shown in (
        dovetail.explain(dovetail.ops.aten.mul.Tensor, x, x),
        dovetail.explain(lambda y: y + 1, x),
        dispatch_table("aten::relu"),
        explain_grad(x),
    ):
        assert repr(shown) == str(shown)
