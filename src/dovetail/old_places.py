"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {
    "": "_lobpcg control_flow global_settings rarer_functions streams symbolic_numbers "
    "tensor_functions",
    "masked": "masked._ops",  # by which PyTorch's examples import it too
    "nn": "nn.hooks nn.module nn.activation nn.bent_activations nn.multihead_attention "
    "nn.batchnorm nn.sync_batchnorm nn.containers nn.parameter_containers nn.convolution nn.loss "
    "nn.margin_loss nn.regression_loss nn.linear_cross_entropy nn.pooling nn.unpooling nn.rnn "
    "nn.rnn_base nn.rnn_cells nn.transformer nn.transformer_layers nn.adaptive nn.cross_map_norm "
    "nn.distance nn.dropout nn.embedding_bag nn.flatten nn.folding nn.lazy_layers nn.linear "
    "nn.normalization nn.padding nn.sparse nn.upsampling",
    "utils.checkpoint": "utils.recomputation utils.rng_states utils.selective_checkpoints",
}
