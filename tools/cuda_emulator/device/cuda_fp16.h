// Half precision as the header of that name has it, by the compiler's own type.
#pragma once

struct __half_raw {
    unsigned short x;
};

struct alignas(2) __half {
    _Float16 value;
    __half() = default;
    __half(float v) : value(_Float16(v)) {}
    __half(double v) : value(_Float16(v)) {}
    __half(int v) : value(_Float16(v)) {}
    __half(unsigned v) : value(_Float16(v)) {}
    __half(long long v) : value(_Float16(v)) {}
    __half(unsigned long long v) : value(_Float16(v)) {}
    __half(const __half_raw &raw) { std::memcpy(&value, &raw, 2); }
    operator float() const { return float(value); }
    operator __half_raw() const {
        __half_raw raw;
        std::memcpy(&raw, &value, 2);
        return raw;
    }
};
typedef __half half;

inline float __half2float(half h) { return float(h.value); }
inline half __float2half(float f) { return half(f); }
inline half __float2half_rn(float f) { return half(f); }
inline bool __hisnan(half h) { return std::isnan(float(h.value)); }
inline int __hisinf(half h) { return std::isinf(float(h.value)); }
inline unsigned short __half_as_ushort(half h) { return emulated_bits<unsigned short>(h); }
inline half __ushort_as_half(unsigned short s) { return emulated_bits<half>(s); }
