// libcublas.so.12: products of matrices, the plain way, accumulated in float32 for half precision. The functions that are not here
// are written by the build, and fail.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "memory.h"

namespace {

typedef long long ll;
typedef std::complex<float> cf;
typedef std::complex<double> cd;

constexpr int not_supported = 15, execution_failed = 13;
enum Type { f32 = 0, f64 = 1, f16 = 2, c32 = 4, c64 = 5, bf16 = 14 };

struct Half {
    _Float16 value;
    operator float() const { return float(value); }
    Half(float v) : value(_Float16(v)) {}
};

struct BHalf {
    unsigned short bits;
    operator float() const {
        unsigned all = unsigned(bits) << 16;
        float made;
        memcpy(&made, &all, 4);
        return made;
    }
    BHalf(float v) {
        unsigned all;
        memcpy(&all, &v, 4);
        bits = v != v ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16;
    }
};

template <class T>
T conjugate(T x, int) {
    return x;
}
cf conjugate(cf x, int how) { return how == 2 ? std::conj(x) : x; }
cd conjugate(cd x, int how) { return how == 2 ? std::conj(x) : x; }

template <class T, class S>
void gemm(int ta, int tb, int m, int n, int k, S alpha, const T *A, int lda, const T *B, int ldb, S beta, T *C, int ldc) {
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            S sum = 0;
            for (int l = 0; l < k; ++l)
                sum += conjugate(S(ta ? A[l + ll(i) * lda] : A[i + ll(l) * lda]), ta) *
                       conjugate(S(tb ? B[j + ll(l) * ldb] : B[l + ll(j) * ldb]), tb);
            T &c = C[i + ll(j) * ldc];
            c = T(beta == S(0) ? alpha * sum : alpha * sum + beta * S(c));
        }
}

int size_of(int type) {
    switch (type) {
        case f16:
        case bf16: return 2;
        case f32: return 4;
        case c64: return 16;
        default: return 8;
    }
}

struct Product {
    int ta, tb, m, n, k;
    const void *alpha;
    const void *A;
    int type, lda;
    const void *B;
    int ldb;
    const void *beta;
    void *C;
    int out, ldc;
};

template <class T, class S>
void multiply(const Product &p) {
    gemm<T, S>(p.ta, p.tb, p.m, p.n, p.k, *(const S *)p.alpha, (const T *)p.A, p.lda, (const T *)p.B, p.ldb,
               *(const S *)p.beta, (T *)p.C, p.ldc);
}

const char *multiply_one(const Product &p) {
    if (p.out != p.type) return "the dtype of the result is another one";
    switch (p.type) {
        case f32: multiply<float, float>(p); break;
        case f64: multiply<double, double>(p); break;
        case f16: multiply<Half, float>(p); break;
        case bf16: multiply<BHalf, float>(p); break;
        case c32: multiply<cf, cf>(p); break;
        case c64: multiply<cd, cd>(p); break;
        default: return "the dtype is not supported";
    }
    return nullptr;
}

typedef std::function<const char *()> Body;

int run(const char *name, Body body) {
    emulator_count(library_calls);
    emulator_count(launches);
    emulator_note_launch(name);
    return emulator_run(name, [](void *data) { return (*static_cast<Body *>(data))(); }, &body) ? execution_failed : 0;
}

int gemm_of(const char *name, const Product &p) {
    return run(name, [&] { return multiply_one(p); });
}

// -- vectors ---------------------------------------------------------------------------------------------------------------

template <class T>
int dot_of(const char *name, int n, const T *x, int dx, const T *y, int dy, T *out, int how) {
    return run(name, [&]() -> const char * {
        T sum = 0;
        for (int i = 0; i < n; ++i) sum += conjugate(x[ll(i) * dx], how) * y[ll(i) * dy];
        *out = sum;
        return nullptr;
    });
}

}  // namespace

