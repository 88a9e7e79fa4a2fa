/* Words of the Mersenne Twister and the numbers that they make. */
#include "random.h"

#include <math.h>

#define TEMPLATE "random_template.h"
#include "both_precisions.h"

/* ---- words ----------------------------------------------------------------------------------- */

enum { DISTANCE = 397, WRAPPED = TWISTER_WORDS - DISTANCE };

INLINE uint32_t
twisted(uint32_t upper, uint32_t lower, uint32_t far)
{
    uint32_t joined = (upper & 0x80000000u) | (lower & 0x7fffffffu);
    return far ^ (joined >> 1) ^ (-(lower & 1) & 0x9908b0dfu);
}

static void
renew(uint32_t *state)
{
    for (int i = 0; i < WRAPPED; i++) {
        state[i] = twisted(state[i], state[i + 1], state[i + DISTANCE]);
    }
    for (int i = WRAPPED; i < TWISTER_WORDS - 1; i++) {
        state[i] = twisted(state[i], state[i + 1], state[i - WRAPPED]);
    }
    state[TWISTER_WORDS - 1] =
        twisted(state[TWISTER_WORDS - 1], state[0], state[TWISTER_WORDS - 1 - WRAPPED]);
}

static void
temper(uint32_t *restrict words, const uint32_t *restrict state, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t word = state[i];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680u;
        word ^= (word << 15) & 0xefc60000u;
        words[i] = word ^ (word >> 18);
    }
}

/* ---- uniform numbers ------------------------------------------------------------------------- */

static void
uniform_f32(void *numbers, const uint32_t *restrict words, ptrdiff_t count)
{
    float *restrict x = numbers;
    for (ptrdiff_t i = 0; i < count; i++) {
        x[i] = (float)(int32_t)(words[i] & 0xffffffu) * 0x1p-24f;
    }
}

/* The number of the last 21 bits of a word and all of the next one. Signed words convert in
 * vectors; no step rounds. */
INLINE double
number_of_pair(uint32_t upper, uint32_t lower)
{
    double high = (double)(int32_t)(upper & 0x1fffffu);
    double low = (double)(int32_t)(lower ^ 0x80000000u) + 0x1p31;
    return high * 0x1p-21 + low * 0x1p-53;
}

static void
uniform_f64(void *numbers, const uint32_t *restrict words, ptrdiff_t count)
{
    double *restrict x = numbers;
    for (ptrdiff_t i = 0; i < count; i++) {
        x[i] = number_of_pair(words[2 * i], words[2 * i + 1]);
    }
}

static void
choose(
    unsigned char *restrict chosen, const uint32_t *restrict words, ptrdiff_t count, double p)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        chosen[i] = number_of_pair(words[2 * i], words[2 * i + 1]) < p;
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static void
integers_of_words(
    void *numbers, const uint32_t *restrict words, ptrdiff_t count, uint64_t width, int64_t low)
{
    int64_t *restrict x = numbers;
    if (width == 0 || width > UINT32_MAX) {
        for (ptrdiff_t i = 0; i < count; i++) {
            x[i] = (int64_t)((uint64_t)words[i] + (uint64_t)low);
        }
        return;
    }
    /* The fraction of word / width, to 64 bits, times width (Lemire, Kaser and Kurz 2019,
     * doi:10.1002/spe.2689): exact, and without a division. */
    const uint64_t inverse = UINT64_MAX / width + 1;
    for (ptrdiff_t i = 0; i < count; i++) {
        uint64_t fraction = inverse * words[i];
        uint64_t remainder = (uint64_t)(((unsigned __int128)fraction * width) >> 64);
        x[i] = (int64_t)(remainder + (uint64_t)low);
    }
}

static void
integers_of_pairs(
    void *numbers, const uint32_t *restrict words, ptrdiff_t count, uint64_t width, int64_t low)
{
    int64_t *restrict x = numbers;
    for (ptrdiff_t i = 0; i < count; i++) {
        uint64_t pair = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
        x[i] = (int64_t)((width == 0 ? pair : pair % width) + (uint64_t)low);
    }
}

const random_kernels JOIN(random, ISA) = {
    renew,
    temper,
    {uniform_f32, uniform_f64},
    {integers_of_words, integers_of_pairs},
    choose,
    {bound_f32, bound_f64},
    {scale_f32, scale_f64},
    {split_f32, split_f64},
    {radii_f32, radii_f64},
    {join_f32, join_f64},
};
