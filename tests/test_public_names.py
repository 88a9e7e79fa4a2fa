"""The public names of every package. One that appears or goes is an interface that changes: say so
in the changelog.
"""

# ruff: noqa: SIM905 - a column of words is easier to compare than a list of quoted ones

from importlib import import_module
from types import ModuleType

import pytest

PUBLIC_NAMES = {
    "dovetail": """
BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
ComplexDoubleStorage ComplexFloatStorage DispatchKey DispatchKeySet DoubleStorage DoubleTensor
FloatStorage FloatTensor Generator HalfStorage HalfTensor IntStorage IntTensor LongStorage
LongTensor PluginError ShortStorage ShortTensor Size Tag Tensor TypedStorage UntypedStorage abs abs_
absolute acos acos_ acosh acosh_ add addbmm addcdiv addcmul addmm addmv addmv_ adjoint all allclose
amax amin amp angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_
arctan arctan2 arctan_ arctanh arctanh_ argmax argmin argsort as_strided as_tensor asarray asin
asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ autocast autograd backends baddbmm bernoulli
bfloat16 binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool
broadcast_shapes broadcast_to can_cast cat cdouble ceil ceil_ cfloat channels_last channels_last_3d
chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone complex128 complex64
concat concatenate conj constant_pad_nd contiguous_format cos cos_ cosh cosh_ count_nonzero cuda
cumprod cumsum default_generator detach device devices diag diag_embed diagonal div divide dot
double dropout dtype e einsum embedding empty empty_like empty_strided enable_grad eq equal erf erf_
erfc erfc_ exp exp2 exp2_ exp_ explain expm1 expm1_ eye fill_ finfo fix fix_ flatten flip float
float16 float32 float64 floor floor_ floor_divide fmod frac frac_ from_dlpack from_numpy full
full_like func gather ge get_autocast_dtype get_default_device get_default_dtype get_printoptions
get_rng_state greater greater_equal gt half hstack hypot iinfo imag index_add index_put index_put_
index_select inf inference_mode initial_seed inner int int16 int32 int64 int8
celu celu_ hardshrink rrelu rrelu_ selu selu_
is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_enabled
is_complex is_floating_point is_grad_enabled is_inference is_inference_mode_enabled is_nonzero
is_storage is_tensor isclose isfinite isinf isnan layer_norm layout le lerp less less_equal library
linspace load log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logical_and
logical_not logical_or logical_xor logsumexp long lt manual_seed masked_fill masked_select matmul
max maximum mean memory_format min minimum mm moveaxis movedim mul multinomial multiply mv nan
aminmax argwhere cummax cummin kthvalue logcumsumexp median mode msort nanmean nanmedian nansum
nonzero_static std_mean var_mean
nan_to_num nan_to_num_ narrow native_dropout native_layer_norm ne neg neg_ negative negative_
newaxis nn no_grad nonzero norm not_equal numel ones ones_like ops optim outer overrides permute pi
positive pow prelu preserve_format printoptions prod promote_types rand rand_like randint
randint_like randn randn_like random randperm real reciprocal reciprocal_ relu relu_ remainder
reshape resize_as_ resolve_conj result_type roll round round_ rsqrt rsqrt_ rsub save scalar_tensor
scatter scatter_add seed select set_autocast_dtype set_autocast_enabled set_default_device
set_default_dtype set_grad_enabled set_printoptions set_rng_state sgn short sigmoid sigmoid_ sign
sin sin_ sinh sinh_ softmax sort split split_with_sizes sqrt sqrt_ square square_ squeeze stack std
strided sub subtract sum swapaxes swapdims t take tan tan_ tanh tanh_ tensor testing threshold
threshold_ tile topk trace transpose tril triu true_divide trunc trunc_ uint16 uint32 uint64 uint8
unbind unflatten unsqueeze use_overlay utils var vdot view_as_complex view_as_real vmap vstack where
xlogy xlogy_ zero_ zeros zeros_like
channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d convolution pixel_shuffle pixel_unshuffle
adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d
max_pool3d native_channel_shuffle
alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy
slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy
unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
""".split(),
    "dovetail.amp": """
autocast is_autocast_available
""".split(),
    "dovetail.autograd": """
Function GradcheckError Variable backward detect_anomaly enable_grad forward_ad function functional
grad grad_mode gradcheck gradgradcheck graph inference_mode is_grad_enabled
is_inference_mode_enabled is_multithreading_enabled no_grad set_detect_anomaly set_grad_enabled
set_multithreading_enabled
""".split(),
    "dovetail.autograd.forward_ad": """
UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual
""".split(),
    "dovetail.autograd.functional": """
hessian hvp jacobian jvp vhp vjp
""".split(),
    "dovetail.backends": """
Backend BackendSpec Capabilities DeviceType KernelTable NamespaceArrays devices hookimpl
register_backend use_cpu_fallback
""".split(),
    "dovetail.cuda": """
current_device device_count empty_cache get_device_name is_available manual_seed manual_seed_all
mem_get_info memory_allocated memory_reserved memory_stats set_device synchronize why_unavailable
""".split(),
    "dovetail.func": """
functional_call functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize
stack_module_state vjp vmap
""".split(),
    "dovetail.library": """
BackendSpec CustomOpDef Library OpCheckError PendingKernel SchemaError Tag _scoped_library
check_pending custom_op define dispatch_table fallthrough_kernel get_ctx get_kernel hookimpl impl
impl_abstract infer_schema load opcheck register_autocast register_autograd register_fake
register_kernel register_op_infos register_torch_dispatch register_vmap
""".split(),
    "dovetail.nn": """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d ChannelShuffle CircularPad1d CircularPad2d
CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d
ConvTranspose2d ConvTranspose3d Fold FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d
LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d PixelShuffle
PixelUnshuffle ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
ReplicationPad3d Unfold ZeroPad1d ZeroPad2d ZeroPad3d
BCEWithLogitsLoss Buffer CrossEntropyLoss Dropout ELU Embedding Flatten GELU Identity L1Loss
LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax MSELoss Module ModuleDict ModuleList NLLLoss PReLU
Parameter ParameterDict ParameterList ReLU RemovableHandle Sequential SiLU Sigmoid SmoothL1Loss
Softmax Softplus Tanh Unflatten functional init register_module_buffer_registration_hook
register_module_forward_hook register_module_forward_pre_hook register_module_full_backward_hook
register_module_full_backward_pre_hook register_module_module_registration_hook
register_module_parameter_registration_hook utils
""".split(),
    "dovetail.nn.functional": """
binary_cross_entropy_with_logits cross_entropy dropout elu embedding gelu hardtanh l1_loss
layer_norm leaky_relu linear log_softmax logsigmoid mse_loss nll_loss one_hot pad prelu relu relu_
celu celu_ elu_ glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh_ leaky_relu_ mish
relu6 rrelu rrelu_ selu selu_ softmin softshrink softsign tanhshrink threshold threshold_
sigmoid silu smooth_l1_loss
softmax softplus tanh
channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d fold pixel_shuffle pixel_unshuffle unfold
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d
fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
fractional_max_pool3d_with_indices lp_pool1d lp_pool2d lp_pool3d max_pool1d
max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices
max_unpool1d max_unpool2d max_unpool3d native_channel_shuffle
""".split(),
    "dovetail.nn.init": """
calculate_gain constant_ kaiming_normal_ kaiming_uniform_ normal_ ones_ uniform_ xavier_normal_
xavier_uniform_ zeros_
""".split(),
    "dovetail.nn.utils": """
clip_grad_norm_ clip_grad_value_ get_total_norm parameters_to_vector vector_to_parameters
""".split(),
    "dovetail.optim": """
Adagrad Adam AdamW Optimizer RMSprop SGD lr_scheduler
""".split(),
    "dovetail.optim.lr_scheduler": """
CosineAnnealingLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR StepLR
""".split(),
    "dovetail.overrides": """
enable_reentrant_dispatch redispatch_function
BaseTorchFunctionMode TorchFunctionMode get_default_nowrap_functions get_ignored_functions
get_overridable_functions get_testing_overrides handle_torch_function has_torch_function
has_torch_function_unary has_torch_function_variadic is_tensor_like is_tensor_method_or_property
resolve_name wrap_torch_function
""".split(),
    "dovetail.random": """
fork_rng generator_of get_rng_state initial_seed manual_seed seed set_rng_state
""".split(),
    "dovetail.utils": """
GradExplanation GraphDrawing checkpoint dlpack draw_graph explain_grad hooks
""".split(),
    "dovetail.utils._python_dispatch": """
BaseTorchDispatchMode TorchDispatchMode is_in_torch_dispatch_mode is_traceable_wrapper_subclass
is_traceable_wrapper_subclass_type return_and_correct_aliasing transform_subclass
""".split(),
    "dovetail.utils.checkpoint": """
CheckpointError CheckpointFunction checkpoint checkpoint_sequential noop_context_fn
set_checkpoint_debug_enabled set_checkpoint_early_stop
""".split(),
    "dovetail.utils.dlpack": """
DLDeviceType from_dlpack to_dlpack
""".split(),
    "dovetail.utils.hooks": """
RemovableHandle unserializable_hook
""".split(),
    "dovetail_aten": """
BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor
LongTensor ShortTensor
BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage TypedStorage
UntypedStorage is_storage resize_as_
Generator Tensor abs abs_ absolute acos acos_ acosh acosh_ add addbmm addcdiv addcmul addmm addmv
addmv_ adjoint all allclose amax amin angle any arange arccos arccos_ arccosh arccosh_ arcsin
arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ argmax argmin argsort as_strided
as_tensor asarray asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ baddbmm bernoulli
binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor bmm broadcast_to cat
ceil ceil_ chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone concat
concatenate conj constant_pad_nd cos cos_ cosh cosh_ count_nonzero cumprod cumsum detach diag
diag_embed diagonal div divide dot dropout einsum embedding empty empty_like empty_strided eq equal
erf erf_ erfc erfc_ exp exp2 exp2_ exp_ expm1 expm1_ eye fill_ fix fix_ flatten flip floor floor_
floor_divide fmod frac frac_ from_dlpack from_numpy full full_like gather ge get_printoptions
celu celu_ hardshrink rrelu rrelu_ selu selu_
get_rng_state greater greater_equal gt hstack hypot imag index_add index_put index_put_ index_select
initial_seed inner is_complex is_floating_point is_nonzero isclose isfinite isinf isnan layer_norm
le lerp less less_equal linspace log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp
logical_and logical_not logical_or logical_xor logsumexp lt manual_seed masked_fill masked_select
matmul max maximum mean min minimum mm moveaxis movedim mul multinomial multiply mv nan_to_num
aminmax argwhere cummax cummin kthvalue logcumsumexp median mode msort nanmean nanmedian nansum
nonzero_static std_mean var_mean
nan_to_num_ narrow native_dropout native_layer_norm ne neg neg_ negative negative_ nonzero norm
not_equal ones ones_like outer permute positive pow prelu printoptions prod rand rand_like randint
randint_like randn randn_like randperm real reciprocal reciprocal_ relu relu_ remainder reshape
resolve_conj roll round round_ rsqrt rsqrt_ rsub scalar_tensor scatter scatter_add seed select
set_printoptions set_rng_state sgn sigmoid sigmoid_ sign sin sin_ sinh sinh_ softmax sort split
split_with_sizes sqrt sqrt_ square square_ squeeze stack std sub subtract sum swapaxes swapdims t
take tan tan_ tanh tanh_ tensor threshold threshold_ tile topk transpose tril triu true_divide trunc
trunc_ unbind unflatten unsqueeze var vdot view_as_complex view_as_real vstack where xlogy xlogy_
zero_ zeros zeros_like
channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d convolution pixel_shuffle pixel_unshuffle
adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d
max_pool3d native_channel_shuffle
alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy
slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy
unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
""".split(),
    "dovetail_autograd": """
AccumulateGrad AutogradMeta Edge Function FunctionNode GradcheckError GradientEdge Node
RemovableHandle SavedValue _get_autograd_fallback_mode _set_autograd_fallback_mode
allow_mutation_on_saved_tensors backward build_node_class current_autograd_node
current_graph_task_id detect_anomaly disable_saved_tensors_hooks dovetail_load enable_grad
get_gradient_edge grad gradcheck gradgradcheck gradient_edge increment_version inference_mode
install is_anomaly_check_nan_enabled is_anomaly_enabled is_grad_enabled is_inference_mode_enabled
is_multithreading_enabled no_grad once_differentiable queue_callback register_multi_grad_hook
requires_grad runs_whole_graph save_on_cpu saved_tensors_hooks saved_values set_detect_anomaly
set_grad_enabled set_multithreading_enabled will_engine_execute_node
""".split(),
    "dovetail_cpu": """
CpuArrays dovetail_backend
""".split(),
    "dovetail_cuda": """
device_count dovetail_backend unavailable_because
""".split(),
    "dovetail_dispatcher": """
BaseTorchFunctionMode CallSpan CustomOpDef DispatchTable Explanation FunctionExplanation
FunctionSchema Kernel Library
NoArrayKernelError OpCheckError OpOverload OpOverloadPacket Operator PendingKernel SchemaError Span
Tag TorchDispatchMode TorchFunctionMode Trace _scoped_library check_pending custom_op
accesses enable_reentrant_dispatch function_modes redispatch_function
define dispatch_modes dispatch_table explain explain_function fallthrough_kernel get_ctx get_kernel
handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic impl
impl_abstract infer_schema interceptable is_overridable kernel_namespace opcheck operator_modules
ops overridable overridden_name parse_schema register_autocast register_autograd register_fake
register_kernel
register_torch_dispatch register_vmap short_place transaction wrap_torch_function
""".split(),
    "dovetail_kernel": """
ALIASES Allocator ArrayBackend AutoDispatchBelowADInplaceOrView AutoDispatchBelowAutograd
AutogradInterface BY_NAME Backend BackendSpec DLDeviceType DTYPES DataPtr DatalessArray Device
DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet DispatchState
ExcludeDispatchKeyGuard ForceDispatchKeyGuard Guard IncludeDispatchKeyGuard Layout MemoryFormat
MemoryStatistics PluginError PluginManager PluginNotFoundError PluginRecord PreserveDispatchKeyGuard
SetExcludeDispatchKeyGuard Size Storage TensorBase VersionCounter after_ADInplaceOrView_keyset
after_autograd_keyset all_backends backend backend_key backend_of_array backend_of_signature
backends_of_signature bfloat16 bool bump_version can_cast channels_last channels_last_3d complex128
complex64 contiguous_format disabled_torch_dispatch_impl disabled_torch_function_impl
dispatch_key_for_device dispatch_state dtype dtype_of_signature finfo float16 float32 float64
full_after full_keyset get_default_device get_default_dtype has_backend hookimpl hookspec iinfo
int16 int32 int64 int8 is_grad_enabled is_included_in_alias jagged name_of_distribution new_storage
on_default_dtype_change on_new_backend parse_dispatch_key plugin_manager preserve_format
promote_types renewed_after_fork replace_array resize_storage restoring result_dtype runtime_keys
scalar_category scalar_dtype
set_autograd_interface set_default_device set_default_dtype set_grad_enabled set_state
set_storage_class set_tensor_class share_storage share_version signature_of sparse_bsc sparse_bsr
sparse_coo sparse_csc sparse_csr state strided tensor_class uint16 uint32 uint64 uint8 wrap
wrapped_backend
""".split(),
}


