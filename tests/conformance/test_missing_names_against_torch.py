"""Which public names of ``torch`` are missing, and why: any other is found."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

REASONS = {
    "modules that torch imports for itself": r"""
        builtins ctypes functools glob importlib inspect math os platform sys textwrap threading
        torch warnings TYPE_CHECKING windows classproperty """,
    "types of TorchScript and of its graphs": r"""
        \w*Type Aliasdb AliasDb Argument ArgumentSpec Block BufferDict CallStack Capsule Code
        CompilationUnit CompleteArgumentSpec ConcreteModuleType\w* DeepCopyMemoTable ErrorReport
        ExecutionPlan FileCheck FunctionSchema Future Gradient Graph GraphExecutorState
        IODescriptor JITException LiteScriptModule ModuleDict Node OperatorInfo ParameterDict
        PyTorchFile\w+ Script\w+ \w+StorageContext StaticModule TracingState Type Use Value
        LockingLogger LoggerBase NoopLogger AggregationType AVG SUM BenchmarkConfig
        BenchmarkExecutionStats ThroughputBenchmark FatalError import_ir_module\w*
        merge_type_from_type_comment parse_ir parse_schema parse_type_comment unify_type_list
        classes futures cpp PRIVATE_OPS init_num_threads package monitor
        prepare_multiprocessing_environment profiler_allow\w+ USE_\w+ compiled_with_cxx11_abi""",
    "a program is not made into a graph": r"""
        export onnx sym_constrain\w+ sym_fresh_size ao""",
    "tensors are not quantized": r"""
        q_\w+ qscheme quantiz\w+ per_\w+ \w*dequantize fake_quantize\w+
        int_repr choose_qparams\w* empty_quantized fbgemm\w+ fused_moving\w+ Q\w+Storage""",
    "tensors are strided, or sparse in coordinate form": r"""
        sparse sparse_\w+ nested \w+_indices_copy indices_copy values_copy hsmm saddmm
        smm sspaddmm resize_as_sparse_ to_padded_tensor to_mkldnn""",
    "no tensor has such a dtype": r""" chalf """,
    "kernels of one library alone": r"""
        cudnn_\w+ miopen_\w+ mkldnn_\w+ batch_norm_\w+ xpu ipu mtia has_\w+ is_vulkan_available
        record_stream Event Stream""",
    "removed or deprecated there": r"""
        reinforce resize resize_as native_norm
        legacy_contiguous_format \w+_autocast_(?:ipu|xla)_\w+ Storage StorageBase to_dlpack
        storage_type """,
    "of no use without several devices or processes": r"""
        is_distributed get_device_module AcceleratorError thread_safe_generator
        get_file_path module_load const_data_ptr""",
    "not written yet": r"""
        DisableTorchFunction\w* ExcludeDispatchKeyGuard dim_order hash_tensor lobpcg
        norm_except_dim quasirandom set_anomaly_enabled slice_inverse""",
}
"""Patterns of names, by why they are missing. A name that comes may stay here until it is seen."""

PATTERNS = [re.compile(pattern) for text in REASONS.values() for pattern in text.split()]


def missing(theirs: object, ours: object) -> Iterator[str]:
    for name in dir(theirs):
        if name.startswith("_"):
            continue
        try:
            getattr(ours, name)
        except AttributeError:
            yield name


@pytest.mark.filterwarnings("ignore")
def test_a_name_is_missing_for_a_reason_alone() -> None:
    names = list(missing(torch, dovetail))
    assert [name for name in names if not any(each.fullmatch(name) for each in PATTERNS)] == []
