// What CUDA C++ knows without an include, for a compiler of the host. Included before every kernel.
#pragma once
#include <algorithm>
#include <climits>
#include <cmath>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#define __device__
#define __global__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after another
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC_VER_MAJOR__ 12
#define __CUDA_ARCH__ 800

struct emulated_dim {
    unsigned x, y, z;
};
extern "C" {
extern emulated_dim threadIdx, blockIdx, blockDim, gridDim;
extern int warpSize;
extern char emulator_shared_memory[];
void emulator_block_barrier();
void emulator_warp_barrier();
unsigned long long emulator_exchange(unsigned long long value, unsigned lane);
unsigned emulator_thread();
}

struct alignas(8) float2 { float x, y; };
struct alignas(16) double2 { double x, y; };
struct uint2 { unsigned x, y; };
struct uint3 { unsigned x, y, z; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

// -- waiting and exchanging ----------------------------------------------------------------------------------------------------

inline void __syncthreads() { emulator_block_barrier(); }
inline void __syncwarp(unsigned = ~0u) { emulator_warp_barrier(); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class To, class From>
inline To emulated_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    std::memcpy(&to, &from, sizeof to);
    return to;
}

template <class T>
inline T emulated_from_lane(T value, unsigned lane) {
    unsigned long long given = 0;
    std::memcpy(&given, &value, sizeof value);
    given = emulator_exchange(given, lane);
    std::memcpy(&value, &given, sizeof value);
    return value;
}
inline unsigned emulated_lane() { return emulator_thread() % 32; }
template <class T>
inline T __shfl_sync(unsigned, T value, int lane, int width = 32) {
    return emulated_from_lane(value, emulated_lane() / width * width + lane % width);
}
template <class T>
inline T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
    return emulated_from_lane(value, emulated_lane() ^ mask);
}
template <class T>
inline T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
    unsigned lane = emulated_lane(), from = lane + delta;
    return emulated_from_lane(value, from / width == lane / width ? from : lane);
}
template <class T>
inline T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
    unsigned lane = emulated_lane();
    return emulated_from_lane(value, lane % width >= delta ? lane - delta : lane);
}

// -- atomic operations: threads change at barriers only ------------------------------------------------------------------------

#define EMULATED_ATOMIC template <class T, class U> __attribute__((no_sanitize("thread"))) inline T
EMULATED_ATOMIC atomicAdd(T *p, U v) { T old = *p; *p = old + T(v); return old; }
EMULATED_ATOMIC atomicSub(T *p, U v) { T old = *p; *p = old - T(v); return old; }
EMULATED_ATOMIC atomicMax(T *p, U v) { T old = *p; if (T(v) > old) *p = T(v); return old; }
EMULATED_ATOMIC atomicMin(T *p, U v) { T old = *p; if (T(v) < old) *p = T(v); return old; }
EMULATED_ATOMIC atomicExch(T *p, U v) { T old = *p; *p = T(v); return old; }
EMULATED_ATOMIC atomicAnd(T *p, U v) { T old = *p; *p = old & T(v); return old; }
EMULATED_ATOMIC atomicOr(T *p, U v) { T old = *p; *p = old | T(v); return old; }
EMULATED_ATOMIC atomicXor(T *p, U v) { T old = *p; *p = old ^ T(v); return old; }
template <class T, class U, class V>
__attribute__((no_sanitize("thread"))) inline T atomicCAS(T *p, U compare, V v) {
    T old = *p;
    if (old == T(compare)) *p = T(v);
    return old;
}

