// SPDX-License-Identifier: Apache-2.0
// The builders of work, one for each op or family; plugin.cpp's table names them. Equations are the
// catalogue's.
#pragma once

#include "describe.h"

namespace mote::cudnn {

Work convolution(const Reader& call);             ///< conv1d, conv2d, conv2d_relu, conv3d
Work convolution_gradient(const Reader& call);    ///< their gradients: gx, gw, gb
Work transposed_convolution(const Reader& call);  ///< conv_transpose2d

Work pooling(const Reader& call);           ///< max_pool2d, max_pool3d, avg_pool2d, avg_pool3d
Work pooling_gradient(const Reader& call);  ///< the gradients of the average pools

Work softmax(const Reader& call);           ///< softmax, log_softmax
Work softmax_gradient(const Reader& call);  ///< softmax.grad
Work batch_norm(const Reader& call);
Work batch_norm_training(const Reader& call);  ///< declines running statistics
Work lrn(const Reader& call);

Work row_norm(const Reader& call);  ///< layer_norm, layer_norm_with_statistics, rms_norm
Work instance_norm(const Reader& call);
Work group_norm(const Reader& call);
/// Builds the gradients of layer_norm, of it with its statistics (from y's gradient alone), of
/// rms_norm and of instance_norm, for f32.
Work norm_gradient(const Reader& call);

Work recurrent_cell(const Reader& call);      ///< lstm_cell, gru_cell, rnn_cell
Work recurrent_gradient(const Reader& call);  ///< lstm_cell.grad, gru_cell.grad
Work recurrent_sequence(const Reader& call);  ///< rnn_sequence, lstm_sequence, gru_sequence
Work recurrent_sequence_gradient(const Reader& call);  ///< their gradients

Work attention(const Reader& call);           ///< attention, for 16-bit reals
Work attention_gradient(const Reader& call);  ///< attention.grad, for bf16

Work activation(const Reader& call);           ///< elu, relu, sigmoid, silu, tanh
Work activation_gradient(const Reader& call);  ///< sigmoid.grad, tanh.grad
Work operation(const Reader& call);            ///< add, sub, mul, min, max
Work square_root(const Reader& call);

Work reduction(
    const Reader& call);  ///< reductions along one axis, global_avg_pool, global_max_pool

}  // namespace mote::cudnn
