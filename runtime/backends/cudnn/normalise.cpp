// SPDX-License-Identifier: Apache-2.0
// Softmax and its gradient, batch norm, local response normalisation.
#include "ops.h"

namespace mote::cudnn {
namespace {

/// Returns a vector along channels; all vectors of a call share one descriptor, and so one layout.
Tensor vector_of(const Tensor& t, const Tensor& x) {
  if (t.dims[0] != x.dims[1])
    nvidia::reject(t.text() + " is not along the channels of " + x.text());
  if (!nvidia::is_dense(t)) decline(t.text() + " has gaps");
  return along_channels(t, 4);
}

}  // namespace

Work softmax(const Reader& call) {
  const Tensor x = widened(call.input(0, "x", 3)), y = widened(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  const auto from = describe(x), to = describe(y);
  const int algorithm = call.op() == "softmax" ? kAccurate : kLog;
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().softmax(handle, algorithm, kChannels, one(y.dtype), from.get(), at.data[x.slot],
                    zero(y.dtype), to.get(), at.data[y.slot]);
  });
}

Work softmax_gradient(const Reader& call) {
  const Tensor gy = widened(call.input(0, "gy", 3)), y = widened(call.input(1, "y", 3)),
               gx = widened(call.output(0, "gx", 3));
  nvidia::require_dims(gx, y.dims);
  nvidia::require_dims(gy, y.dims);
  const auto of_gy = describe(gy), of_y = describe(y), of_gx = describe(gx);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().softmax_gradient(handle, kAccurate, kChannels, one(gx.dtype), of_y.get(),
                             at.data[y.slot], of_gy.get(), at.data[gy.slot], zero(gx.dtype),
                             of_gx.get(), at.data[gx.slot]);
  });
}

Work batch_norm(const Reader& call) {
  const Tensor x = widened(call.input(0, "x", 3)), y = widened(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  const Tensor gamma = vector_of(call.input(1, "gamma", 1), x),
               beta = vector_of(call.input(2, "beta", 1), x),
               mean = vector_of(call.input(3, "input_mean", 1), x),
               variance = vector_of(call.input(4, "input_var", 1), x);
  const double eps = epsilon_of(call);
  const auto from = describe(x), to = describe(y), vector = describe(gamma);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().batch_norm(handle, kSpatial, one(y.dtype), zero(y.dtype), from.get(), at.data[x.slot],
                       to.get(), at.data[y.slot], vector.get(), at.data[gamma.slot],
                       at.data[beta.slot], at.data[mean.slot], at.data[variance.slot], eps);
  });
}

// cuDNN's running variance is the unbiased one, so calls that want running statistics are declined.
Work batch_norm_training(const Reader& call) {
  if (call.has_output(1) || call.has_output(2)) decline("running statistics are asked for");
  if (call.has_output(3) != call.has_output(4)) decline("one of the saved statistics is missing");
  const Tensor x = widened(call.input(0, "x", 3)), y = widened(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  const Tensor gamma = vector_of(call.input(1, "gamma", 1), x),
               beta = vector_of(call.input(2, "beta", 1), x);
  std::vector<std::size_t> saved;
  if (call.has_output(3))
    saved = {vector_of(call.output(3, "saved_mean", 1), x).slot,
             vector_of(call.output(4, "saved_inv_std", 1), x).slot};
  const double eps = epsilon_of(call);
  const auto from = describe(x), to = describe(y), vector = describe(gamma);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().batch_norm_training(handle, kSpatial, one(y.dtype), zero(y.dtype), from.get(),
                                at.data[x.slot], to.get(), at.data[y.slot], vector.get(),
                                at.data[gamma.slot], at.data[beta.slot], 1, nullptr, nullptr, eps,
                                saved.empty() ? nullptr : at.data[saved[0]],
                                saved.empty() ? nullptr : at.data[saved[1]]);
  });
}

Work lrn(const Reader& call) {
  const Tensor x = widened(call.input(0, "x", 3)), y = widened(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  const std::int64_t size = call.integer("size", 1, 1);
  const double alpha = call.real("alpha", 1e-4), beta = call.real("beta", 0.75),
               bias = call.real("bias", 1);
  if (size > kLrnMostSize || bias < kLrnLeastBias || beta < kLrnLeastBeta)
    decline("beyond cuDNN's limits of size, bias, beta");
  const auto desc = made(calls().create_lrn, calls().destroy_lrn);
  calls().set_lrn(desc.get(), static_cast<unsigned>(size), alpha, beta, bias);
  const auto from = describe(x), to = describe(y);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().lrn(handle, desc.get(), kAcrossChannels, one(y.dtype), from.get(), at.data[x.slot],
                zero(y.dtype), to.get(), at.data[y.slot]);
  });
}

}  // namespace mote::cudnn
