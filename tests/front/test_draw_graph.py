"""`dovetail.utils.draw_graph`: the graph as SVG and as text."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dovetail
from dovetail import Tensor, nn
from dovetail.utils import draw_graph

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def loss_of(model: nn.Module) -> Tensor:
    loss: Tensor = nn.functional.cross_entropy(
        model(dovetail.ones(5, 3)), dovetail.tensor([0, 1, 0, 1, 1])
    )
    return loss


def boxes(svg: str) -> dict[str, list[ElementTree.Element]]:
    """Return the boxes of a drawing by kind."""
    found: dict[str, list[ElementTree.Element]] = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        found.setdefault(group.attrib["class"], []).append(group)
    return found


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def test_the_svg_is_valid_standalone_xml_with_a_box_per_vertex(model: nn.Module) -> None:
    drawing = draw_graph(loss_of(model), model)
    found = boxes(drawing.svg)
    assert drawing.svg.startswith('<?xml version="1.0" encoding="UTF-8"?>')
    assert len(found["output"]) == 1
    assert sorted(texts(box)[0] for box in found["leaf"]) == [
        "0.bias",
        "0.weight",
        "2.bias",
        "2.weight",
    ]
    names = [texts(box)[0] for box in found["node"]]
    assert names.count("AddmmBackward0") == 2
    assert "NllLossBackward0" in names
    assert "href" not in drawing.svg


def test_boxes_have_shapes_dtypes_and_saved_tensors(model: nn.Module) -> None:
    node = next(
        box
        for box in boxes(draw_graph(loss_of(model)).svg)["node"]
        if texts(box)[0] == "ReluBackward0"
    )
    assert texts(node) == ["ReluBackward0", "float32[5, 4]", "saved result: float32[5, 4]"]


def test_boxes_lie_inside_the_picture_and_apart(model: nn.Module) -> None:
    x = model(dovetail.ones(5, 3))
    drawing = draw_graph(
        (x.sigmoid() * x + x.exp() / x.tanh()).sum()
        + sum((p * p).sum() for p in model.parameters())
    )
    root = ElementTree.fromstring(drawing.svg)
    frames = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x0, y0, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        assert 0 <= x0 <= x0 + w <= float(root.attrib["width"])
        assert 0 <= y0 <= y0 + h <= float(root.attrib["height"])
        frames.append((x0, y0, x0 + w, y0 + h))
    for one in range(len(frames)):
        for other in range(one):
            a, b = frames[one], frames[other]
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], "two boxes overlap"


def test_arrows_go_down_from_inputs_to_what_is_made_of_them(model: nn.Module) -> None:
    root = ElementTree.fromstring(draw_graph(loss_of(model)).svg)
    paths = [
        path.attrib["d"] for path in root.iter(f"{SVG}path") if path.attrib.get("class") == "edge"
    ]
    assert paths
    for path in paths:
        numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
        assert numbers[1] < numbers[-1]


def test_names_are_escaped() -> None:
    x = dovetail.ones(2, requires_grad=True)
    drawing = draw_graph(x.sum(), {"<a & b>": x})
    assert texts(boxes(drawing.svg)["leaf"][0])[0] == "<a & b>"


def test_the_text_is_a_tree_with_shared_parts_named_once() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = x.exp()
    lines = str(draw_graph(y * y, {"x": x})).splitlines()
    assert [line.partition("  ")[0].strip() for line in lines[:3]] == [
        "#1 output",
        "[0] #2 MulBackward0",
        "├─ [0] #3 ExpBackward0",
    ]
    assert lines[-1] == "└─ [0] ExpBackward0 (see #3)"
    assert any("x  float32[2]" in line for line in lines)
    assert all(len(line) <= 100 for line in lines)


def test_edges_have_the_number_of_the_output_that_they_lead_to() -> None:
    a, b = dovetail.ones(2, 3, requires_grad=True).unbind(0)
    drawing = draw_graph(a * b)
    lines = [line.partition("  ")[0].strip() for line in str(drawing).splitlines()]
    assert lines[2].startswith("├─ [0] #3 UnbindBackward0")
    assert lines[-1] == "└─ [1] UnbindBackward0 (see #3)"
    numbers = [
        text[0].text
        for text in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text")
        if text.attrib["class"] == "number"
    ]
    assert sorted(numbers) == ["input_nr 0"] * 3 + ["input_nr 1"]  # one of them of the output


def test_leaves_have_the_names_of_the_variables_that_hold_them(model: nn.Module) -> None:
    weights = dovetail.ones(3, requires_grad=True)
    hidden = [dovetail.ones(3, requires_grad=True)]
    drawing = draw_graph(model(dovetail.ones(5, 3) * weights * hidden[0]))
    assert sorted(texts(box)[0] for box in boxes(drawing.svg)["leaf"]) == [
        "leaf",
        "model.0.bias",
        "model.0.weight",
        "model.2.bias",
        "model.2.weight",
        "weights",
    ]


def test_freed_and_overwritten_values_are_marked() -> None:
    x = dovetail.ones(2, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.mul_(2)
    assert "changed in place" in draw_graph(loss).svg
    z = (x * x).sum()
    z.backward()
    assert "saved self: freed" in draw_graph(z).svg


def test_hooks_of_saved_tensors_do_not_run() -> None:
    def unpack(value: object) -> Tensor:
        raise AssertionError("drawing must not unpack")

    x = dovetail.ones(2, requires_grad=True)
    with dovetail.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    assert "packed by hooks" in draw_graph(y).svg


def test_drawing_leaves_the_graph_fit_for_backward(model: nn.Module) -> None:
    loss = loss_of(model)
    str(draw_graph(loss, model.named_parameters()))
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_several_outputs_share_one_drawing() -> None:
    x = dovetail.ones(2, requires_grad=True)
    found = boxes(draw_graph([x.exp(), x.sin()]).svg)
    assert [texts(box)[0] for box in found["output"]] == ["output 0", "output 1"]
    assert len(found["leaf"]) == 1


def test_a_function_shows_what_it_saved() -> None:
    class Twice(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return grad * 2

    text = str(draw_graph(Twice.apply(dovetail.ones(3, requires_grad=True))))
    assert "TwiceBackward" in text
    assert "saved saved_tensors[0]: float32[3]" in text


def test_a_graph_of_a_hundred_thousand_nodes_is_cut_and_not_recursed_into() -> None:
    y = x = dovetail.ones(1, requires_grad=True)
    for _ in range(100_000):
        y = y * 1.5
    drawing = draw_graph(y, {"x": x}, limit=50)
    rest = boxes(drawing.svg)["rest"]
    assert texts(rest[0])[0] == "99951 more nodes"
    assert len(str(drawing).splitlines()) == 52


def test_it_is_saved_to_a_file_and_shown_in_notebooks(tmp_path: Path) -> None:
    drawing = draw_graph(dovetail.ones(2, requires_grad=True).sum())
    drawing.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing.svg
    assert drawing._repr_svg_().startswith("<svg")


def test_a_tensor_without_graph_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"does not require grad and has no graph.*explain_grad"):
        draw_graph(dovetail.ones(2))
    with pytest.raises(RuntimeError, match="at least one tensor"):
        draw_graph([])


def test_a_leaf_is_a_graph_of_its_own() -> None:
    found = boxes(draw_graph(dovetail.ones(2, requires_grad=True)).svg)
    assert set(found) == {"output", "leaf"}
