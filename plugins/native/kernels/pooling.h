/* Maxima and averages over windows of images, with their gradients. */
#ifndef DOVETAIL_POOLING_H
#define DOVETAIL_POOLING_H

#include "instruction_set.h"

/* The windows along one axis of an image. Those of stride 0 are nearly equal ones that cover it. */
typedef struct {
    ptrdiff_t size, number, kernel, stride, padding, dilation;
} pooling_axis;

/* The last three axes of images in C order. */
typedef struct {
    pooling_axis axis[3];
} pooling_windows;

/* What sums are divided by: a number unless it is 0, else the elements of a window, with those of
 * the padding or without. */
typedef struct {
    double number;
    int counts_padding;
} pooling_divisor;

/* Each writes into arrays that overlap nothing that is read, for `images` images. */
typedef struct {
    void (*maxima)(
        void *maxima, int64_t *indices, const void *images, ptrdiff_t count,
        const pooling_windows *windows);
    void (*averages)(
        void *averages, const void *images, ptrdiff_t count, const pooling_windows *windows,
        pooling_divisor divisor);
    void (*averages_backward)(
        void *result, const void *gradients, ptrdiff_t count, const pooling_windows *windows,
        pooling_divisor divisor);
    /* Write values at the indices of images of `size` elements that are 0, or add them. Return
     * whether all indices are elements of an image. */
    int (*write_at)(
        void *result, const void *values, const int64_t *indices, ptrdiff_t count,
        ptrdiff_t values_of_image, ptrdiff_t size, int adds);
    /* The same of images whose channels come last in memory: maxima of images with less than 2**31
     * elements, averages of windows that are small. */
    void (*maxima_last)(
        void *maxima, int64_t *indices, const void *images, ptrdiff_t samples,
        ptrdiff_t channels, const pooling_windows *windows);
    void (*averages_last)(
        void *averages, const void *images, ptrdiff_t samples, ptrdiff_t channels,
        const pooling_windows *windows, pooling_divisor divisor);
    int (*write_at_last)(
        void *result, const void *values, const int64_t *indices, ptrdiff_t samples,
        ptrdiff_t channels, ptrdiff_t values_of_image, ptrdiff_t size, int adds);
} pooling_kernels_of;

/* By precision, of which the first is single. */
typedef struct {
    pooling_kernels_of of[2];
    int (*are_small)(const pooling_windows *windows);
} pooling_kernels;

#endif
