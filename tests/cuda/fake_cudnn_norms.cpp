// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's softmax, norms and pooling: ops of the catalogue.
#include "fake_cudnn_values.h"

using namespace fake::cudnn;

namespace {

/// Scales, biases and statistics along channels.
bool is_vector(const TensorDesc& v, const TensorDesc& x) {
  return v.dims == along_channels(x.dims) && v.type == compute_type(x.type);
}
Tensor as_vector(const TensorDesc& v, In data) { return read(v, data).reshape({v.dims[1]}); }

/// Of an op of images.
void write_images(const TensorDesc& y, Out data, const Tensor& images, In alpha, In beta) {
  write(y, data, images.reshape(y.dims), alpha, beta);
}

Dims pooled(const PoolingDesc& p, const TensorDesc& x) {
  Dims dims = {x.dims[0], x.dims[1]};
  for (std::size_t k = 0; k < p.taps.size(); ++k)
    dims.push_back(1 + (x.dims[k + 2] + 2 * p.pads[k] - p.taps[k]) / p.strides[k]);
  return dims;
}
/// The catalogue's pool, or its gradient.
Tensor pooled(const PoolingDesc& p, const std::string& suffix, const std::vector<Tensor>& inputs) {
  Params params =
      along({{"kernel", p.taps}, {"stride", p.strides}, {"pads", joined(p.pads, p.pads)}});
  if (p.mode != kMax) params["count_include_pad"] = p.mode == kAverageWithPads ? 1 : 0;
  const std::string op = p.mode == kMax ? "max_pool" : "avg_pool";
  return result(op + std::to_string(p.taps.size()) + "d" + suffix, inputs, params);
}

}  // namespace

FAKE_EXPORT int cudnnSoftmaxForward(Handle* handle, int algorithm, int mode, In alpha,
                                    TensorDesc* xd, In x, In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd) && mode == kChannels);
    require(algorithm == kAccurate || algorithm == kLog);
    const char* const op = algorithm == kAccurate ? "softmax" : "log_softmax";
    write_images(*yd, y, result(op, {as_images(read(*xd, x))}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnSoftmaxBackward(Handle* handle, int algorithm, int mode, In alpha,
                                     TensorDesc* yd, In y, TensorDesc* gyd, In gy, In beta,
                                     TensorDesc* gxd, Out gx) {
  return computing(handle, [&] {
    require(are_alike(*yd, *gyd) && are_alike(*yd, *gxd));
    require(mode == kChannels && algorithm == kAccurate);
    const std::vector<Tensor> inputs = {as_images(read(*gyd, gy)), as_images(read(*yd, y))};
    write_images(*gxd, gx, result("softmax.grad", inputs), alpha, beta);
  });
}

FAKE_EXPORT int cudnnBatchNormalizationForwardInference(Handle* handle, int mode, In alpha, In beta,
                                                        TensorDesc* xd, In x, TensorDesc* yd, Out y,
                                                        TensorDesc* vd, In scale, In bias, In mean,
                                                        In variance, double eps) {
  return computing(handle, [&] {
    require(mode == kSpatial && are_alike(*xd, *yd) && is_vector(*vd, *xd) && eps >= 0);
    std::vector<Tensor> inputs = {as_images(read(*xd, x))};
    for (In vector : {scale, bias, mean, variance}) inputs.push_back(as_vector(*vd, vector));
    write_images(*yd, y, result("batch_norm", inputs, {{"eps", eps}}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnBatchNormalizationForwardTraining(Handle* handle, int mode, In alpha, In beta,
                                                       TensorDesc* xd, In x, TensorDesc* yd, Out y,
                                                       TensorDesc* vd, In scale, In bias, double,
                                                       Out running_mean, Out running_variance,
                                                       double eps, Out saved_mean,
                                                       Out saved_inverse) {
  return computing(handle, [&] {
    require(mode == kSpatial && are_alike(*xd, *yd) && is_vector(*vd, *xd) && eps >= 0);
    require((saved_mean == nullptr) == (saved_inverse == nullptr));
    require(running_mean == nullptr && running_variance == nullptr, kNotSupported);
    const Tensor none = filled({vd->dims[1]}, 0);
    const std::vector<Tensor> found =
        results("batch_norm_training",
                {as_images(read(*xd, x)), as_vector(*vd, scale), as_vector(*vd, bias), none, none},
                {{"eps", eps}});
    write_images(*yd, y, found[0], alpha, beta);
    if (saved_mean == nullptr) return;
    write(*vd, saved_mean, found[3].reshape(vd->dims));
    write(*vd, saved_inverse, found[4].reshape(vd->dims));
  });
}

FAKE_EXPORT int cudnnLRNCrossChannelForward(Handle* handle, LrnDesc* l, int mode, In alpha,
                                            TensorDesc* xd, In x, In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd) && mode == kAcrossChannels);
    const Params params = {
        {"size", std::int64_t{l->size}}, {"alpha", l->alpha}, {"beta", l->beta}, {"bias", l->bias}};
    write_images(*yd, y, result("lrn", {as_images(read(*xd, x))}, params), alpha, beta);
  });
}

FAKE_EXPORT int cudnnGetPoolingNdForwardOutputDim(PoolingDesc* p, TensorDesc* x, int count,
                                                  int* dims) {
  if (const int status = fake::counted()) return of_driver(status);
  if (count != static_cast<int>(x->dims.size()) || x->dims.size() != p->taps.size() + 2)
    return kBadParam;
  std::ranges::copy(pooled(*p, *x), dims);
  return 0;
}
FAKE_EXPORT int cudnnPoolingForward(Handle* handle, PoolingDesc* p, In alpha, TensorDesc* xd, In x,
                                    In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(xd->type == yd->type && pooled(*p, *xd) == yd->dims);
    write(*yd, y, pooled(*p, "", {read(*xd, x)}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* handle, PoolingDesc* p, In alpha, TensorDesc* yd, In,
                                     TensorDesc* gyd, In gy, TensorDesc* xd, In, In beta,
                                     TensorDesc* gxd, Out gx) {
  return computing(handle, [&] {
    require(p->mode != kMax, kNotSupported);  // the fake's limit, not the manual's
    require(are_alike(*yd, *gyd) && are_alike(*xd, *gxd) && pooled(*p, *xd) == yd->dims);
    write(*gxd, gx, pooled(*p, ".grad", {read(*gyd, gy), filled(gxd->dims, 0)}), alpha, beta);
  });
}
