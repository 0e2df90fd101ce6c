// SPDX-License-Identifier: Apache-2.0
// Functions of one element with their gradients, and operations on two tensors.
#include <limits>
#include <map>

#include "ops.h"

namespace mote::cudnn {
namespace {

std::shared_ptr<ActivationDesc> activation_of(const Reader& call) {
  static const std::map<std::string, int> modes = {
      {"sigmoid", kSigmoid}, {"relu", kRelu}, {"tanh", kTanh}, {"elu", kElu}, {"silu", kSwish}};
  const std::string op = call.op();
  const int mode = modes.at(op.substr(0, op.find('.')));
  return mode == kElu ? describe_activation(mode, call.real("alpha", 1))
                      : describe_activation(mode);
}

/// cudnnOpTensorOp_t, and the factor of b.
struct Operation {
  int what;
  double factor = 1;
};

bool repeats(const Tensor& t, const Tensor& y) { return t.dims != y.dims; }

void require_repeats(const Tensor& t, const Tensor& y) {
  for (std::size_t k = 0; k < t.rank(); ++k)
    if (t.dims[k] != y.dims[k] && t.dims[k] != 1)
      nvidia::reject(t.text() + " does not repeat to " + y.text());
}

std::shared_ptr<OpTensorDesc> describe_operation(int what, DType dtype) {
  auto desc = made(calls().create_operation, calls().destroy_operation);
  calls().set_operation(desc.get(), what, compute_type(dtype), kPropagateNan);
  return desc;
}

}  // namespace

std::shared_ptr<ActivationDesc> describe_activation(int mode, double alpha) {
  auto desc = made(calls().create_activation, calls().destroy_activation);
  // The manual allows relu to treat this as an upper limit, so it must be infinite.
  const double coefficient = mode == kElu    ? alpha
                             : mode == kRelu ? std::numeric_limits<double>::infinity()
                                             : 0;
  calls().set_activation(desc.get(), mode, kPropagateNan, coefficient);
  // The function is x sigmoid(beta x); no manual gives beta's default.
  if (mode == kSwish) calls().set_swish_beta(desc.get(), 1);
  return desc;
}

Work activation(const Reader& call) {
  const Tensor x = call.input(0, "x", 4), y = call.output(0, "y", 4);
  nvidia::require_dims(y, x.dims);
  const auto desc = activation_of(call);
  const auto from = describe(x), to = describe(y);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().activate(handle, desc.get(), one(y.dtype), from.get(), at.data[x.slot], zero(y.dtype),
                     to.get(), at.data[y.slot]);
  });
}

// cuDNN requires x and y; these gradients are functions of y alone, which is passed for both.
Work activation_gradient(const Reader& call) {
  const Tensor gy = call.input(0, "gy", 4), y = call.input(1, "y", 4), gx = call.output(0, "gx", 4);
  nvidia::require_dims(gx, y.dims);
  nvidia::require_dims(gy, y.dims);
  const auto desc = activation_of(call);
  const auto of_gy = describe(gy), of_y = describe(y), of_gx = describe(gx);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().activation_gradient(handle, desc.get(), one(gx.dtype), of_y.get(), at.data[y.slot],
                                of_gy.get(), at.data[gy.slot], of_y.get(), at.data[y.slot],
                                zero(gx.dtype), of_gx.get(), at.data[gx.slot]);
  });
}

// In cuDNN only the second operand repeats; if a repeats, the operands and their factors are
// swapped.
Work operation(const Reader& call) {
  static const std::map<std::string, Operation> operations = {{"add", {kOfAdd}},
                                                              {"sub", {kOfAdd, -1}},
                                                              {"mul", {kOfMultiply}},
                                                              {"min", {kOfMinimum}},
                                                              {"max", {kOfMaximum}}};
  const Operation what = operations.at(call.op());
  Tensor a = call.input(0, "a", 4), b = call.input(1, "b", 4);
  const Tensor y = call.output(0, "y", 4);
  for (const Tensor* t : {&a, &b}) require_repeats(*t, y);
  double of_a = 1, of_b = what.factor;
  if (repeats(a, y)) {
    std::swap(a, b);
    std::swap(of_a, of_b);
  }
  if (repeats(a, y)) decline("both operands repeat");
  const auto factor = [](double value, DType dtype) {
    static const float minus = -1;
    static const double wide_minus = -1;
    if (value == 1) return one(dtype);
    return dtype == DType::f64 ? static_cast<const void*>(&wide_minus) : &minus;
  };
  const void* const times_a = factor(of_a, y.dtype);
  const void* const times_b = factor(of_b, y.dtype);
  const auto desc = describe_operation(what.what, y.dtype);
  const auto from_a = describe(a), from_b = describe(b), to = describe(y);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().operate(handle, desc.get(), times_a, from_a.get(), at.data[a.slot], times_b,
                    from_b.get(), at.data[b.slot], zero(y.dtype), to.get(), at.data[y.slot]);
  });
}

// The second operand is ignored.
Work square_root(const Reader& call) {
  const Tensor x = call.input(0, "x", 4), y = call.output(0, "y", 4);
  nvidia::require_dims(y, x.dims);
  const auto desc = describe_operation(kOfSquareRoot, y.dtype);
  const auto from = describe(x), to = describe(y);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().operate(handle, desc.get(), one(y.dtype), from.get(), at.data[x.slot], one(y.dtype),
                    from.get(), at.data[x.slot], zero(y.dtype), to.get(), at.data[y.slot]);
  });
}

}  // namespace mote::cudnn
