// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's sums of tensors, functions of one element, operations on two tensors,
// reductions: ops of the catalogue.
#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

constexpr std::size_t kReductionWorkspace = 256;

Tensor activated(const ActivationDesc& a, const Tensor& x) {
  if (a.mode == kSigmoid) return result("sigmoid", {x});
  if (a.mode == kTanh) return result("tanh", {x});
  if (a.mode == kElu) return result("elu", {x}, {{"alpha", a.coefficient}});
  // At most the coefficient, as the manual allows.
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

}  // namespace

FAKE_EXPORT int cudnnTransformTensor(Handle* handle, In alpha, TensorDesc* xd, In x, In beta,
                                     TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd));
    require(xd->dims.size() == 4 || xd->dims.size() == 5, kNotSupported);
    write(*yd, y, read(*xd, x), alpha, beta);
  });
}
FAKE_EXPORT int cudnnSetTensor(Handle* handle, TensorDesc* yd, Out y, In value) {
  return computing(handle, [&] { write(view(*yd, y), filled({1}, factor_of(*yd, value))); });
}
FAKE_EXPORT int cudnnAddTensor(Handle* handle, In alpha, TensorDesc* ad, In a, In beta,
                               TensorDesc* cd, Out c) {
  return computing(handle, [&] {
    require(repeats_to(ad->dims, cd->dims) && ad->type == cd->type);
    write(*cd, c, read(*ad, a), alpha, beta);
  });
}

FAKE_EXPORT int cudnnActivationForward(Handle* handle, ActivationDesc* a, In alpha, TensorDesc* xd,
                                       In x, In beta, TensorDesc* yd, Out y) {
  return computing(handle, [&] {
    require(are_alike(*xd, *yd) && (x != y || xd->strides == yd->strides));
    write(*yd, y, activated(*a, read(*xd, x)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnActivationBackward(Handle* handle, ActivationDesc* a, In alpha, TensorDesc* yd,
                                        In y, TensorDesc* gyd, In gy, TensorDesc* xd, In, In beta,
                                        TensorDesc* gxd, Out gx) {
  return computing(handle, [&] {
    require(are_alike(*xd, *gxd) && are_alike(*yd, *gyd) && are_alike(*xd, *yd));
    // The fake's limit, not the manual's.
    require(a->mode == kSigmoid || a->mode == kTanh, kNotSupported);
    const char* const op = a->mode == kSigmoid ? "sigmoid.grad" : "tanh.grad";
    write(*gxd, gx, result(op, {read(*gyd, gy), read(*yd, y)}), alpha, beta);
  });
}

FAKE_EXPORT int cudnnOpTensor(Handle* handle, OpTensorDesc* o, In alpha1, TensorDesc* ad, In a,
                              In alpha2, TensorDesc* bd, In b, In beta, TensorDesc* cd, Out c) {
  return computing(handle, [&] {
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
FAKE_EXPORT int cudnnReduceTensor(Handle* handle, ReduceDesc* r, Out, std::size_t, Out workspace,
                                  std::size_t bytes, In alpha, TensorDesc* ad, In a, In beta,
                                  TensorDesc* cd, Out c) {
  return computing(handle, [&] {
    require(repeats_to(cd->dims, ad->dims) && ad->type == cd->type &&
            r->compute == compute_type(ad->type) && r->indices == kNoIndices);
    require(bytes >= kReductionWorkspace && is_workspace(workspace, bytes));
    write(*cd, c, reduced(kReductions.at(r->operation), read(*ad, a), cd->dims), alpha, beta);
  });
}