// -- functions -----------------------------------------------------------------------------------------------------------------

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
inline int __float_as_int(float f) { return emulated_bits<int>(f); }
inline float __int_as_float(int i) { return emulated_bits<float>(i); }
inline unsigned __float_as_uint(float f) { return emulated_bits<unsigned>(f); }
inline float __uint_as_float(unsigned i) { return emulated_bits<float>(i); }
inline long long __double_as_longlong(double d) { return emulated_bits<long long>(d); }
inline double __longlong_as_double(long long l) { return emulated_bits<double>(l); }
inline int __double2hiint(double d) { return int(emulated_bits<unsigned long long>(d) >> 32); }
inline int __double2loint(double d) { return int(emulated_bits<unsigned long long>(d)); }
inline double __hiloint2double(int high, int low) {
    return emulated_bits<double>((unsigned long long)unsigned(high) << 32 | unsigned(low));
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline double sinpi(double x) { return std::sin(M_PI * std::fmod(x, 2.0)); }
inline double cospi(double x) { return std::cos(M_PI * std::fmod(x, 2.0)); }
inline float sinpif(float x) { return float(sinpi(x)); }
inline float cospif(float x) { return float(cospi(x)); }
inline void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
// Of a large number std::cyl_bessel_i throws; the series in 1 / x is exact there.
inline double emulated_bessel_i(double order, double x) {
    if (x < 100) return std::cyl_bessel_i(order, x);
    if (x > 720) return INFINITY;
    double term = 1, sum = 1;
    for (int k = 1; k < 20; ++k) {
        term *= ((2 * k - 1) * (2 * k - 1) - 4 * order * order) / (8 * x * k);
        sum += term;
    }
    return std::exp(x / 2) / std::sqrt(2 * M_PI * x) * std::exp(x / 2) * sum;
}
inline double cyl_bessel_i0(double x) { return emulated_bessel_i(0, std::abs(x)); }
inline float cyl_bessel_i0f(float x) { return emulated_bessel_i(0, std::abs(x)); }
inline float cyl_bessel_i1f(float x) { return std::copysign(emulated_bessel_i(1, std::abs(x)), x); }
inline double cyl_bessel_i1(double x) { return std::copysign(emulated_bessel_i(1, std::abs(x)), x); }
inline double normcdf(double x) { return std::erfc(-x * 0.70710678118654752) / 2; }
inline float normcdff(float x) { return float(normcdf(x)); }
inline double erfcx(double x) {
    if (x < 20) return std::exp(x * x) * std::erfc(x);
    double below = x;  // a continued fraction, where the exponential overflows
    for (int k = 12; k > 0; --k) below = x + k / 2.0 / below;
    return 0.56418958354775629 / below;
}
// By Halley's method, from an approximation.
inline double erfcinv(double p) {
    if (!(p > 0 && p < 2)) return p == 0 ? INFINITY : p == 2 ? -INFINITY : NAN;
    double q = p < 1 ? p : 2 - p, t = std::sqrt(-2 * std::log(q / 2));
    double x = 0.70711 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int step = 0; step < 4; ++step) {
        double away = std::erfc(x) - q;
        x += away / (1.1283791670955126 * std::exp(-x * x) - x * away);
    }
    return p < 1 ? x : -x;
}
inline double erfinv(double y) {
    if (std::abs(y) >= 0.5) return std::copysign(erfcinv(1 - std::abs(y)), y);
    double x = y * 0.88622692545275801;
    for (int step = 0; step < 4; ++step) {
        double away = std::erf(x) - y;
        x -= away / (1.1283791670955126 * std::exp(-x * x) + x * away);
    }
    return x;
}
inline double normcdfinv(double p) { return -1.4142135623730951 * erfcinv(2 * p); }
inline float erfcxf(float x) { return float(erfcx(x)); }
inline float erfinvf(float x) { return float(erfinv(x)); }
inline float erfcinvf(float x) { return float(erfcinv(x)); }
inline float normcdfinvf(float x) { return float(normcdfinv(x)); }
template <class T>
inline T __ldg(const T *p) { return *p; }
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;
using std::signbit;
template <class A, class B>
using emulated_common = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>,
                                         std::common_type_t<A, B>>;
template <class A, class B>
inline emulated_common<A, B> max(A a, B b) { using C = std::common_type_t<A, B>; return C(a) > C(b) ? C(a) : C(b); }
template <class A, class B>
inline emulated_common<A, B> min(A a, B b) { using C = std::common_type_t<A, B>; return C(a) < C(b) ? C(a) : C(b); }

// -- what calls a kernel with an array of pointers to its arguments ------------------------------------------------------------

template <class... Arguments, size_t... Index>
inline void emulated_call(void (*kernel)(Arguments...), void **given, std::index_sequence<Index...>) {
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<Arguments>> *>(given[Index])...);
}
template <class... Arguments>
inline void emulated_run(void (*kernel)(Arguments...), void **given) {
    emulated_call(kernel, given, std::index_sequence_for<Arguments...>{});
}
