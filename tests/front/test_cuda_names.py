"""``dovetail.cuda`` where there is no CUDA: what asks answers, what needs a device says why there
is none.
"""

import pytest

import dovetail
from dovetail import cuda

pytestmark = pytest.mark.skipif(cuda.is_available(), reason="CUDA can be used here")


@pytest.mark.parametrize(
    "call",
    [
        cuda.current_device,
        cuda.synchronize,
        cuda.get_device_name,
        cuda.mem_get_info,
        lambda: cuda.set_device("cuda:0"),
        cuda.temperature,
        lambda: cuda.set_sync_debug_mode("warn"),
        lambda: cuda.set_per_process_memory_fraction(0.5),
    ],
)
def test_what_needs_a_device_says_why_there_is_none(call):
    with pytest.raises(
        AssertionError, match=r"Torch not compiled with CUDA enabled: .*unavailable: "
    ) as error:
        call()
    assert str(cuda.why_unavailable()) in str(error.value)


def test_what_asks_answers():
    assert cuda.empty_cache() is None
    assert (cuda.memory_allocated(), cuda.device_count()) == (0, 0)
    assert (cuda.memory_reserved(), cuda.memory_stats()) == (0, {})
    assert (cuda.get_arch_list(), cuda.get_gencode_flags()) == ([], "")
    assert (cuda.default_generators, cuda.is_current_stream_capturing()) == ((), False)
    assert cuda.manual_seed(3) is None
    assert cuda.manual_seed_all(4) is None


def test_another_device_is_no_cuda_device():
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        cuda.set_device(dovetail.device("cpu"))


def test_a_seed_for_cuda_does_not_disturb_what_saves_generators():
    cuda.manual_seed_all(4)
    draw = dovetail.func.vmap(lambda x: x + dovetail.rand(()), randomness="same", chunk_size=1)
    same = draw(dovetail.zeros(3))
    assert same[0] == same[1] == same[2]
