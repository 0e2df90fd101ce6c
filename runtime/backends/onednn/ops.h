// The builders of jobs, one for each op or family; plugin.cpp's table names them. Equations are the
// catalogue's.
#pragma once

#include "reader.h"

namespace mote::onednn {

Jobs matmul(const Reader& call);
Jobs gemm(const Reader& call);  ///< without c

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

}  // namespace mote::onednn
