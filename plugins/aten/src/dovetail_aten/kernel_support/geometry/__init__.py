"""Where elements lie: strides, common shapes, borders and windows."""
