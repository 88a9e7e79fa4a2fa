"""The kernels of the base library return what their schemas say: so routes need not check them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import dovetail
from dovetail_aten.library import Composite
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.kernels import Kernel
from dovetail_dispatcher.testing import OpInfo, SampleInput, op_infos
from dovetail_testing.checks import samples

INFOS = op_infos("aten")
DTYPES = (dovetail.float32, dovetail.int64)


@pytest.fixture(scope="module", autouse=True)
def all_kernels_are_checked() -> Iterator[None]:
    """Routes check every kernel as one of a stranger."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "returns_by_schema", False)
        patch.setattr(Composite, "returns_by_schema", False)
        registry.forget_all_routes()
        yield
    registry.forget_all_routes()


@pytest.mark.operators("info", INFOS)
def test_kernels_return_what_their_schema_says(info: OpInfo) -> None:
    device = dovetail.get_default_device()
    dtype = next((d for d in DTYPES if d in info.dtypes), min(info.dtypes, key=str))
    for sample in info.sample_inputs(device, dtype):
        with samples.quiet():
            given = samples.copied(sample)
            info.op(*given.arguments, **given.kwargs)
            _call_on_meta(info, samples.copied(sample))  # what was written may have another shape


def _call_on_meta(info: OpInfo, given: SampleInput) -> None:
    meta = given.transform(
        lambda value: value.to("meta") if isinstance(value, dovetail.Tensor) else value
    )
    try:
        info.op(*meta.arguments, **meta.kwargs)
    except (RuntimeError, NotImplementedError) as error:
        # What depends on data cannot run there.
        assert re.search("meta|data-dependent|Could not run", str(error)), error
