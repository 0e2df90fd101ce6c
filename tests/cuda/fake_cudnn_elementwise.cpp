// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's sums of tensors, functions of one element, operations on two tensors,
// reductions. In double, by the formulas of the manual.
#include <cmath>
#include <limits>

#include "fake_cudnn.h"

using namespace fake::cudnn;

namespace {

constexpr std::size_t kReductionWorkspace = 256;

double activated(const ActivationDesc& a, double x) {
  switch (a.mode) {
    case 0:
      return 1 / (1 + std::exp(-x));
    case 1:  // at most the coefficient, as the manual allows; a NaN stays one
      return -greater(-greater(x, 0), -a.coefficient);
    case 2:
      return std::tanh(x);
    case 4:
      return x < 0 ? a.coefficient * std::expm1(x) : x;
    default:
      return x / (1 + std::exp(-a.swish_beta * x));
  }
}

double operated(int operation, double a, double b) {
  switch (operation) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return -greater(-a, -b);
    case 3:
      return greater(a, b);
    default:
      return std::sqrt(a);
  }
}

/// One more element of a reduction.
double reduced(int operation, double so_far, double x) {
  switch (operation) {
    case 1:
      return so_far * x;
    case 2:
      return -greater(-so_far, -x);
    case 3:
      return greater(so_far, x);
    case 6:
      return so_far + std::fabs(x);
    case 7:
      return so_far + x * x;
    default:
      return so_far + x;
  }
}

double first_of(int operation) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return operation == 1 ? 1 : operation == 2 ? kInfinity : operation == 3 ? -kInfinity : 0;
}

}  // namespace

FAKE_EXPORT int cudnnTransformTensor(Handle* handle, const void* alpha, TensorDesc* xd,
                                     const void* x_data, const void* beta, TensorDesc* yd,
                                     void* y_data) {
  return computing(handle, [&] {
    if (!are_alike(*xd, *yd)) return kBadParam;
    if (xd->dims.size() < 4 || xd->dims.size() > 5) return kNotSupported;
    const View x(*xd, x_data), y(*yd, y_data);
    store(y, alpha, beta, [&](const Dims& at) { return x.get(at); });
    return 0;
  });
}
FAKE_EXPORT int cudnnSetTensor(Handle* handle, TensorDesc* yd, void* y_data, const void* value) {
  return computing(handle, [&] {
    const View y(*yd, y_data);
    const double given = fake::factor(value, element_of(yd->type));
    each(yd->dims, [&](const Dims& at) { y.set(at, given); });
    return 0;
  });
}
FAKE_EXPORT int cudnnAddTensor(Handle* handle, const void* alpha, TensorDesc* ad,
                               const void* a_data, const void* beta, TensorDesc* cd, void* c_data) {
  return computing(handle, [&] {
    if (!repeats_to(ad->dims, cd->dims) || ad->type != cd->type) return kBadParam;
    const View a(*ad, a_data), c(*cd, c_data);
    store(c, alpha, beta, [&](const Dims& at) { return a.get(repeated(at, ad->dims)); });
    return 0;
  });
}

FAKE_EXPORT int cudnnActivationForward(Handle* handle, ActivationDesc* a, const void* alpha,
                                       TensorDesc* xd, const void* x_data, const void* beta,
                                       TensorDesc* yd, void* y_data) {
  return computing(handle, [&] {
    if (!are_alike(*xd, *yd)) return kBadParam;
    if (x_data == y_data && xd->strides != yd->strides) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data);
    store(y, alpha, beta, [&](const Dims& at) { return activated(*a, x.get(at)); });
    return 0;
  });
}
FAKE_EXPORT int cudnnActivationBackward(Handle* handle, ActivationDesc* a, const void* alpha,
                                        TensorDesc* yd, const void* y_data, TensorDesc* gyd,
                                        const void* gy_data, TensorDesc* xd, const void* x_data,
                                        const void* beta, TensorDesc* gxd, void* gx_data) {
  return computing(handle, [&] {
    if (!are_alike(*xd, *gxd) || !are_alike(*yd, *gyd) || !are_alike(*xd, *yd)) return kBadParam;
    if (a->mode > 2) return kNotSupported;  // the fake's limit, not the manual's
    const View x(*xd, x_data), y(*yd, y_data), gy(*gyd, gy_data), gx(*gxd, gx_data);
    store(gx, alpha, beta, [&](const Dims& at) {
      const double v = y.get(at), g = gy.get(at);
      if (a->mode == 0) return g * v * (1 - v);
      return a->mode == 1 ? (x.get(at) > 0 ? g : 0) : g * (1 - v * v);
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnOpTensor(Handle* handle, OpTensorDesc* o, const void* alpha1, TensorDesc* ad,
                              const void* a_data, const void* alpha2, TensorDesc* bd,
                              const void* b_data, const void* beta, TensorDesc* cd, void* c_data) {
  return computing(handle, [&] {
    if (!are_alike(*ad, *cd) || !repeats_to(bd->dims, cd->dims) || bd->type != cd->type ||
        !computes(o->compute, *cd))
      return kBadParam;
    const fake::Element type = element_of(cd->type);
    const double times_a = fake::factor(alpha1, type), times_b = fake::factor(alpha2, type);
    const View a(*ad, a_data), b(*bd, b_data), c(*cd, c_data);
    each(cd->dims, [&](const Dims& at) {
      double v =
          operated(o->operation, times_a * a.get(at), times_b * b.get(repeated(at, bd->dims)));
      if (const double plus = fake::factor(beta, type); plus != 0) v += plus * c.get(at);
      c.set(at, v);
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnGetReductionWorkspaceSize(Handle*, ReduceDesc*, TensorDesc*, TensorDesc*,
                                               std::size_t* bytes) {
  *bytes = kReductionWorkspace;
  return of_driver(fake::counted_in_context());
}
FAKE_EXPORT int cudnnReduceTensor(Handle* handle, ReduceDesc* r, void*, std::size_t,
                                  void* workspace, std::size_t bytes, const void* alpha,
                                  TensorDesc* ad, const void* a_data, const void* beta,
                                  TensorDesc* cd, void* c_data) {
  return computing(handle, [&] {
    if (!repeats_to(cd->dims, ad->dims) || ad->type != cd->type || !computes(r->compute, *ad) ||
        r->indices != 0 || bytes < kReductionWorkspace || !fake::is_workspace(workspace, bytes))
      return kBadParam;
    const View a(*ad, a_data), c(*cd, c_data);
    Dims reduced_dims = ad->dims;
    double count = 1;
    for (std::size_t k = 0; k < reduced_dims.size(); ++k) {
      if (cd->dims[k] != 1) reduced_dims[k] = 1;
      count *= static_cast<double>(reduced_dims[k]);
    }
    store(c, alpha, beta, [&](const Dims& at) {
      double value = first_of(r->operation);
      each(reduced_dims, [&](const Dims& step) {
        Dims from = at;
        for (std::size_t k = 0; k < from.size(); ++k) from[k] += step[k];
        value = reduced(r->operation, value, a.get(from));
      });
      return r->operation == 5 ? value / count : r->operation == 7 ? std::sqrt(value) : value;
    });
    return 0;
  });
}
