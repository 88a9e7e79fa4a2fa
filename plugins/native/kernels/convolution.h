/* Convolutions and their gradients without patches: registers of results, each the sum of what
 * windows have at their places, times weights. */
#ifndef DOVETAIL_CONVOLUTION_H
#define DOVETAIL_CONVOLUTION_H

#include "windows.h"

/* Images (images, groups * depth, *sizes), results (images, groups * rows, *numbers) and weights
 * (groups * rows, depth, *kernels). */
typedef struct {
    ptrdiff_t images, groups, depth, rows;
    image_windows windows;
} convolution;

/* What is computed from the other two: results from images and weights; images from results and
 * weights; weights from images and results. */
typedef enum { RESULTS, IMAGES, WEIGHTS } convolution_part;

/* The number of elements of memory to work in, which may have any values. */
typedef double convolution_room(const convolution *of, convolution_part part);

/* Compute a part. Images and weights are added to zeros that are there. Zeros are multiplied by
 * weights, or by elements of images. */
typedef void convolver(
    void *made, const void *one, const void *other, const convolution *of, convolution_part part,
    void *room);

/* By precision, of which the first is single. */
typedef struct {
    convolution_room *room;
    convolver *convolve[2];
    int (*are_finite[2])(const void *numbers, ptrdiff_t count);
    /* Results (images, *numbers, channels) of images (images, *sizes, channels) and finite weights
     * (places, channels): those of a convolution in as many groups. */
    void (*convolve_apart[2])(
        void *results, const void *images, const void *weights, ptrdiff_t count,
        ptrdiff_t channels, const image_windows *windows);
} convolution_kernels;

#endif
