/* Defines the floating-point type of a template: included at the head of each template, which is
 * included once with REAL_BITS 32 and once with 64. */
#undef REAL
#undef UINT
#undef OF
#undef FMA
#undef C
#if REAL_BITS == 32
#define REAL float
#define UINT uint32_t
#define OF(name) JOIN(name, f32)
#define FMA FMA_f32
#define C(number) number##f
#elif REAL_BITS == 64
#define REAL double
#define UINT uint64_t
#define OF(name) JOIN(name, f64)
#define FMA FMA_f64
#define C(number) number
#else
#error "REAL_BITS is 32 or 64"
#endif
