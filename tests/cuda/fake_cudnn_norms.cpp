// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's softmax, norms and pooling: ops of the catalogue.
#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

/// Scales, biases and statistics along channels.
bool is_vector(const TensorDesc& v, const TensorDesc& x) {
  return v.dims == along_channels(x.dims) && v.type == compute_type(x.type);
}
Tensor as_vector(const TensorDesc& v, In data) { return read(v, data).reshape({v.dims[1]}); }

/// The catalogue's pool of as many axes.
std::string op_of(const PoolingDesc& p) {
  return (p.mode == kMax ? "max_pool" : "avg_pool") + std::to_string(p.taps.size()) + "d";
}
Params params_of(const PoolingDesc& p) {
  Params params =
      along({{"kernel", p.taps}, {"stride", p.strides}, {"pads", joined(p.pads, p.pads)}});
  if (p.mode != kMax) params["count_include_pad"] = p.mode == kAverageWithPads ? 1 : 0;
  return params;
}
Dims pooled(const PoolingDesc& p, const TensorDesc& x) {
  return dims_of(op_of(p), {x.dims}, params_of(p));
}

}  // namespace

FAKE_EXPORT int cudnnSoftmaxForward(Handle* handle, int algorithm, int mode, In alpha,
                                    TensorDesc* xd, In x, In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd) && mode == kChannels);
    require(algorithm == kAccurate || algorithm == kLog);
    const char* const op = algorithm == kAccurate ? "softmax" : "log_softmax";
    write(*yd, y, result(op, {read_images(*xd, x)}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnSoftmaxBackward(Handle* handle, int algorithm, int mode, In alpha,
                                     TensorDesc* yd, In y, TensorDesc* gyd, In gy, In beta,
                                     TensorDesc* gxd, Out gx) {
  return computing(handle, [&] {
    require(are_alike(*yd, *gyd) && are_alike(*yd, *gxd));
    require(mode == kChannels && algorithm == kAccurate);
    const std::vector<Tensor> inputs = {read_images(*gyd, gy), read_images(*yd, y)};
    write(*gxd, gx, result("softmax.grad", inputs), alpha, beta);
  });
}

FAKE_EXPORT int cudnnBatchNormalizationForwardInference(Handle* handle, int mode, In alpha, In beta,
                                                        TensorDesc* xd, In x, TensorDesc* yd, Out y,
                                                        TensorDesc* vd, In scale, In bias, In mean,
                                                        In variance, double eps) {
  return computing(handle, [&] {
    require(mode == kSpatial && are_alike(*xd, *yd) && is_vector(*vd, *xd) && eps >= 0);
    std::vector<Tensor> inputs = {read_images(*xd, x)};
    for (In vector : {scale, bias, mean, variance}) inputs.push_back(as_vector(*vd, vector));
    write(*yd, y, result("batch_norm", inputs, {{"eps", eps}}), alpha, beta);
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
                {read_images(*xd, x), as_vector(*vd, scale), as_vector(*vd, bias), none, none},
                {{"eps", eps}});
    write(*yd, y, found[0], alpha, beta);
    if (saved_mean == nullptr) return;
    write(view(*vd, saved_mean), found[3].reshape(vd->dims));
    write(view(*vd, saved_inverse), found[4].reshape(vd->dims));
  });
}

FAKE_EXPORT int cudnnLRNCrossChannelForward(Handle* handle, LrnDesc* l, int mode, In alpha,
                                            TensorDesc* xd, In x, In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd) && mode == kAcrossChannels);
    const Params params = {
        {"size", std::int64_t{l->size}}, {"alpha", l->alpha}, {"beta", l->beta}, {"bias", l->bias}};
    write(*yd, y, result("lrn", {read_images(*xd, x)}, params), alpha, beta);
  });
}

FAKE_EXPORT int cudnnGetPoolingNdForwardOutputDim(PoolingDesc* p, TensorDesc* x, int count,
                                                  int* dims) {
  if (const int status = counted()) return of_driver(status);
  return caught([&] {
    require(count == static_cast<int>(x->dims.size()));
    std::ranges::copy(pooled(*p, *x), dims);
  });
}
FAKE_EXPORT int cudnnPoolingForward(Handle* handle, PoolingDesc* p, In alpha, TensorDesc* xd, In x,
                                    In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(xd->type == yd->type && pooled(*p, *xd) == yd->dims);
    write(*yd, y, result(op_of(*p), {read(*xd, x)}, params_of(*p)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* handle, PoolingDesc* p, In alpha, TensorDesc* yd, In,
                                     TensorDesc* gyd, In gy, TensorDesc* xd, In, In beta,
                                     TensorDesc* gxd, Out gx) {
  return computing(handle, [&] {
    require(p->mode != kMax, kNotSupported);  // the fake's limit, not the manual's
    require(are_alike(*yd, *gyd) && are_alike(*xd, *gxd) && pooled(*p, *xd) == yd->dims);
    const std::vector<Tensor> inputs = {read(*gyd, gy), filled(gxd->dims, 0)};
    write(*gxd, gx, result(op_of(*p) + ".grad", inputs, params_of(*p)), alpha, beta);
  });
}
