"""Libraries that show things take tensors: matplotlib, tqdm, TensorBoard."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail

pytestmark = pytest.mark.cpu_only(reason="the libraries keep arrays in the memory of the host")


@pytest.fixture
def pyplot() -> Any:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    import matplotlib.pyplot as pyplot

    yield pyplot
    pyplot.close("all")


def pixels(pyplot: Any) -> Any:
    """Return the picture of the current figure."""
    figure = pyplot.gcf()
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


PLOTS = {
    "plot": lambda p, t, m, i: p.plot(t),
    "plot of two": lambda p, t, m, i: p.plot(i, t, "o-"),
    "scatter": lambda p, t, m, i: p.scatter(t, i, c=t),
    "bar": lambda p, t, m, i: p.bar(i, t),
    "histogram": lambda p, t, m, i: p.hist(t),
    "errorbar": lambda p, t, m, i: p.errorbar(i, t, yerr=t),
    "fill_between": lambda p, t, m, i: p.fill_between(i, t, t * 2),
    "imshow": lambda p, t, m, i: p.imshow(m),
    "contour": lambda p, t, m, i: p.contour(m),
    "pcolormesh": lambda p, t, m, i: p.pcolormesh(m),
    "boxplot": lambda p, t, m, i: p.boxplot(t),
    "axhline": lambda p, t, m, i: p.axhline(t[0]),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_matplotlib_draws_a_tensor_as_its_array(pyplot: Any, plot: str) -> None:
    t, i = dovetail.tensor([1.0, 4.0, 9.0]), dovetail.tensor([1, 2, 3])
    m = dovetail.arange(12.0).reshape(3, 4)
    PLOTS[plot](pyplot, t, m, i)
    of_tensors = pixels(pyplot)
    pyplot.close("all")
    PLOTS[plot](pyplot, t.numpy(), m.numpy(), i.numpy())
    assert np.array_equal(of_tensors, pixels(pyplot))


def test_matplotlib_refuses_a_tensor_that_requires_grad(pyplot: Any) -> None:
    with pytest.raises(RuntimeError, match=r"tensor\.detach\(\)\.numpy\(\)"):
        pyplot.plot(dovetail.ones(3, requires_grad=True))


def test_tqdm_counts_the_rows_of_a_tensor_and_the_batches_of_a_loader() -> None:
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed")
    text = io.StringIO()
    rows = list(tqdm.tqdm(dovetail.ones(4, 2), file=text))
    assert [row.tolist() for row in rows] == [[1.0, 1.0]] * 4
    assert "4/4" in text.getvalue()
    data = dovetail.utils.data.TensorDataset(dovetail.arange(10))
    text = io.StringIO()
    with tqdm.tqdm(dovetail.utils.data.DataLoader(data, batch_size=3), file=text) as bar:
        for (batch,) in bar:
            bar.set_postfix(loss=batch.float().mean())
    assert "4/4" in text.getvalue()
    assert "loss=tensor(9.)" in text.getvalue() or "loss=9" in text.getvalue()


def records(folder: Path) -> dict[str, list[Any]]:
    """Return what TensorBoard reads in a folder: ``(step, value)`` by folder and tag."""
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    util = pytest.importorskip("tensorboard.util.tensor_util")
    found: dict[str, list[Any]] = {}
    for file in sorted(folder.rglob("events.out.*")):
        place = file.parent.relative_to(folder).as_posix().removeprefix(".")
        for event in loader.EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                array = util.make_ndarray(value.tensor)
                tag = f"{place}:{value.tag}" if place else value.tag
                found.setdefault(tag, []).append((event.step, array))
    return found


def test_tensorboard_reads_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from dovetail.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        assert writer.get_logdir() == str(tmp_path)
        for step in range(3):
            writer.add_scalar("loss", dovetail.tensor(1.5) * step, step)
        writer.add_scalars("both", {"a": 1, "b": dovetail.tensor(2.0)}, 7)
        writer.add_histogram("weights", dovetail.arange(10.0), 1, bins=5)
        writer.add_text("note", "hello", 2)
        writer.add_image("bytes", dovetail.zeros(3, 4, 5, dtype=dovetail.uint8))
        writer.add_images("several", dovetail.rand(2, 1, 4, 5))
        writer.add_pr_curve("curve", dovetail.tensor([0, 1, 1]),
                            dovetail.tensor([0.1, 0.8, 0.6]), num_thresholds=5)  # fmt: skip
    found = records(tmp_path)
    assert [(step, float(value)) for step, value in found["loss"]] == [(0, 0), (1, 1.5), (2, 3)]
    assert float(found["both_a:both"][0][1]) == 1
    assert float(found["both_b:both"][0][1]) == 2
    assert found["weights"][0][1][:, 2].sum() == 10
    assert found["note/text_summary"][0][1].tolist() == [b"hello"]
    assert found["bytes"][0][1].tolist()[:2] == [b"5", b"4"]
    assert found["several"][0][1].tolist()[:2] == [b"10", b"4"]
    true_positives, false_positives = found["curve"][0][1][:2].tolist()
    assert (true_positives, false_positives) == ([2, 2, 2, 1, 0], [1, 0, 0, 0, 0])


def test_tensorboard_reads_a_run_with_its_parameters(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from dovetail.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_hparams(
            {"rate": 0.1, "name": "x", "flag": True}, {"accuracy": 0.9}, run_name="r"
        )
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([("rate", 0.1)], {})
        with pytest.raises(ValueError, match="hyperparameter 'rate' must be"):
            writer.add_hparams({"rate": [1]}, {})
    found = records(tmp_path)
    assert float(found["r:accuracy"][0][1]) == pytest.approx(0.9)
    assert "r:_hparams_/experiment" in found


def test_tensorboard_gets_figures(tmp_path: Path, pyplot: Any) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from dovetail.utils.tensorboard import SummaryWriter

    figure = pyplot.figure(figsize=(2, 1), dpi=50)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_figure("drawing", figure, 1)
    assert not pyplot.get_fignums()
    assert records(tmp_path)["drawing"][0][1].tolist()[:2] == [b"100", b"50"]


def test_tensorboard_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from dovetail.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(ValueError, match="'loss' is not a scalar: its shape is"):
            writer.add_scalar("loss", dovetail.ones(2))
        with pytest.raises(ValueError, match="does not name the dimensions"):
            writer.add_image("picture", dovetail.ones(4, 5))
        with pytest.raises(NotImplementedError, match=r"add_graph\(\) is not in Dovetail: .*draw"):
            writer.add_graph(dovetail.nn.Linear(1, 1))


def test_tensorboard_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in [name for name in sys.modules if name.startswith("dovetail.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match="pip install tensorboard"):
        dovetail.utils.__getattr__("tensorboard")
