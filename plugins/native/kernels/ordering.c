/* Rows of elements in order. */
#include "ordering.h"

#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------ */

enum { TOGETHER = 16 }; /* places that are found at once: each waits for memory at every step */

/* Kernels of a type from the function for the key of one element. */
#define OF_TYPE(name, type)                                                                       \
    static void write_keys_##name(uint64_t *keys, const void *elements, ptrdiff_t count)          \
    {                                                                                             \
        const type *from = elements;                                                              \
        for (ptrdiff_t i = 0; i < count; i++) {                                                   \
            keys[i] = key_of_##name(from[i]);                                                     \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    static void find_places_##name(                                                               \
        int64_t *places, const void *values, ptrdiff_t count, const void *sorted,                 \
        ptrdiff_t length, int behind)                                                             \
    {                                                                                             \
        const type *from = values, *in = sorted;                                                  \
        for (ptrdiff_t start = 0; start < count; start += TOGETHER) {                             \
            ptrdiff_t found[TOGETHER] = {0}, part = count - start;                                \
            uint64_t keys[TOGETHER];                                                              \
            for (ptrdiff_t i = 0; i < TOGETHER; i++) {                                            \
                keys[i] = key_of_##name(from[start + (i < part ? i : 0)]);                        \
            }                                                                                     \
            for (ptrdiff_t left = length; left > 0;) {                                            \
                ptrdiff_t half = (left + 1) / 2;                                                  \
                for (ptrdiff_t i = 0; i < TOGETHER; i++) {                                        \
                    uint64_t other = key_of_##name(in[found[i] + half - 1]);                      \
                    int is_before = (other < keys[i]) | (behind & (other == keys[i]));            \
                    found[i] += half & -(ptrdiff_t)is_before;                                     \
                }                                                                                 \
                left -= half;                                                                     \
            }                                                                                     \
            memcpy(                                                                               \
                places + start, found,                                                            \
                sizeof *places * (size_t)(part < TOGETHER ? part : TOGETHER));                    \
        }                                                                                         \
    }

/* Integers: those with signs are moved up, so that the least is 0. */
#define INTEGER(name, type, first)                                                                \
    INLINE uint64_t key_of_##name(type number)                                                    \
    {                                                                                             \
        return (uint64_t)(int64_t)number ^ (first);                                               \
    }                                                                                             \
                                                                                                  \
    OF_TYPE(name, type)
#define WITH_SIGN ((uint64_t)1 << 63)
INTEGER(uint8, uint8_t, 0)
INTEGER(uint16, uint16_t, 0)
INTEGER(uint32, uint32_t, 0)
INTEGER(uint64, uint64_t, 0)
INTEGER(int8, int8_t, WITH_SIGN)
INTEGER(int16, int16_t, WITH_SIGN)
INTEGER(int32, int32_t, WITH_SIGN)
INTEGER(int64, int64_t, WITH_SIGN)

/* Real numbers by their bits, of which all are turned where the number is negative, else the first.
 * `infinity` is the bits of that number: those of NaN are greater without the sign. */
#define REAL(name, type, size, infinity)                                                          \
    INLINE uint64_t key_of_##name(type bits)                                                      \
    {                                                                                             \
        const type sign = (type)1 << (size - 1), positive = bits & (type)~sign;                   \
        type turned = bits & sign ? (type)~bits : (type)(bits | sign);                            \
        type key = positive == 0 ? sign : turned;                                                 \
        return positive > (type)(infinity) ? (type)~(type)0 : key;                                \
    }                                                                                             \
                                                                                                  \
    OF_TYPE(name, type)
REAL(float16, uint16_t, 16, 0x7c00)
REAL(bfloat16, uint16_t, 16, 0x7f80)
REAL(float32, uint32_t, 32, 0x7f800000)
REAL(float64, uint64_t, 64, 0x7ff0000000000000)

/* ---- sorting --------------------------------------------------------------------------------- */

enum {
    SHORT_ROW = 32,   /* keys that are sorted faster by insertion */
    LONG_ROW = 1 << 12, /* keys for which a larger digit pays */
    SHORT_DIGIT = 8,
    LONG_DIGIT = 11,
};

#define PAIR narrow_pair
#define WORD uint32_t
#include "ordering_template.h"
#undef PAIR
#undef WORD

#define PAIR wide_pair
#define WORD uint64_t
#include "ordering_template.h"
#undef PAIR
#undef WORD

static void
insert_all(int64_t *order, const uint64_t *keys, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t at = i;
        for (; at > 0 && keys[order[at - 1]] > keys[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

static void
find_bounds(const uint64_t *keys, ptrdiff_t count, uint64_t *least, uint64_t *greatest)
{
    uint64_t low = keys[0], high = keys[0];
    for (ptrdiff_t i = 1; i < count; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    *least = low;
    *greatest = high;
}

static void
sort(int64_t *order, const uint64_t *keys, ptrdiff_t count, void *room)
{
    if (count <= SHORT_ROW) {
        insert_all(order, keys, count);
        return;
    }
    uint64_t least, greatest;
    find_bounds(keys, count, &least, &greatest);
    int bits = greatest == least ? 0 : 64 - __builtin_clzll(greatest - least);
    if (bits <= 32 && (uint64_t)count <= UINT32_MAX) {
        sort_narrow_pair(order, keys, count, least, bits, room);
    }
    else {
        sort_wide_pair(order, keys, count, least, bits, room);
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static uint64_t
middle_of(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Parts the keys that are less than one of them from those that are greater, and goes on with the
 * part that has the rank. Every fourth time the middle of what the keys can be parts them, so that
 * no row takes long. */
static uint64_t
select_key(const uint64_t *keys, ptrdiff_t count, ptrdiff_t rank, void *room)
{
    uint64_t *rooms[3] = {room, (uint64_t *)room + count, (uint64_t *)room + 2 * count};
    uint64_t low, high;
    find_bounds(keys, count, &low, &high);
    for (unsigned round = 1; low < high; round++) {
        uint64_t pivot = round % 4 ? middle_of(keys[0], keys[count / 2], keys[count - 1])
                                   : low + (high - low) / 2;
        uint64_t *less = rooms[0], *greater = rooms[1];
        ptrdiff_t count_less = 0, count_greater = 0;
        for (ptrdiff_t i = 0; i < count; i++) {
            uint64_t key = keys[i];
            less[count_less] = key;
            count_less += key < pivot;
            greater[count_greater] = key;
            count_greater += key > pivot;
        }
        int used = 0; /* the room that the next keys are in */
        if (rank < count_less) {
            keys = less;
            count = count_less;
            high = pivot - 1;
        }
        else if (rank >= count - count_greater) {
            rank -= count - count_greater;
            keys = greater;
            count = count_greater;
            low = pivot + 1;
            used = 1;
        }
        else {
            return pivot;
        }
        uint64_t *kept = rooms[used];
        rooms[used] = rooms[2];
        rooms[2] = kept;
    }
    return low;
}

/* ---- the first ------------------------------------------------------------------------------- */

/* Whether a key comes after another in the order. */
INLINE int
is_after(wide_pair one, wide_pair other)
{
    return one.key > other.key || (one.key == other.key && one.index > other.index);
}

/* Let the pair at `at` sink in a heap whose root comes last. */
static void
sink(wide_pair *heap, ptrdiff_t count, ptrdiff_t at)
{
    wide_pair moved = heap[at];
    for (ptrdiff_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_after(heap[child + 1], heap[child])) {
            child++;
        }
        if (!is_after(heap[child], moved)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

enum { BLOCK = 64 }; /* keys that are compared with the root at once */

/* Few of many: they are in a heap, whose root few keys come before. */
static void
find_few(int64_t *order, ptrdiff_t k, const uint64_t *keys, ptrdiff_t count, wide_pair *heap)
{
    for (ptrdiff_t i = 0; i < k; i++) {
        heap[i] = (wide_pair){keys[i], (uint64_t)i};
    }
    for (ptrdiff_t i = k / 2; i-- > 0;) {
        sink(heap, k, i);
    }
    for (ptrdiff_t start = k; start < count; start += BLOCK) {
        ptrdiff_t end = start + BLOCK < count ? start + BLOCK : count;
        uint64_t root = heap[0].key;
        int has_any = 0;
        for (ptrdiff_t i = start; i < end; i++) {
            has_any |= keys[i] < root;
        }
        for (ptrdiff_t i = start; has_any && i < end; i++) {
            if (keys[i] < heap[0].key) {
                heap[0] = (wide_pair){keys[i], (uint64_t)i};
                sink(heap, k, 0);
            }
        }
    }
    for (ptrdiff_t left = k; left > 0; left--) {
        order[left - 1] = (int64_t)heap[0].index;
        heap[0] = heap[left - 1];
        sink(heap, left - 1, 0);
    }
}

/* Many: those that come before the last one of them are sorted, and are followed by its equals. */
static void
find_many(int64_t *order, ptrdiff_t k, const uint64_t *keys, ptrdiff_t count, uint64_t *room)
{
    const uint64_t last = select_key(keys, count, k - 1, room);
    uint64_t *taken = room, *indices = room + count;
    ptrdiff_t before = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        taken[before] = keys[i];
        indices[before] = (uint64_t)i;
        before += keys[i] < last;
    }
    if (before > 0) {
        sort(order, taken, before, indices + count);
    }
    for (ptrdiff_t i = 0; i < before; i++) {
        order[i] = (int64_t)indices[order[i]];
    }
    for (ptrdiff_t i = 0; before < k; i++) {
        order[before] = i;
        before += keys[i] == last;
    }
}

static void
first(int64_t *order, ptrdiff_t k, const uint64_t *keys, ptrdiff_t count, void *room)
{
    if (k < count / 16) {
        find_few(order, k, keys, count, room);
    }
    else if (k < count) {
        find_many(order, k, keys, count, room);
    }
    else {
        sort(order, keys, count, room);
    }
}

#define BY_TYPE(kernel)                                                                           \
    {kernel##_uint8, kernel##_int8, kernel##_int16, kernel##_int32, kernel##_int64,               \
     kernel##_uint8, kernel##_uint16, kernel##_uint32, kernel##_uint64, kernel##_float32,         \
     kernel##_float64, NULL, NULL, kernel##_float16, kernel##_bfloat16}

const ordering_kernels JOIN(ordering, ISA) = {
    BY_TYPE(write_keys),
    {[INDEXED_FLOAT32] = UINT32_MAX, [INDEXED_FLOAT64] = UINT64_MAX,
     [INDEXED_FLOAT16] = UINT16_MAX, [INDEXED_BFLOAT16] = UINT16_MAX},
    BY_TYPE(find_places),
    sort,
    first,
    select_key,
};