extern "C" {

int cublasCreate_v2(void **handle) {
    *handle = malloc(8);
    return 0;
}
int cublasDestroy_v2(void *handle) {
    free(handle);
    return 0;
}
int cublasGetVersion_v2(void *, int *version) {
    *version = 120900;
    return 0;
}
int cublasSetStream_v2(void *, void *) { return 0; }
static int math_mode = 0, pointer_mode = 0;
int cublasSetMathMode(void *, int mode) {
    math_mode = mode;
    return 0;
}
int cublasGetMathMode(void *, int *mode) {
    *mode = math_mode;
    return 0;
}
int cublasSetPointerMode_v2(void *, int mode) {
    pointer_mode = mode;
    return 0;
}
int cublasGetPointerMode_v2(void *, int *mode) {
    *mode = pointer_mode;
    return 0;
}

int cublasGemmEx(void *, int ta, int tb, int m, int n, int k, const void *alpha, const void *A, int at, int lda, const void *B,
                 int bt, int ldb, const void *beta, void *C, int ct, int ldc, int, int) {
    if (at != bt) return not_supported;
    return gemm_of("cublasGemmEx", {ta, tb, m, n, k, alpha, A, at, lda, B, ldb, beta, C, ct, ldc});
}
int cublasSgemmEx(void *, int ta, int tb, int m, int n, int k, const float *alpha, const void *A, int at, int lda, const void *B,
                  int bt, int ldb, const float *beta, void *C, int ct, int ldc) {
    if (at != bt) return not_supported;
    return gemm_of("cublasSgemmEx", {ta, tb, m, n, k, alpha, A, at, lda, B, ldb, beta, C, ct, ldc});
}
int cublasGemmStridedBatchedEx(void *, int ta, int tb, int m, int n, int k, const void *alpha, const void *A, int at, int lda,
                               ll sa, const void *B, int bt, int ldb, ll sb, const void *beta, void *C, int ct, int ldc, ll sc,
                               int count, int, int) {
    if (at != bt) return not_supported;
    int size = size_of(at);
    return run("cublasGemmStridedBatchedEx", [&] {
        const char *problem = nullptr;
        for (int i = 0; i < count && !problem; ++i)
            problem = multiply_one({ta, tb, m, n, k, alpha, (const char *)A + i * sa * size, at, lda,
                                    (const char *)B + i * sb * size, ldb, beta, (char *)C + i * sc * size, ct, ldc});
        return problem;
    });
}

#define GEMM(LETTER, TYPE)                                                                                                       \
    int cublas##LETTER##gemm_v2(void *, int ta, int tb, int m, int n, int k, const void *alpha, const void *A, int lda,          \
                                const void *B, int ldb, const void *beta, void *C, int ldc) {                                    \
        return gemm_of("cublas" #LETTER "gemm", {ta, tb, m, n, k, alpha, A, TYPE, lda, B, ldb, beta, C, TYPE, ldc});             \
    }                                                                                                                            \
    int cublas##LETTER##gemmBatched(void *, int ta, int tb, int m, int n, int k, const void *alpha, void **A, int lda, void **B, \
                                    int ldb, const void *beta, void **C, int ldc, int count) {                                   \
        return run("cublas" #LETTER "gemmBatched", [&] {                                                                         \
            const char *problem = nullptr;                                                                                       \
            for (int i = 0; i < count && !problem; ++i)                                                                          \
                problem = multiply_one({ta, tb, m, n, k, alpha, A[i], TYPE, lda, B[i], ldb, beta, C[i], TYPE, ldc});             \
            return problem;                                                                                                      \
        });                                                                                                                      \
    }
GEMM(S, f32)
GEMM(D, f64)
GEMM(C, c32)
GEMM(Z, c64)

#define DOT(NAME, T, HOW)                                                                     \
    int cublas##NAME##_v2(void *, int n, const T *x, int dx, const T *y, int dy, T *out) {    \
        return dot_of("cublas" #NAME, n, x, dx, y, dy, out, HOW);                             \
    }
DOT(Sdot, float, 0)
DOT(Ddot, double, 0)
DOT(Cdotu, cf, 0)
DOT(Cdotc, cf, 2)
DOT(Zdotu, cd, 0)
DOT(Zdotc, cd, 2)
}
