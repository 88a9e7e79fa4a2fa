"""`SummaryWriter`: writes what a program measures into a folder that TensorBoard shows."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Final, NoReturn, Self

import numpy as np

from . import summaries

__all__ = ["SummaryWriter"]

_NOT_WRITTEN: Final = {
    "add_audio": "save the sound to a file",
    "add_custom_scalars": "group curves by add_scalars",
    "add_custom_scalars_marginchart": "group curves by add_scalars",
    "add_custom_scalars_multilinechart": "group curves by add_scalars",
    "add_embedding": "save the tensor, or a picture of its projection",
    "add_graph": "a module cannot be traced; dovetail.utils.draw_graph draws the graph of a call",
    "add_image_with_boxes": "draw the boxes, and use add_image",
    "add_mesh": "draw it, and use add_figure",
    "add_onnx_graph": "there are no ONNX graphs",
    "add_video": "use add_images",
}


class SummaryWriter:
    """Writes curves, histograms, images and texts for TensorBoard.

    Parameters
    ----------
    log_dir
        The folder. Default: ``runs/`` with date, host and `comment`.
    comment
        Added to the default folder.
    purge_step
        TensorBoard discards earlier records for this step and later steps. Default: none.
    max_queue, flush_secs
        Number of records and seconds after which the file is written. Default: 10 and 120.
    filename_suffix
        Suffix of the file names.

    Examples
    --------
    ::

        with SummaryWriter("runs/first") as writer:
            for step, loss in enumerate(losses):
                writer.add_scalar("loss", loss, step)
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.purge_step = purge_step
        self._options = max_queue, flush_secs, filename_suffix
        self._files: dict[str, Any] = {}
        self._file(self.log_dir)
        if purge_step is not None:
            self._add_event(self.log_dir, purge_step, None, file_version="brain.Event:2")
            log: Any = import_module("tensorboard.compat.proto.event_pb2").SessionLog
            self._add_event(self.log_dir, purge_step, None, session_log=log(status=log.START))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a point to a curve.

        Parameters
        ----------
        tag
            Name of the curve; a prefix that ends with a slash groups curves.
        scalar_value
            A number, or a tensor or array of one.
        global_step, walltime
            Step and time of the point. Default: 0 and now.
        new_style, double_precision
            Accepted and ignored.

        Raises
        ------
        ValueError
            For more than one number.
        """
        self._add(summaries.scalar_record(tag, scalar_value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, object],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a point to each of several curves of one diagram, each in a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag}_{tag}".replace("/", "_"))
            record = summaries.scalar_record(main_tag, value)
            self._add(record, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: object,
        global_step: int | None = None,
        bins: object = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of values.

        Parameters
        ----------
        values
            A tensor or array.
        bins
            As for `numpy.histogram`. Default: bins that grow by a tenth.
        max_bins
            Maximum number of bins; adjacent bins are merged to reach it. Default: no maximum.
        """
        self._add(summaries.histogram_record(tag, values, bins, max_bins), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: integers from 0 to 255, or floating-point numbers from 0 to 1.

        Parameters
        ----------
        dataformats
            Order of the dimensions: ``"CHW"``, ``"HWC"`` or ``"HW"``.
        """
        self._add(summaries.image_record(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images side by side; see `add_image`."""
        images = img_tensor
        if isinstance(images, list):
            images = np.stack([summaries.as_array(each) for each in images])
        self._add(summaries.image_record(tag, images, dataformats), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: object,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a figure of matplotlib, or several.

        Parameters
        ----------
        close
            Whether to close it. Default: True.
        """
        figures: Sequence[Any] = figure if isinstance(figure, list) else [figure]
        pictures = []
        for each in figures:
            each.canvas.draw()
            pictures.append(np.asarray(each.canvas.buffer_rgba())[..., :3])
            if close:
                import_module("matplotlib.pyplot").close(each)
        self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text in Markdown."""
        self._add(summaries.text_record(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: object,
        predictions: object,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve for predictions between 0 and 1 and labels 0 and 1."""
        record = summaries.pr_curve_record(
            tag, labels, predictions, min(num_thresholds, 127), weights
        )
        self._add(record, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: object,
        metric_dict: object,
        hparam_domain_discrete: Mapping[str, object] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add a run to the table of runs: its hyperparameters and metrics.

        Raises
        ------
        TypeError
            If either is not a mapping.
        ValueError
            For a parameter that is not a bool, number or text.
        """
        if not isinstance(hparam_dict, Mapping) or not isinstance(metric_dict, Mapping):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        for record in summaries.hparams_records(hparam_dict, metric_dict, hparam_domain_discrete):
            self._add(record, global_step, None, folder)
        for tag, value in metric_dict.items():
            self._add(summaries.scalar_record(tag, value), global_step, None, folder)

    def flush(self) -> None:
        """Write everything to the files."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Write everything, and close the files; the next record opens new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __getattr__(self, name: str) -> Any:
        if name not in _NOT_WRITTEN:
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")

        def refuse(*args: Any, **options: Any) -> NoReturn:
            raise NotImplementedError(f"{name}() is not in Dovetail: {_NOT_WRITTEN[name]}.")

        return refuse

    def _file(self, folder: str) -> Any:
        if folder not in self._files:
            made: Any = import_module("tensorboard.summary.writer.event_file_writer")
            max_queue, flush_secs, suffix = self._options
            self._files[folder] = made.EventFileWriter(folder, max_queue, flush_secs, suffix)
        return self._files[folder]

    def _add(
        self, record: object, step: object, walltime: float | None, folder: str | None = None
    ) -> None:
        summary: Any = import_module("tensorboard.compat.proto.summary_pb2").Summary(value=[record])
        self._add_event(folder or self.log_dir, step, walltime, summary=summary)

    def _add_event(self, folder: str, step: Any, walltime: float | None, **content: Any) -> None:
        event: Any = import_module("tensorboard.compat.proto.event_pb2").Event(**content)
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self._file(folder).add_event(event)
