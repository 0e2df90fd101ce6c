// SPDX-License-Identifier: Apache-2.0
// The builders of jobs, one for each op or family; plugin.cpp's table names them. Equations are the
// catalogue's.
#pragma once

#include "reader.h"

namespace mote::onednn {

/// The layouts that a job tries if its primitive takes any strides.
inline constexpr std::initializer_list<Layouts> kAsTheyLie = {Layouts::as_they_lie, Layouts::dense};

Jobs matmul(const Reader& call);
Jobs gemm(const Reader& call);  ///< declines c

/// The strides, dilations (from 0) and pads of a convolution over `axes` axes, and its groups.
struct ConvolutionWindow {
  std::size_t axes = 0;
  memory::dims stride, dilation, before, after;
  memory::dim groups = 1;
};
ConvolutionWindow convolution_window(const Reader& call, std::size_t axes);
dnnl::convolution_forward::primitive_desc convolution_desc(
    const ConvolutionWindow& w, dnnl::prop_kind kind, const memory::desc& x,
    const memory::desc& weights, const memory::desc* bias, const memory::desc& y,
    const dnnl::primitive_attr& attr);

Jobs convolution(const Reader& call);           ///< conv1d, conv2d, conv3d
Jobs convolution_gradient(const Reader& call);  ///< gradients of conv1d, conv2d: gx, gw, gb
Jobs deconvolution(const Reader& call);         ///< conv_transpose2d

Jobs pooling(const Reader& call);           ///< max_pool2d, max_pool3d, avg_pool2d, avg_pool3d
Jobs pooling_gradient(const Reader& call);  ///< avg_pool2d.grad

Jobs softmax(const Reader& call);  ///< softmax, log_softmax
Jobs layer_norm(const Reader& call);
Jobs batch_norm(const Reader& call);
Jobs lrn(const Reader& call);
Jobs reduction(const Reader& call);

Jobs eltwise(const Reader& call);
Jobs binary(const Reader& call);
Jobs concat(const Reader& call);

Jobs lstm_cell(const Reader& call);
Jobs gru_cell(const Reader& call);
Jobs rnn_cell(const Reader& call);

Jobs integer_matmul(const Reader& call);       ///< matmul_integer, qmatmul
Jobs integer_convolution(const Reader& call);  ///< conv2d_integer, qconv2d

Jobs resampling(const Reader& call);  ///< resize_nearest2d, resize_linear2d

}  // namespace mote::onednn
