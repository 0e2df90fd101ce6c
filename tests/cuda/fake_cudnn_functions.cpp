// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's functions of elements, operations on two tensors, reductions, softmax, norms and
// pooling, which are ops of the catalogue.
#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

constexpr std::size_t kReductionWorkspace = 256;

Tensor activated(const ActivationDesc& a, const Tensor& x) {
  if (a.mode == kSigmoid) return result("sigmoid", {x});
  if (a.mode == kTanh) return result("tanh", {x});
  if (a.mode == kElu) return result("elu", {x}, {{"alpha", a.coefficient}});
  // The manual allows that the coefficient is an upper bound.
  if (a.mode == kRelu) return result("min", {result("relu", {x}), filled({1}, a.coefficient)});
  const Tensor beta = filled({1}, a.swish_beta);  // x sigmoid(beta x)
  return result("mul", {x, result("sigmoid", {result("mul", {x, beta})})});
}

const std::map<int, const char*> kOperations = {{kOfAdd, "add"},
                                                {kOfMultiply, "mul"},
                                                {kOfMinimum, "min"},
                                                {kOfMaximum, "max"},
                                                {kOfSquareRoot, "sqrt"}};
const std::map<int, const char*> kReductions = {{kReduceAdd, "sum"},
                                                {kReduceMultiply, "prod"},
                                                {kReduceMinimum, "reduce_min"},
                                                {kReduceMaximum, "reduce_max"},
                                                {kReduceAverage, "mean"},
                                                {kReduceNorm1, "norm1"},
                                                {kReduceNorm2, "norm2"}};

/// Scales, biases and statistics along channels.
bool is_vector(const TensorDesc& v, const TensorDesc& x) {
  return v.dims == along_channels(x.dims) && v.type == compute_type(x.type);
}
Tensor as_vector(const TensorDesc& v, In data) { return read(v, data).reshape({v.dims[1]}); }

/// Returns the catalogue's pool of the same number of axes.
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

FAKE_EXPORT int cudnnTransformTensor(Handle* h, In alpha, TensorDesc* xd, In x, In beta,
                                     TensorDesc* yd, Out y) {
  return computing(h, [&] {
    require(are_alike(*xd, *yd));
    require(xd->dims.size() == 4 || xd->dims.size() == 5, kNotSupported);
    write(*yd, y, read(*xd, x), alpha, beta);
  });
}
FAKE_EXPORT int cudnnSetTensor(Handle* h, TensorDesc* yd, Out y, In value) {
  return computing(h, [&] { write(view(*yd, y), filled({1}, factor_of(*yd, value))); });
}
FAKE_EXPORT int cudnnAddTensor(Handle* h, In alpha, TensorDesc* ad, In a, In beta, TensorDesc* cd,
                               Out c) {
  return computing(h, [&] {
    require(repeats_to(ad->dims, cd->dims) && ad->type == cd->type);
    write(*cd, c, read(*ad, a), alpha, beta);
  });
}

