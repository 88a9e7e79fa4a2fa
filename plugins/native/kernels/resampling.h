/* Images of another size: elements picked, or summed along one axis after the other, and the
 * gradients. */
#ifndef DOVETAIL_RESAMPLING_H
#define DOVETAIL_RESAMPLING_H

#include "instruction_set.h"

typedef enum {
    RESAMPLE_NEAREST,
    RESAMPLE_NEAREST_EXACT,
    RESAMPLE_LINEAR,
    RESAMPLE_CUBIC,
    RESAMPLE_LINEAR_SMOOTHED, /* over all elements that fall together */
    RESAMPLE_CUBIC_SMOOTHED,
} resampling_kind;

enum { RESAMPLING_AXES = 3 };

/* How an axis of `size` elements becomes one of `length`: `scale` is the factor that was asked for,
 * or not above 0. Sizes are 1 to INT32_MAX. */
typedef struct {
    resampling_kind kind;
    int align_corners;
    ptrdiff_t size, length;
    double scale;
} resampling;

/* What the elements of an axis of the result take: those at index[begin[i]] to before
 * index[begin[i + 1]], by what these are multiplied; how many each takes, 0 if that varies. */
typedef struct {
    ptrdiff_t size, length;
    int count;
    ptrdiff_t *begin;
    int32_t *index;
    void *weight;
} resampled_axis;

/* Images have the shape (outer, *sizes, inner) in C order; results do not overlap them. */
typedef struct {
    int ndim;
    ptrdiff_t outer, inner;
    resampled_axis axis[RESAMPLING_AXES];
} resampled_images;

typedef struct {
    /* Return how many elements those of the result take together, at most; -1 for more than the
     * memory of a machine holds. */
    ptrdiff_t (*count_taps)(const resampling *how);
    /* Set what is taken, in memory for so many elements. */
    void (*set_taps)(resampled_axis *axis, const resampling *how);
    /* Set what the elements that were taken get back: `begin` has room for one more than the
     * elements of the axis that was given, and for those of the result. */
    void (*turn_taps)(resampled_axis *turned, const resampled_axis *axis);
    /* Sum along the last axis first, or along the first one. `scratch` has room for what
     * `count_scratch` says. */
    void (*sum)(
        void *result, const void *images, void *scratch, const resampled_images *how,
        int is_first_first);
} resampling_kernels_of;

/* By precision, of which the first is single. `pick` copies elements of `item` bytes, of which
 * each of a result takes one. */
typedef struct {
    resampling_kernels_of of[2];
    void (*pick)(char *result, const char *images, ptrdiff_t item, const resampled_images *how);
    ptrdiff_t (*count_scratch)(const resampled_images *how, int is_first_first);
} resampling_kernels;

#endif
