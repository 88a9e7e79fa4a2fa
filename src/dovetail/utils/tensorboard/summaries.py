"""Values as TensorBoard's records."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# They have no types, and would load whether or not anything is written.
_summary: Any = import_module("tensorboard.compat.proto.summary_pb2")
_tensor: Any = import_module("tensorboard.compat.proto.tensor_pb2")
_shape: Any = import_module("tensorboard.compat.proto.tensor_shape_pb2")

_PR_CURVE_ROWS: Final = 6
_SMALLEST: Final = 1e-12
_GROWTH: Final = 1.1
_LARGEST: Final = 1e20


def as_array(value: Any) -> NDArray[Any]:
    """Convert a tensor, an array, a number or a list of these to a NumPy array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype).endswith("bfloat16") else value
        return np.asarray(value.numpy())
    if isinstance(value, list | tuple):
        return np.asarray([as_array(each) for each in value])
    return np.asarray(value)


def scalar_record(tag: str, value: object) -> Any:
    """Return the record of a number."""
    array = as_array(value)
    if array.size != 1:
        raise ValueError(f"{tag!r} is not a scalar: its shape is {array.shape}. Reduce it first.")
    return _summary.Summary.Value(tag=tag, simple_value=float(array.reshape(())))


def histogram_record(tag: str, values: object, bins: Any, max_bins: int | None) -> Any:
    """Return the record of a histogram."""
    array = as_array(values).astype(np.float64).reshape(-1)
    if not array.size:
        raise ValueError(f"{tag!r} has no values.")
    edges = _default_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, edges = np.histogram(array, bins=edges)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    filled = np.flatnonzero(counts)
    first, last = (filled[0], filled[-1] + 1) if filled.size else (0, 1)
    shown = _summary.HistogramProto(
        min=array.min(),
        max=array.max(),
        num=len(array),
        sum=array.sum(),
        sum_squares=array @ array,
        # The first bucket has nothing: it says where the second begins.
        bucket_limit=[float(each) for each in edges[first : last + 1]],
        bucket=[0.0, *[float(each) for each in counts[first:last]]],
    )
    return _summary.Summary.Value(tag=tag, histo=shown)


def _default_edges() -> NDArray[Any]:
    """Return edges that grow by a tenth, on both sides of zero."""
    steps = int(np.log(_LARGEST / _SMALLEST) / np.log(_GROWTH)) + 1
    positive = _SMALLEST * _GROWTH ** np.arange(steps)
    return np.concatenate([-positive[::-1], [0.0], positive])


def image_record(tag: str, image: object, dataformats: str) -> Any:
    """Return the record of an image, or of several images side by side."""
    pixels = _pixels(as_array(image), dataformats.upper())
    height, width, channels = pixels.shape
    picture = import_module("PIL.Image").fromarray(pixels.squeeze(-1) if channels == 1 else pixels)
    file = BytesIO()
    picture.save(file, format="PNG")
    shown = _summary.Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )
    return _summary.Summary.Value(tag=tag, image=shown)