@pytest.mark.parametrize("package", PUBLIC_NAMES)
def test_the_public_names_are_these(package: str) -> None:
    assert sorted(set(import_module(package).__all__)) == sorted(PUBLIC_NAMES[package])


@pytest.mark.parametrize("package", PUBLIC_NAMES)
def test_every_public_name_is_there(package: str) -> None:
    module = import_module(package)
    assert [name for name in PUBLIC_NAMES[package] if not hasattr(module, name)] == []


def test_the_front_end_shows_nothing_else() -> None:
    import dovetail

    shown = {
        name
        for name in dir(dovetail)
        if not name.startswith("_") and not is_submodule(getattr(dovetail, name))
    }
    assert shown - set(PUBLIC_NAMES["dovetail"]) == set()


def is_submodule(value: object) -> bool:
    """Whether `value` is a module of the front end, which Python sets on the package once it is
    imported.
    """
    return isinstance(value, ModuleType) and value.__name__.startswith("dovetail.")


def test_every_public_name_of_the_base_library_is_one_of_the_front_end() -> None:
    import dovetail
    import dovetail_aten

    assert set(dovetail_aten.__all__) - set(dovetail.__all__) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    import dovetail

    with pytest.raises(AttributeError, match="module 'dovetail' has no attribute 'tensr'"):
        dovetail.tensr  # noqa: B018