FAKE_EXPORT int cudnnActivationForward(Handle* h, ActivationDesc* a, In alpha, TensorDesc* xd, In x,
                                       In beta, TensorDesc* yd, Out y) {
  return computing(h, [&] {
    require(are_alike(*xd, *yd) && (x != y || xd->strides == yd->strides));
    write(*yd, y, activated(*a, read(*xd, x)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnActivationBackward(Handle* h, ActivationDesc* a, In alpha, TensorDesc* yd,
                                        In y, TensorDesc* gyd, In gy, TensorDesc* xd, In, In beta,
                                        TensorDesc* gxd, Out gx) {
  return computing(h, [&] {
    require(are_alike(*xd, *gxd) && are_alike(*yd, *gyd) && are_alike(*xd, *yd));
    // This is the fake's limit, not the manual's.
    require(a->mode == kSigmoid || a->mode == kTanh, kNotSupported);
    const char* const op = a->mode == kSigmoid ? "sigmoid.grad" : "tanh.grad";
    write(*gxd, gx, result(op, {read(*gyd, gy), read(*yd, y)}), alpha, beta);
  });
}

FAKE_EXPORT int cudnnOpTensor(Handle* h, OpTensorDesc* o, In alpha1, TensorDesc* ad, In a,
                              In alpha2, TensorDesc* bd, In b, In beta, TensorDesc* cd, Out c) {
  return computing(h, [&] {
    require(are_alike(*ad, *cd) && repeats_to(bd->dims, cd->dims) && bd->type == cd->type &&
            o->compute == compute_type(cd->type));
    const auto operand = [](const TensorDesc& t, In data, In alpha) {
      return result("mul", {read(t, data), filled({1}, factor_of(t, alpha))});
    };
    std::vector<Tensor> operands = {operand(*ad, a, alpha1)};
    if (o->operation != kOfSquareRoot) operands.push_back(operand(*bd, b, alpha2));
    write(view(*cd, c), result(kOperations.at(o->operation), operands), 1, factor_of(*cd, beta));
  });
}

FAKE_EXPORT int cudnnGetReductionWorkspaceSize(Handle*, ReduceDesc*, TensorDesc*, TensorDesc*,
                                               std::size_t* bytes) {
  *bytes = kReductionWorkspace;
  return of_driver(counted_in_context());
}
FAKE_EXPORT int cudnnReduceTensor(Handle* h, ReduceDesc* r, Out, std::size_t, Out workspace,
                                  std::size_t bytes, In alpha, TensorDesc* ad, In a, In beta,
                                  TensorDesc* cd, Out c) {
  return computing(h, [&] {
    require(repeats_to(cd->dims, ad->dims) && ad->type == cd->type &&
            r->compute == compute_type(ad->type) && r->indices == kNoIndices);
    require(bytes >= kReductionWorkspace && is_workspace(workspace, bytes));
    write(*cd, c, reduced(kReductions.at(r->operation), read(*ad, a), cd->dims), alpha, beta);
  });
}

FAKE_EXPORT int cudnnSoftmaxForward(Handle* h, int algorithm, int mode, In alpha, TensorDesc* xd,
                                    In x, In beta, TensorDesc* yd, Out y) {
  return computing(h, [&] {
    require(are_alike(*xd, *yd) && mode == kChannels);
    require(algorithm == kAccurate || algorithm == kLog);
    const char* const op = algorithm == kAccurate ? "softmax" : "log_softmax";
    write(*yd, y, result(op, {read_images(*xd, x)}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnSoftmaxBackward(Handle* h, int algorithm, int mode, In alpha, TensorDesc* yd,
                                     In y, TensorDesc* gyd, In gy, In beta, TensorDesc* gxd,
                                     Out gx) {
  return computing(h, [&] {
    require(are_alike(*yd, *gyd) && are_alike(*yd, *gxd));
    require(mode == kChannels && algorithm == kAccurate);
    const std::vector<Tensor> inputs = {read_images(*gyd, gy), read_images(*yd, y)};
    write(*gxd, gx, result("softmax.grad", inputs), alpha, beta);
  });
}

FAKE_EXPORT int cudnnBatchNormalizationForwardInference(Handle* h, int mode, In alpha, In beta,
                                                        TensorDesc* xd, In x, TensorDesc* yd, Out y,
                                                        TensorDesc* vd, In scale, In bias, In mean,
                                                        In variance, double eps) {
  return computing(h, [&] {
    require(mode == kSpatial && are_alike(*xd, *yd) && is_vector(*vd, *xd) && eps >= 0);
    std::vector<Tensor> inputs = {read_images(*xd, x)};
    for (In vector : {scale, bias, mean, variance}) inputs.push_back(as_vector(*vd, vector));
    write(*yd, y, result("batch_norm", inputs, {{"eps", eps}}), alpha, beta);
  });
}
FAKE_EXPORT int cudnnBatchNormalizationForwardTraining(Handle* h, int mode, In alpha, In beta,
                                                       TensorDesc* xd, In x, TensorDesc* yd, Out y,
                                                       TensorDesc* vd, In scale, In bias, double,
                                                       Out running_mean, Out running_variance,
                                                       double eps, Out saved_mean,
                                                       Out saved_inverse) {
  return computing(h, [&] {
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

FAKE_EXPORT int cudnnLRNCrossChannelForward(Handle* h, LrnDesc* l, int mode, In alpha,
                                            TensorDesc* xd, In x, In beta, TensorDesc* yd, Out y) {
  return computing(h, [&] {
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
FAKE_EXPORT int cudnnPoolingForward(Handle* h, PoolingDesc* p, In alpha, TensorDesc* xd, In x,
                                    In beta, TensorDesc* yd, Out y) {
  return computing(h, [&] {
    require(xd->type == yd->type && pooled(*p, *xd) == yd->dims);
    write(*yd, y, result(op_of(*p), {read(*xd, x)}, params_of(*p)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* h, PoolingDesc* p, In alpha, TensorDesc* yd, In,
                                     TensorDesc* gyd, In gy, TensorDesc* xd, In, In beta,
                                     TensorDesc* gxd, Out gx) {
  return computing(h, [&] {
    require(p->mode != kMax, kNotSupported);  // this is the fake's limit, not the manual's
    require(are_alike(*yd, *gyd) && are_alike(*xd, *gxd) && pooled(*p, *xd) == yd->dims);
    const std::vector<Tensor> inputs = {read(*gyd, gy), filled(gxd->dims, 0)};
    write(*gxd, gx, result(op_of(*p) + ".grad", inputs, params_of(*p)), alpha, beta);
  });
}
