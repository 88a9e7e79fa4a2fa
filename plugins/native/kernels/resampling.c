/* Images of another size: elements picked, or summed along one axis after the other, and the
 * gradients. */
#include "resampling.h"

#include <math.h>
#include <string.h>

/* How far apart the elements of the result lie among those given. */
static double
step_of(const resampling *how)
{
    if (how->align_corners) {
        return how->length > 1 ? (double)(how->size - 1) / (double)(how->length - 1) : 0;
    }
    return how->scale > 0 ? 1 / how->scale : (double)how->size / (double)how->length;
}

/* A whole number as an index of an axis: what no integer holds is the first element. */
INLINE int32_t
clip(double place, ptrdiff_t size)
{
    if (!(place > 0 && place < 0x1p62)) {
        return 0;
    }
    return place < (double)(size - 1) ? (int32_t)place : (int32_t)(size - 1);
}

INLINE ptrdiff_t
product_of(const resampled_axis *axes, int first, int end, int of_results)
{
    ptrdiff_t product = 1;
    for (int i = first; i < end; i++) {
        product *= of_results ? axes[i].length : axes[i].size;
    }
    return product;
}

/* How many elements lie between the elements of an axis, and how many of these there are before it,
 * when the axes before or behind it have been summed. */
typedef struct {
    ptrdiff_t outer, inner;
} surroundings;

INLINE surroundings
surroundings_of(const resampled_images *how, int axis, int is_first_first)
{
    return (surroundings){
        product_of(how->axis, 0, axis, is_first_first),
        product_of(how->axis, axis + 1, how->ndim, !is_first_first) * how->inner};
}

/* The axis that is summed as the one of a number. */
INLINE int
axis_in_turn(const resampled_images *how, int number, int is_first_first)
{
    return is_first_first ? number : how->ndim - 1 - number;
}

/* The elements of the largest result in between, twice where there are two. */
static ptrdiff_t
count_scratch(const resampled_images *how, int is_first_first)
{
    ptrdiff_t most = 0;
    for (int number = 0; number < how->ndim - 1; number++) {
        int axis = axis_in_turn(how, number, is_first_first);
        surroundings around = surroundings_of(how, axis, is_first_first);
        ptrdiff_t size = around.outer * how->axis[axis].length * around.inner;
        most = size > most ? size : most;
    }
    return how->ndim > 2 ? 2 * most : most;
}

#define TEMPLATE "resampling_template.h"
#include "both_precisions.h"

/* ---- elements picked ------------------------------------------------------------------------- */

#define PICK(type)                                                                                \
    for (ptrdiff_t i = 0; i < length; i++) {                                                      \
        ((type *)to)[i] = ((const type *)from)[index[i]];                                         \
    }

static void
pick_row(char *to, const char *from, ptrdiff_t item, const int32_t *index, ptrdiff_t length)
{
    switch (item) {
    case 1:
        PICK(uint8_t)
        break;
    case 2:
        PICK(uint16_t)
        break;
    case 4:
        PICK(uint32_t)
        break;
    case 8:
        PICK(uint64_t)
        break;
    default:
        for (ptrdiff_t i = 0; i < length; i++) {
            memcpy(to + i * item, from + index[i] * item, (size_t)item);
        }
    }
}

/* The elements of an image along an axis and those behind it: equal ones are copied once more. */
static void
pick_from(
    char *to, const char *from, ptrdiff_t item, const resampled_images *how, int number)
{
    const resampled_axis *axis = how->axis + number;
    if (number == how->ndim - 1) {
        pick_row(to, from, item * how->inner, axis->index, axis->length);
        return;
    }
    ptrdiff_t given = item * how->inner * product_of(how->axis, number + 1, how->ndim, 0);
    ptrdiff_t made = item * how->inner * product_of(how->axis, number + 1, how->ndim, 1);
    for (ptrdiff_t i = 0; i < axis->length; i++, to += made) {
        if (i > 0 && axis->index[i] == axis->index[i - 1]) {
            memcpy(to, to - made, (size_t)made);
        }
        else {
            pick_from(to, from + axis->index[i] * given, item, how, number + 1);
        }
    }
}

static void
pick(char *result, const char *images, ptrdiff_t item, const resampled_images *how)
{
    ptrdiff_t given = item * how->inner * product_of(how->axis, 0, how->ndim, 0);
    ptrdiff_t made = item * how->inner * product_of(how->axis, 0, how->ndim, 1);
    for (ptrdiff_t n = 0; n < how->outer; n++) {
        pick_from(result + n * made, images + n * given, item, how, 0);
    }
}

#define KERNELS_OF(type)                                                                          \
    {JOIN(count_taps, type), JOIN(set_taps, type), JOIN(turn_taps, type), JOIN(sum, type)}
const resampling_kernels JOIN(resampling, ISA) = {
    {KERNELS_OF(f32), KERNELS_OF(f64)}, pick, count_scratch};
