"""Where modules lie that moved; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

MOVED: Final[dict[str, str]] = {}
"""Modules that plugins were told to import, by their old names."""

FORWARDED: Final[dict[str, str]] = {
    "utils.recomputation": "utils.recomputing.recomputation",
    "utils.rng_states": "utils.recomputing.states_of_calls",
    "utils.selective_checkpoints": "utils.recomputing.selective_checkpoints",
    "_lobpcg": "functions.lobpcg",
    "control_flow": "functions.control_flow",
    "global_settings": "functions.global_settings",
    "rarer_functions": "functions.rarer_functions",
    "streams": "functions.streams",
    "symbolic_numbers": "functions.symbolic_numbers",
    "tensor_functions": "functions.tensor_functions",
    "masked._ops": "masked",
    "nn.hooks": "nn.modules.module.hooks",
    "nn.module": "nn.modules.module.module_class",
    "nn.activation": "nn.modules.activation.common_activations",
    "nn.bent_activations": "nn.modules.activation.rarer_activations",
    "nn.multihead_attention": "nn.modules.activation.multihead_attention",
    "nn.batchnorm": "nn",
    "nn.sync_batchnorm": "nn.modules.batchnorm.sync_batch_norm",
    "nn.containers": "nn.modules.container.containers",
    "nn.parameter_containers": "nn.modules.container.parameter_containers",
    "nn.convolution": "nn.modules.conv.convolutions",
    "nn.loss": "nn.modules.loss.classification_losses",
    "nn.margin_loss": "nn.modules.loss.margin_losses",
    "nn.regression_loss": "nn.modules.loss.regression_losses",
    "nn.linear_cross_entropy": "nn",
    "nn.pooling": "nn.modules.pooling.pooling",
    "nn.unpooling": "nn.modules.pooling.unpooling",
    "nn.rnn": "nn.modules.rnn.networks",
    "nn.rnn_base": "nn.modules.rnn.network_base",
    "nn.rnn_cells": "nn.modules.rnn.cells",
    "nn.transformer": "nn.modules.transformer.transformers",
    "nn.transformer_layers": "nn.modules.transformer.transformer_layers",
    "nn.adaptive": "nn.modules.adaptive",
    "nn.cross_map_norm": "nn.modules.normalization",
    "nn.distance": "nn.modules.distance",
    "nn.dropout": "nn.modules.dropout",
    "nn.embedding_bag": "nn.modules.sparse",
    "nn.flatten": "nn.modules.flatten",
    "nn.folding": "nn",
    "nn.lazy_layers": "nn",
    "nn.linear": "nn.modules.linear",
    "nn.normalization": "nn.modules.normalization",
    "nn.padding": "nn.modules.padding",
    "nn.sparse": "nn.modules.sparse",
    "nn.upsampling": "nn.modules.upsampling",
}
"""Modules that pickles name, by their old names."""
