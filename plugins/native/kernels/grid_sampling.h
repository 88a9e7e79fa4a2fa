/* Images and volumes sampled at the points of a grid, with the gradients. */
#ifndef DOVETAIL_GRID_SAMPLING_H
#define DOVETAIL_GRID_SAMPLING_H

#include "instruction_set.h"

/* PyTorch's numbers. */
typedef enum { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC } grid_mode;
typedef enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION } grid_padding;

/* Images (images, channels, *sizes) with two or three sizes, all at least 1 and less than 2**31
 * together, and a grid (images, points, ndim), whose coordinates are those of the last axis first.
 * Cubic is for two axes. */
typedef struct {
    int ndim, align_corners;
    grid_mode mode;
    grid_padding padding;
    ptrdiff_t images, channels, sizes[3], points;
} grid_sampling;

/* Each reads and writes arrays in C order that do not overlap. */
typedef struct {
    void (*values)(
        void *values, const void *images, const void *grid, const grid_sampling *how);
    /* Write the gradients of images and of the grid; either may be NULL. */
    void (*gradients)(
        void *to_images, void *to_grid, const void *grad, const void *images, const void *grid,
        const grid_sampling *how);
} grid_sampling_kernels_of;

/* By precision, of which the first is single. */
typedef struct {
    grid_sampling_kernels_of of[2];
} grid_sampling_kernels;

#endif
