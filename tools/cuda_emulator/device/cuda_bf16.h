// bfloat16 as the header of that name has it: the upper half of a float, rounded to the nearest, ties to even.
#pragma once

struct alignas(2) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float v) {
        unsigned all = emulated_bits<unsigned>(v);
        bits = std::isnan(v) ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16;
    }
    __nv_bfloat16(double v) : __nv_bfloat16(float(v)) {}
    operator float() const { return emulated_bits<float>(unsigned(bits) << 16); }
};

inline bool operator==(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { return float(a) == float(b); }
inline float __bfloat162float(__nv_bfloat16 h) { return float(h); }
inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
inline bool __hisnan(__nv_bfloat16 h) { return std::isnan(float(h)); }
inline int __hisinf(__nv_bfloat16 h) { return std::isinf(float(h)); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short s) { return emulated_bits<__nv_bfloat16>(s); }
