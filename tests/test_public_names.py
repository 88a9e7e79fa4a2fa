"""The public names of every package. One that appears or goes is an interface that changes: say so
in the changelog.
"""

# ruff: noqa: SIM905 - a column of words is easier to compare than a list of quoted ones

import inspect
import pickle
import subprocess
import sys
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

import pytest

import dovetail

PUBLIC_NAMES = {
    "dovetail": """
Future get_device_module is_distributed is_vulkan_available lobpcg norm_except_dim range
set_anomaly_enabled dsmm hspmm smm sparse_coo_tensor spmm
sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor
bit bits16 bits1x8 bits2x4 bits4x2 bits8 chalf complex32 float4_e2m1fn_x2 float8_e4m3fn
float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7
qint32 qint8 quint2x4 quint4x2 quint8 uint1 uint2 uint3 uint4 uint5 uint6 uint7
BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
ComplexDoubleStorage ComplexFloatStorage DispatchKey DispatchKeySet DoubleStorage DoubleTensor
Event FloatStorage FloatTensor Generator GradScaler
HalfStorage HalfTensor IntStorage IntTensor LongStorage
AcceleratorError LongTensor OutOfMemoryError PluginError PyTorchFileReader ScriptFunction
ScriptModule ShortStorage ShortTensor
Size Stream
SymBool SymFloat
SymInt Tag Tensor TypedStorage UntypedStorage abs abs_
absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul
addmm addmv addmv_ addr adjoint affine_grid_generator alias_copy all allclose alpha_dropout
alpha_dropout_ amax amin aminmax amp angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_
arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ are_deterministic_algorithms_enabled argmax
argmin argsort argwhere array_api
as_strided as_strided_ as_strided_copy as_strided_scatter as_tensor as_torch
asarray asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d
autocast autocast_decrement_nesting autocast_increment_nesting autograd avg_pool1d backends baddbmm
bartlett_window batch_norm bernoulli bfloat16 bilinear
binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm bool broadcast_shapes
broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat cdist cdouble ceil ceil_ celu
celu_ cfloat chain_matmul channel_shuffle channels_last channels_last_3d cholesky cholesky_inverse
cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clear_autocast_cache
clip clip_ clone
column_stack combinations
compare_runs compile compiler complex complex128 complex64 concat concatenate cond conj
conj_physical conj_physical_ constant_pad_nd contiguous_format conv1d conv2d conv3d conv_tbc
conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cos_ cosh cosh_
cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss cuda cummax cummin cumprod
cumsum cumulative_trapezoid default_generator deg2rad deg2rad_ det detach detach_ detach_copy device
devices diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff digamma dist
distributions div divide dot double dropout dropout_ dsplit dstack dtype e eig einsum embedding
embedding_bag
embedding_renorm_ empty empty_like empty_permuted empty_strided enable_grad eq equal erf erf_ erfc
erfc_ erfinv exp exp2 exp2_ exp_ expand_copy explain expm1 expm1_ eye feature_alpha_dropout
feature_alpha_dropout_ feature_dropout feature_dropout_ fft fill fill_ finfo fix fix_ flatten flip
fliplr flipud float float16 float32 float64 float_power floor floor_ floor_divide fmax fmin fmod
fork
frac frac_ frexp frobenius_norm from_dlpack from_file from_numpy frombuffer
full full_like func gather gcd
gcd_ ge geqrf ger get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
get_default_device get_default_dtype
get_deterministic_debug_mode get_device get_float32_matmul_precision get_num_interop_threads
get_num_threads get_printoptions get_rng_state gradient greater greater_equal grid_sampler
grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt half hamming_window hann_window
hardshrink heaviside hinge_embedding_loss histc histogram histogramdd hsplit hstack hub hypot i0 i0_
igamma igammac iinfo imag index_add index_copy index_fill index_put index_put_ index_reduce
index_select inf inference_mode initial_seed inner instance_norm int int16 int32 int64 int8 inverse
is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
is_autocast_enabled is_complex is_conj
is_deterministic_algorithms_warn_only_enabled is_floating_point is_grad_enabled is_inference
is_inference_mode_enabled is_neg is_nonzero is_same_size is_signed is_storage is_tensor
is_warn_always_enabled isclose isfinite isin isinf isnan isneginf isposinf isreal istft jagged jit
kaiser_window kl_div kron kthvalue layer_norm layout lcm lcm_ ldexp ldexp_ le lerp less less_equal
lgamma library linalg linspace load log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax
logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logit_
logspace logsumexp long lstm lstm_cell lstsq lt lu lu_solve lu_unpack manual_seed
margin_ranking_loss
masked masked_fill masked_scatter masked_select matmul matrix_exp matrix_power matrix_rank max
max_pool1d
max_pool1d_with_indices max_pool2d max_pool3d maximum mean median memory_format meshgrid min minimum
mm mode moveaxis movedim msort mul multinomial multiply multiprocessing mv mvlgamma nan nan_to_num
nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm
native_channel_shuffle native_dropout native_group_norm native_layer_norm ne neg neg_ negative
negative_ newaxis nextafter nn no_grad nonzero nonzero_static norm normal not_equal nuclear_norm
numel ones ones_like ops optim orgqr ormqr outer overrides pairwise_distance pca_lowrank pdist
permute permute_copy pi pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar
polygamma positive pow prelu preserve_format printoptions prod profiler promote_types put qr
quantile rad2deg rad2deg_ rand rand_like randint randint_like randn randn_like random randperm ravel
real reciprocal reciprocal_ relu relu_ remainder renorm repeat_interleave reshape resize_as_
resolve_conj resolve_neg result_type rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll
rot90 round round_ row_stack rrelu rrelu_ rsqrt rsqrt_ rsub save scalar_tensor scatter scatter_add
scatter_reduce searchsorted seed segment_reduce select select_copy select_scatter selu selu_
set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_default_device set_default_dtype
set_default_tensor_type
set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_full_tracebacks
set_grad_enabled
set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always sgn short
sigmoid sigmoid_ sign signal signbit sin sin_ sinc sinc_ sinh sinh_ slice_copy slice_scatter slogdet
softmax solve sort sparse sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr special split
split_copy
split_with_sizes split_with_sizes_copy sqrt sqrt_ square square_ squeeze squeeze_copy stack std
std_mean stft strided sub subtract sum svd svd_lowrank swapaxes swapdims symeig sym_float sym_int
sym_ite
sym_max sym_min sym_not sym_sqrt sym_sum t t_copy take
take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot testing threshold threshold_ tile
topk trace tracing transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices
triplet_margin_loss triu triu_indices true_divide trunc trunc_ typename uint16 uint32 uint64 uint8
unbind unbind_copy unflatten unfold_copy unique unique_consecutive unravel_index unsafe_chunk
unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy use_deterministic_algorithms
use_overlay utils vander var var_mean vdot view_as_complex view_as_complex_copy view_as_real
view_as_real_copy view_copy vmap vsplit vstack wait where while_loop xlogy xlogy_ zero_ zeros
zeros_like
""".split(),
    "dovetail.accelerator": """
current_accelerator current_device_index current_stream device_count device_index empty_cache
get_memory_info is_available max_memory_allocated max_memory_reserved memory_allocated
memory_reserved memory_stats reset_peak_memory_stats set_device_index set_stream synchronize
""".split(),
    "dovetail.amp": """
GradScaler autocast custom_bwd custom_fwd is_autocast_available
""".split(),
    "dovetail.autograd": """
anomaly_mode profiler_util
Function GradcheckError Variable backward detect_anomaly enable_grad engine forward_ad function
functional grad grad_mode gradcheck gradgradcheck graph inference_mode is_grad_enabled
is_inference_mode_enabled is_multithreading_enabled no_grad profiler set_detect_anomaly
set_grad_enabled set_multithreading_enabled
""".split(),
    "dovetail.autograd.engine": """
Engine ExecInfo GraphRoot GraphTask InputBuffer NodeTask ReadyQueue current_graph_task
""".split(),
    "dovetail.autograd.forward_ad": """
UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual
""".split(),
    "dovetail.autograd.functional": """
hessian hvp jacobian jvp vhp vjp
""".split(),
    "dovetail.autograd.profiler": """
EventList FunctionEvent FunctionEventAvg emit_nvtx profile record_function
""".split(),
    "dovetail.backends": """
Backend BackendSpec Capabilities DeviceType KernelTable NamespaceArrays devices hookimpl
register_backend use_cpu_fallback
""".split(),
    "dovetail.backends.cudnn": """
flags is_acceptable is_available set_flags version
""".split(),
    "dovetail.backends.families": """
FAMILIES Capabilities Family KernelTable Numbers Precision family_class helper operator
wrap_dim wrap_dims fitted rounds_once widened
""".split(),
    "dovetail.compiler": """
allow_in_graph assume_constant_result compile cudagraph_mark_step_begin disable is_compiling
is_dynamo_compiling is_exporting list_backends reset set_stance
""".split(),
    "dovetail.cpu": """
Event Stream current_device current_stream device_count is_available is_initialized set_device
stream synchronize
""".split(),
    "dovetail.cuda": """
AcceleratorError CUDAGraph Event ExternalStream OutOfMemoryError Stream StreamContext
can_device_access_peer clock_rate current_blas_handle current_device current_solver_handle
current_stream default_generators default_stream device device_count device_memory_used device_of
empty_cache get_arch_list get_device_capability get_device_name get_device_properties
get_gencode_flags get_per_process_memory_fraction get_rng_state get_rng_state_all
get_stream_from_external get_sync_debug_mode graph graph_pool_handle has_half has_magma init
initial_seed ipc_collect is_available is_bf16_supported is_current_stream_capturing is_initialized
is_tf32_supported list_gpu_processes make_graphed_callables manual_seed manual_seed_all
max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated
memory_cached memory_reserved memory_stats memory_stats_as_nested_dict memory_summary memory_usage
power_draw reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all
set_device set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream
set_sync_debug_mode stream synchronize temperature utilization why_unavailable
""".split(),
    "dovetail.fft": """
fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft
irfft2 irfftn rfft rfft2 rfftfreq rfftn
""".split(),
    "dovetail.func": """
functional_call functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize
replace_all_batch_norm_modules_
stack_module_state vjp vmap
""".split(),
    "dovetail.functional": """
Tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod
cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique
unique_consecutive unravel_index
""".split(),
    "dovetail.hub": """
HASH_REGEX download_url_to_file get_dir help list load load_state_dict_from_url set_dir
""".split(),
    "dovetail.jit": """
Future enable_onednn_fusion fuser onednn_fusion_enabled optimized_execution
set_fusion_strategy strict_fusion
Attribute CompilationUnit Error Final RecursiveScriptModule ScriptFunction ScriptModule
TopLevelTracedModule TracerWarning TracingCheckError annotate export fork freeze ignore interface
is_scripting is_tracing isinstance load optimize_for_inference save script script_if_tracing
script_method trace trace_module unused wait
""".split(),
    "dovetail.library": """
BackendSpec CustomOpDef Library OpCheckError PendingKernel SchemaError Tag _scoped_library
check_pending custom_op define dispatch_table fallthrough_kernel get_ctx get_kernel hookimpl impl
impl_abstract infer_schema load opcheck register_autocast register_autograd register_fake
register_kernel register_op_infos register_torch_dispatch register_vmap
""".split(),
    "dovetail.linalg": """
LinAlgError cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh
householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex
lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve
solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm
""".split(),
    "dovetail.masked": """
amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize
prod softmax softmin std sum var
""".split(),
    "dovetail.nn": """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss
BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Buffer CELU CTCLoss ChannelShuffle
CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d
Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity
CrossEntropyLoss CrossMapLRN2d DataParallel Dropout Dropout1d Dropout2d Dropout3d ELU Embedding
EmbeddingBag FeatureAlphaDropout Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU
GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss
HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d
LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d
LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss
LinearCrossEntropyOptions LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss
MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module ModuleDict ModuleList
MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss MultiheadAttention NLLLoss NLLLoss2d
PReLU PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle PixelUnshuffle
PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d
ReflectionPad2d ReflectionPad3d RemovableHandle ReplicationPad1d ReplicationPad2d ReplicationPad3d
SELU Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus
Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder
TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer TripletMarginLoss
TripletMarginWithDistanceLoss Unflatten Unfold UninitializedBuffer UninitializedParameter Upsample
UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d attention common_types
factory_kwargs functional grad init modules parallel parameter
register_module_buffer_registration_hook register_module_forward_hook
register_module_forward_pre_hook register_module_full_backward_hook
register_module_full_backward_pre_hook register_module_module_registration_hook
register_module_parameter_registration_hook utils
""".split(),
    "dovetail.nn.attention": """
SDPBackend WARN_FOR_UNFUSED_KERNELS sdpa_kernel
""".split(),
    "dovetail.nn.attention.bias": """
CausalBias CausalVariant causal_lower_right causal_upper_left
""".split(),
    "dovetail.nn.functional": """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout avg_pool1d avg_pool2d
avg_pool3d batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu celu_
channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d
elu elu_ embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d
fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices
gaussian_nll_loss gelu glu grid_sample group_norm gumbel_softmax hardshrink hardsigmoid hardswish
hardtanh hardtanh_ hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss
layer_norm leaky_relu leaky_relu_ linear linear_cross_entropy local_response_norm log_softmax
logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices
max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d
max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss
multilabel_soft_margin_loss native_channel_shuffle nll_loss normalize one_hot pad pairwise_distance
pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 relu_ rms_norm rrelu rrelu_
scaled_dot_product_attention selu selu_ sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin
softplus softshrink softsign tanh tanhshrink threshold threshold_ triplet_margin_loss
triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
""".split(),
    "dovetail.nn.init": """
calculate_gain constant constant_ dirac dirac_ eye eye_ kaiming_normal kaiming_normal_
kaiming_uniform kaiming_uniform_ normal normal_ ones_ orthogonal orthogonal_ sparse sparse_
trunc_normal_ uniform uniform_ xavier_normal xavier_normal_ xavier_uniform xavier_uniform_ zeros_
""".split(),
    "dovetail.nn.parallel": """
DataParallel DistributedDataParallel data_parallel
""".split(),
    "dovetail.nn.parameter": """
Buffer Parameter UninitializedBuffer UninitializedParameter UninitializedTensorMixin is_lazy
""".split(),
    "dovetail.nn.utils": """
clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_
convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format fuse_conv_bn_eval
fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights get_total_norm parameters_to_vector
parametrizations parametrize remove_spectral_norm remove_weight_norm rnn skip_init spectral_norm
stateless vector_to_parameters weight_norm
""".split(),
    "dovetail.nn.utils.parametrizations": """
orthogonal spectral_norm weight_norm
""".split(),
    "dovetail.nn.utils.parametrize": """
ParametrizationList cached is_parametrized register_parametrization remove_parametrizations
transfer_parametrizations_and_params type_before_parametrizations
""".split(),
    "dovetail.nn.utils.rnn": """
PackedSequence invert_permutation pack_padded_sequence pack_sequence pad_packed_sequence
pad_sequence unpack_sequence unpad_sequence
""".split(),
    "dovetail.optim": """
ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop Rprop SGD
SparseAdam lr_scheduler swa_utils
""".split(),
    "dovetail.optim.lr_scheduler": """
ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR
LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau
SequentialLR StepLR
""".split(),
    "dovetail.optim.swa_utils": """
AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn
update_bn
""".split(),
    "dovetail.overrides": """
BaseTorchFunctionMode TorchFunctionMode enable_reentrant_dispatch get_default_nowrap_functions
get_ignored_functions get_overridable_functions get_testing_overrides handle_torch_function
has_torch_function has_torch_function_unary has_torch_function_variadic is_tensor_like
is_tensor_method_or_property redispatch_function resolve_name wrap_torch_function
""".split(),
    "dovetail.profiler": """
ProfilerAction ProfilerActivity kineto_available profile record_function schedule
supported_activities
tensorboard_trace_handler
""".split(),
    "dovetail.random": """
fork_rng generator_of get_rng_state initial_seed manual_seed seed set_rng_state
""".split(),
    "dovetail.signal": """
windows
""".split(),
    "dovetail.signal.windows": """
bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser
nuttall
""".split(),
    "dovetail.sparse": """
BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
ShortTensor addmm mm sampled_addmm spdiags sum
""".split(),
    "dovetail.special": """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1
gammainc gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e
laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri
polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1
shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta
""".split(),
    "dovetail.storage": """
TypedStorage UntypedStorage
""".split(),
    "dovetail.testing": """
Check CheckSkipped ErrorInput OpInfo Outcome SampleInput Skip TensorMaker all_types all_types_and
all_types_and_complex all_types_and_complex_and assert_close check_op_info check_op_infos checks
complex_types find_op_info floating_and_complex_types floating_and_complex_types_and floating_types
floating_types_and integral_types integral_types_and make_tensor op_infos operators_without_op_info
register_op_infos sample_tensor
""".split(),
    "dovetail.torch_version": """
TorchVersion
""".split(),
    "dovetail.types": """
Device FileLike Number Storage
""".split(),
    "dovetail.utils": """
GradExplanation GraphDrawing TensorDrawing benchmark checkpoint data dlpack draw_graph draw_tensor
explain_grad hooks swap_tensors
""".split(),
    "dovetail.utils._python_dispatch": """
BaseTorchDispatchMode TorchDispatchMode is_in_torch_dispatch_mode is_traceable_wrapper_subclass
is_traceable_wrapper_subclass_type return_and_correct_aliasing transform_subclass
""".split(),
    "dovetail.utils.benchmark": """
Compare Measurement TaskSpec Timer ordered_unique select_unit timer trim_sigfig unit_to_english
""".split(),
    "dovetail.utils.checkpoint": """
CheckpointError CheckpointFunction CheckpointPolicy SAC_IGNORED_OPS SelectiveCheckpointContext
check_backward_validity checkpoint checkpoint_sequential create_selective_checkpoint_contexts
detach_variable get_device_states noop_context_fn
set_checkpoint_debug_enabled set_checkpoint_early_stop set_device_states
""".split(),
    "dovetail.utils.dlpack": """
DLDeviceType from_dlpack to_dlpack
""".split(),
    "dovetail.utils.hooks": """
RemovableHandle unserializable_hook
""".split(),
    "dovetail_aten": """
BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor
Generator HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor ShortStorage
ShortTensor Tensor TypedStorage UntypedStorage abs abs_ absolute acos acos_ acosh acosh_
adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv addmv_ addr adjoint
affine_grid_generator alias_copy all allclose alpha_dropout alpha_dropout_ amax amin aminmax angle
any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_
arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_copy
as_strided_scatter as_tensor asarray asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_
atleast_1d atleast_2d atleast_3d avg_pool1d baddbmm bartlett_window batch_norm bernoulli bilinear
binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_tensors
broadcast_to bucketize cartesian_prod cat cdist ceil ceil_ celu celu_ chain_matmul channel_shuffle
cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min
clamp_min_ clip clip_ clone column_stack combinations complex concat concatenate conj conj_physical
conj_physical_ constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d convolution copysign corrcoef cos cos_ cosh cosh_ cosine_embedding_loss
cosine_similarity count_nonzero cov cross ctc_loss cummax cummin cumprod cumsum cumulative_trapezoid
deg2rad deg2rad_ det detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_copy
diagonal_scatter diff digamma dist div divide dot dropout dropout_ dsplit dstack eig einsum
embedding
embedding_bag embedding_renorm_ empty empty_like empty_permuted empty_strided eq equal erf erf_ erfc
erfc_ erfinv exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye feature_alpha_dropout
feature_alpha_dropout_ feature_dropout feature_dropout_ fill fill_ fix fix_ flatten flip fliplr
flipud float_power floor floor_ floor_divide fmax fmin fmod frac frac_ frexp frobenius_norm
from_dlpack from_file from_numpy frombuffer full full_like gather gcd gcd_ ge geqrf ger get_device
get_printoptions get_rng_state gradient greater greater_equal grid_sampler grid_sampler_2d
grid_sampler_3d group_norm gru gru_cell gt hamming_window hann_window hardshrink heaviside
hinge_embedding_loss histc histogram histogramdd hsplit hstack hypot i0 i0_ igamma igammac imag
index_add index_copy index_fill index_put index_put_ index_reduce index_select initial_seed inner
instance_norm inverse is_complex is_conj is_floating_point is_inference is_neg is_nonzero
is_same_size is_signed is_storage isclose isfinite isin isinf isnan isneginf isposinf isreal istft
kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp less less_equal lgamma
linspace log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2 logcumsumexp
logdet logical_and logical_not logical_or logical_xor logit logit_ logspace logsumexp lstm lstm_cell
lstsq lt lu lu_solve lu_unpack manual_seed margin_ranking_loss masked_fill masked_scatter
masked_select
matmul matrix_exp matrix_power matrix_rank
max max_pool1d max_pool1d_with_indices max_pool2d max_pool3d maximum
mean median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma
nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm
native_channel_shuffle native_dropout native_group_norm native_layer_norm ne neg neg_ negative
negative_ nextafter nonzero nonzero_static norm normal not_equal nuclear_norm numel ones ones_like
orgqr ormqr outer pairwise_distance pca_lowrank pdist permute permute_copy pinverse pixel_shuffle
pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu printoptions prod put qr
quantile rad2deg rad2deg_ rand rand_like randint randint_like randn randn_like randperm ravel real
reciprocal reciprocal_ relu relu_ remainder renorm repeat_interleave reshape resize_as_ resolve_conj
resolve_neg rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ row_stack
rrelu rrelu_ rsqrt rsqrt_ rsub scalar_tensor scatter scatter_add scatter_reduce searchsorted seed
segment_reduce select select_copy select_scatter selu selu_ set_printoptions set_rng_state sgn
sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_ slice_copy slice_scatter slogdet
softmax solve sort split split_copy split_with_sizes split_with_sizes_copy sqrt sqrt_ square square_
squeeze squeeze_copy stack std std_mean stft sub subtract sum svd svd_lowrank swapaxes swapdims
symeig t
t_copy take take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot threshold threshold_
tile topk trace transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices
triplet_margin_loss triu triu_indices true_divide trunc trunc_ unbind unbind_copy unflatten
unfold_copy unique unique_consecutive unravel_index unsafe_chunk unsafe_split
unsafe_split_with_sizes unsqueeze unsqueeze_copy vander var var_mean vdot view_as_complex
view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack where xlogy xlogy_ zero_
zeros zeros_like
""".split(),
    "dovetail_autograd": """
AccumulateGrad AutogradMeta BackwardCFunction DelayedError Edge Engine ExecInfo Function FunctionCtx
FunctionMeta GradcheckError GradientEdge GraphRoot GraphTask InputBuffer Node NodeTask Plan
PlannedNode ReadyQueue RemovableHandle SavedValue UndefinedGrad _FunctionBase _HookMixin
_SingleLevelFunction _get_autograd_fallback_mode _is_setup_context_defined
_set_autograd_fallback_mode active_levels
allow_mutation_on_saved_tensors backward decorate
build_node_class current_autograd_node current_graph_task current_graph_task_execution_order
current_graph_task_id default_engine detect_anomaly disable_saved_tensors_hooks dovetail_load
enable_grad get_gradient_edge grad gradcheck gradgradcheck gradient_edge increment_version
inference_mode install is_anomaly_check_nan_enabled is_anomaly_enabled is_grad_enabled
is_inference_mode_enabled is_multithreading_enabled no_grad node_kind node_names once_differentiable
plan register_multi_grad_hook requires_grad save_on_cpu saved_tensors_hooks saved_values
set_detect_anomaly set_grad_enabled set_multithreading_enabled will_engine_execute_node
""".split(),
    "dovetail_cpu": """
CpuArrays dovetail_backend get_num_threads nameless_file set_num_threads
""".split(),
    "dovetail_cuda": """
device_count dovetail_backend unavailable_because
""".split(),
    "dovetail_dispatcher": """
Annotation BaseTorchFunctionMode CallSpan CustomOpDef DispatchTable Explanation FunctionExplanation
FunctionSchema InNotebooks Kernel Library NoArrayKernelError Observer OpCheckError OpOverload
OpOverloadPacket Operator PendingKernel SchemaError Span Tag TorchDispatchMode TorchFunctionMode
Trace _scoped_library accesses ask_arguments check_pending custom_op define dispatch_modes
dispatch_table
enable_reentrant_dispatch explain explain_function fallthrough_kernel forget_all_routes
function_modes get_ctx
get_kernel handle_torch_function has_torch_function has_torch_function_unary
has_torch_function_variadic impl impl_abstract infer_schema interceptable is_overridable
kernel_namespace opcheck open_span operator_modules ops overridable overridden_name parse_schema
python_text redispatch_function register_autocast register_autograd register_fake
register_kernel
register_torch_dispatch register_vmap short_place transaction without_conditions wrap_torch_function
""".split(),
    "dovetail_kernel": """
ALIASES AcceleratorError Allocator ArrayBackend AutoDispatchBelowADInplaceOrView
AutoDispatchBelowAutograd
AutogradInterface BY_NAME Backend BackendSpec BySize DLDeviceType DTYPES DataPtr DatalessArray
DecoratingGuard Device DeviceLike
DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet DispatchState
ExcludeDispatchKeyGuard ForceDispatchKeyGuard Guard IncludeDispatchKeyGuard Layout MemoryFormat
MemoryStatistics NamedDtype named_dtype PluginError PluginManager PluginNotFoundError PluginRecord
PreserveDispatchKeyGuard
SetExcludeDispatchKeyGuard Size Storage TensorBase VersionCounter after_ADInplaceOrView_keyset
after_autograd_keyset all_backends backend backend_key backend_of_array backend_of_signature
backends_of_signature bfloat16 bool bump_version can_cast channels_last channels_last_3d
collection_paused complex128
complex64 contiguous_format disabled_torch_dispatch_impl disabled_torch_function_impl
dispatch_key_for_device dispatch_state dtype dtype_of_signature finfo float16 float32 float64
full_after full_keyset get_default_device get_default_dtype has_backend hookimpl hookspec iinfo
int16 int32 int64 int8 is_grad_enabled is_included_in_alias is_warn_always_enabled
is_writable jagged make_writable name_of_distribution names_on_demand new_storage
on_new_backend parse_dispatch_key plugin_manager preserve_format
promote_types renewed_after_fork replace_array reset_once_warnings resize_storage restoring
result_dtype runtime_keys
PYTHON_DTYPES
scalar_category scalar_dtype set_default_device set_default_dtype
set_full_tracebacks
set_grad_enabled set_state set_tensor_class set_warn_always share_storage share_version show_view
signature_of sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr state strided tensor_class
tensors_on_storage uint16 uint32 uint64 uint8 use_overlay use_requested_overlays warn_user
warn_user_once without_wrappers wrap wrapped_backend
defining_module publish publish_loaded publish_name forward_old_places
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
        if not name.startswith("_") and not is_submodule(name, getattr(dovetail, name))
    }
    assert shown - set(PUBLIC_NAMES["dovetail"]) == set()


def is_submodule(name: str, value: object) -> bool:
    """Whether `value` is a module under ``dovetail``, of the front end or provided by a plugin,
    which Python sets on the package once it is imported.
    """
    return isinstance(value, ModuleType) and sys.modules.get(f"dovetail.{name}") is value


def test_every_public_name_of_the_base_library_is_one_of_the_front_end() -> None:
    import dovetail
    import dovetail_aten

    assert set(dovetail_aten.__all__) - set(dovetail.__all__) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    import dovetail

    with pytest.raises(AttributeError, match="module 'dovetail' has no attribute 'tensr'"):
        dovetail.tensr  # noqa: B018


@pytest.mark.parametrize("package", PUBLIC_NAMES)
def test_public_classes_and_functions_name_a_public_place(package: str) -> None:
    module = import_module(package)
    elsewhere = []
    for name in PUBLIC_NAMES[package]:
        value = getattr(module, name)
        if not isinstance(value, (type, FunctionType)) or not is_ours(value.__module__):
            continue
        place, called = value.__module__, value.__qualname__
        found = getattr(import_module(place), called, None)
        if place not in PLACES or found is not value:
            elsewhere.append(f"{package}.{name}: {place}.{called}")
    assert elsewhere == []


def is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0].startswith("dovetail")


PLACES = {
    *PUBLIC_NAMES,
    "dovetail.autograd.function",
    "dovetail.distributed",
    "dovetail.serialization",
    "dovetail.return_types",
}


def test_a_class_of_users_keeps_its_module() -> None:
    class Own(dovetail.nn.Module): ...

    assert Own.__module__ == __name__
    assert pickle.loads(pickle.dumps(dovetail.nn.Linear)) is dovetail.nn.Linear


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (dovetail.Tensor, "dovetail.Tensor"),
        (dovetail.nn.Linear, "dovetail.nn.Linear"),
        (dovetail.autograd.Function, "dovetail.autograd.Function"),
        (dovetail.linalg.det, "dovetail.linalg.det"),
        (dovetail.vmap, "dovetail.vmap"),
        (dovetail.add, "dovetail.add"),
        (dovetail.no_grad, "dovetail.no_grad"),
        (dovetail.optim.lr_scheduler.StepLR, "dovetail.optim.lr_scheduler.StepLR"),
    ],
)
def test_the_place_is_the_one_with_the_fewest_dots(value: Any, place: str) -> None:
    assert f"{value.__module__}.{value.__qualname__}" == place


def test_the_place_does_not_depend_on_the_order_of_imports() -> None:
    program = (
        "import dovetail.func, dovetail.autograd, dovetail_autograd;"
        "import dovetail_autograd.transforms;"
        "print(dovetail.func.vmap.__module__, dovetail.autograd.no_grad.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["dovetail", "dovetail"]


def test_the_source_of_a_class_is_never_that_of_another_place() -> None:
    with pytest.raises(OSError, match=r"source code|class definition"):
        inspect.getsource(dovetail.nn.Linear)
    assert "def forward" in inspect.getsource(dovetail.nn.Linear.forward)


def test_the_annotations_of_public_classes_can_be_read() -> None:
    modules = (dovetail, dovetail.nn, dovetail.optim, dovetail.distributions, dovetail.utils.data)
    modules += (dovetail.autograd, dovetail.autograd.graph, dovetail.optim.lr_scheduler)
    found = [value for module in modules for value in vars(module).values()]
    classes = {each for each in found if isinstance(each, type) and "dovetail" in each.__module__}
    assert len(classes) > 250
    for each in classes:
        get_type_hints(each)  # raises NameError for a name that its module lacks
