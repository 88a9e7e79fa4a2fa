"""`draw_tensor`: what a notebook shows of a tensor on request."""

import subprocess
import sys
import zlib
from base64 import b64decode

import pytest

import dovetail
from dovetail.utils import draw_tensor


def pixels(drawing):
    """Return width, height and the bytes of the rows of the picture in a drawing."""
    data = b64decode(drawing.html.partition("base64,")[2].partition('"')[0])
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    body = data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8]
    rows = zlib.decompress(body)
    stride = 3 * width + 1
    return width, height, [rows[stride * row + 1 : stride * (row + 1)] for row in range(height)]


def test_a_drawing_says_dtype_shape_device_and_range():
    x = dovetail.tensor([1.0, 5.0, 3.0], requires_grad=True)
    text = f"float32[3] on {x.device}, requires grad, 1 to 5, mean 3"
    assert repr(draw_tensor(x)) == text
    assert text in draw_tensor(x)._repr_html_()
    assert repr(draw_tensor(dovetail.tensor(True))).startswith("bool[] on")


def test_one_dimension_is_a_line_that_is_broken_where_a_value_is_missing():
    drawing = draw_tensor(dovetail.tensor([0.0, 1.0, float("nan"), 2.0, 3.0]))
    path = drawing.html.partition('d="')[2].partition('"')[0]
    assert (path.count("M"), path.count("L")) == (2, 2)
    assert "1 not finite" in repr(drawing)


def test_two_dimensions_are_a_picture_from_dark_to_light():
    width, height, rows = pixels(draw_tensor(dovetail.tensor([[0, 1, 2], [3, 4, 5]])))
    assert (width, height) == (3, 2)
    assert rows[0][:3] == bytes((33, 60, 92)) and rows[1][-3:] == bytes((247, 236, 205))
    _, _, rows = pixels(draw_tensor(dovetail.tensor([[0.0, float("inf")]])))
    assert rows[0][-3:] == bytes((200, 60, 60))


def test_large_tensors_are_thinned():
    assert pixels(draw_tensor(dovetail.zeros(1000, 3)))[:2] == (3, 250)
    assert draw_tensor(dovetail.zeros(100_000)).html.count("L") < 257


@pytest.mark.parametrize(
    "tensor",
    [
        dovetail.ones(2, 3, device="meta"),
        dovetail.ones(0, 3),
        dovetail.full((2,), float("nan")),
        dovetail.ones(2, 2, dtype=dovetail.complex64),
        dovetail.ones(2, 2, 2, dtype=dovetail.bfloat16),
        dovetail.ones(()),
    ],
)
def test_every_tensor_has_a_drawing(tensor):
    assert str(list(tensor.shape)) in repr(draw_tensor(tensor))
    assert draw_tensor(tensor).html.startswith("<div>")


def test_the_drawing_of_a_graph_is_the_same_text_in_every_process():
    program = (
        "import dovetail\n"
        "model = dovetail.nn.Sequential(*(dovetail.nn.Linear(2, 2) for _ in range(6)))\n"
        "loss = model(dovetail.ones(1, 2)).sum()\n"
        "junk = [object() for _ in range({})]\n"
        "print(dovetail.utils.draw_graph(loss, params=model).svg)\n"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", program.format(count)], capture_output=True, check=True
        ).stdout
        for count in (0, 1001)
    }
    assert len(drawn) == 1


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="takes a tensor, not list"):
        draw_tensor([1.0])
