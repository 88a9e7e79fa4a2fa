/* Includes TEMPLATE for single and for double precision; see real.h. INDEX is an int of the size of
 * a number. */
#define REAL_BITS 32
#define INDEX int32_t
#include TEMPLATE
#undef REAL_BITS
#undef INDEX
#define REAL_BITS 64
#define INDEX int64_t
#include TEMPLATE
#undef REAL_BITS
#undef INDEX
#undef TEMPLATE