def _pixels(array: NDArray[Any], order: str) -> NDArray[Any]:
    """Return bytes of shape height, width, channels."""
    if len(order) != array.ndim or len(set(order)) != len(order) or set(order) - set("NCHW"):
        raise ValueError(
            f"dataformats={order!r} does not name the dimensions of shape {array.shape}: one of "
            "'NCHW' for each, as 'CHW' or 'HW'."
        )
    for name in "NC":
        if name not in order:
            array, order = array[None], name + order
    array = np.transpose(array, [order.index(name) for name in "NHWC"])
    if array.shape[-1] == 2:
        raise ValueError(f"a picture has 1, 3 or 4 channels, not {array.shape[-1]}.")
    columns = int(np.ceil(np.sqrt(len(array)))) if len(array) > 8 else len(array)
    rows = -(-len(array) // columns)
    _, height, width, channels = array.shape
    sheet = np.zeros((rows * height, columns * width, channels), array.dtype)
    for place, each in enumerate(array):
        row, column = divmod(place, columns)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = each
    if sheet.dtype == np.uint8:
        return sheet
    return np.clip(sheet.astype(np.float32) * 255, 0, 255).astype(np.uint8)


def text_record(tag: str, text: str) -> Any:
    """Return the record of a text, in Markdown."""
    content = _tensor.TensorProto(
        dtype="DT_STRING",
        string_val=[text.encode()],
        tensor_shape=_shape.TensorShapeProto(dim=[_shape.TensorShapeProto.Dim(size=1)]),
    )
    return _summary.Summary.Value(
        tag=f"{tag}/text_summary", metadata=_metadata("text"), tensor=content
    )


def pr_curve_record(
    tag: str, labels: object, predictions: object, thresholds: int, weights: object
) -> Any:
    """Return the record of precision and recall by threshold."""
    wanted, given = as_array(labels).reshape(-1), as_array(predictions).reshape(-1)
    weight = np.ones(given.shape) if weights is None else as_array(weights).reshape(-1)
    places = np.floor(given * (thresholds - 1)).astype(np.int64)
    true = np.bincount(places, weights=weight * wanted, minlength=thresholds)
    false = np.bincount(places, weights=weight * (1 - wanted), minlength=thresholds)
    tp, fp = true[::-1].cumsum()[::-1], false[::-1].cumsum()[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(tp + fp, _SMALLEST)
    recall = tp / np.maximum(tp + fn, _SMALLEST)
    data = np.stack([tp, fp, tn, fn, precision, recall]).astype(np.float32)
    sizes = [_shape.TensorShapeProto.Dim(size=size) for size in (_PR_CURVE_ROWS, thresholds)]
    content = _tensor.TensorProto(
        dtype="DT_FLOAT",
        float_val=data.reshape(-1).tolist(),
        tensor_shape=_shape.TensorShapeProto(dim=sizes),
    )
    plugin: Any = import_module("tensorboard.plugins.pr_curve.plugin_data_pb2")
    said = plugin.PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    return _summary.Summary.Value(tag=tag, metadata=_metadata("pr_curves", said), tensor=content)


def hparams_records(
    parameters: Mapping[str, object],
    metrics: Mapping[str, object],
    domains: Mapping[str, Any] | None,
) -> list[Any]:
    """Return the records of a run: its hyperparameters and metrics."""
    api: Any = import_module("tensorboard.plugins.hparams.api_pb2")
    data: Any = import_module("tensorboard.plugins.hparams.plugin_data_pb2")
    names: Any = import_module("tensorboard.plugins.hparams.metadata")
    start = data.SessionStartInfo()
    infos = []
    for name, value in parameters.items():
        if value is None:
            continue
        if hasattr(value, "item"):
            value = value.item()
        info = api.HParamInfo(name=name, type=api.DATA_TYPE_FLOAT64)
        if isinstance(value, bool):
            start.hparams[name].bool_value = value
            info.type = api.DATA_TYPE_BOOL
        elif isinstance(value, int | float):
            start.hparams[name].number_value = value
        elif isinstance(value, str):
            start.hparams[name].string_value = value
            info.type = api.DATA_TYPE_STRING
        else:
            raise ValueError(
                f"hyperparameter {name!r} must be an int, float, str, bool or a tensor of one "
                f"number, not {type(value).__name__}"
            )
        for each in (domains or {}).get(name, ()):
            info.domain_discrete.values.add(
                **{"string_value" if isinstance(each, str) else "number_value": each}
            )
        infos.append(info)
    judged = [api.MetricInfo(name=api.MetricName(tag=name)) for name in metrics]
    experiment = api.Experiment(hparam_infos=infos, metric_infos=judged)
    end = data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
    said = [
        (names.EXPERIMENT_TAG, data.HParamsPluginData(experiment=experiment)),
        (names.SESSION_START_INFO_TAG, data.HParamsPluginData(session_start_info=start)),
        (names.SESSION_END_INFO_TAG, data.HParamsPluginData(session_end_info=end)),
    ]
    return [
        _summary.Summary.Value(tag=tag, metadata=names.create_summary_metadata(content))
        for tag, content in said
    ]


def _metadata(plugin: str, content: bytes = b"") -> Any:
    data = _summary.SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    return _summary.SummaryMetadata(plugin_data=data)
