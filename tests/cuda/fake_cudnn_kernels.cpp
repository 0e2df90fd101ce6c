// The fake cuDNN's other kernels: sums of tensors, pooling, softmax, norms, functions of one
// element, operations on two tensors, reductions. In double, by the formulas of the manual.
#include <cmath>
#include <limits>
#include <map>

#include "fake_cudnn.h"

using namespace fake::cudnn;

namespace {

constexpr std::size_t kReductionWorkspace = 256;

/// The index with 0 along axes of extent 1.
Dims repeated(const Dims& index, const Dims& dims) {
  Dims at = index;
  for (std::size_t k = 0; k < at.size(); ++k)
    if (dims[k] == 1) at[k] = 0;
  return at;
}

/// Each extent that of the other or 1.
bool repeats_to(const Dims& dims, const Dims& other) {
  if (dims.size() != other.size()) return false;
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != other[k] && dims[k] != 1) return false;
  return true;
}

bool are_alike(const TensorDesc& a, const TensorDesc& b) {
  return a.type == b.type && a.dims == b.dims;
}

/// The greater, or NaN where one is.
double greater(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

Dims pooled(const PoolingDesc& p, const TensorDesc& x) {
  Dims dims = {x.dims[0], x.dims[1]};
  for (std::size_t k = 0; k < p.taps.size(); ++k)
    dims.push_back(1 + (x.dims[k + 2] + 2 * p.pads[k] - p.taps[k]) / p.strides[k]);
  return dims;
}

/// Visits the elements of x that the window of y's index covers; returns how many.
std::int64_t window(const PoolingDesc& p, const TensorDesc& x, const Dims& out,
                    const std::function<void(const Dims&)>& visit) {
  std::int64_t count = 0;
  each(p.taps, [&](const Dims& tap) {
    Dims at = out;
    for (std::size_t k = 0; k < tap.size(); ++k) {
      at[k + 2] = out[k + 2] * p.strides[k] + tap[k] - p.pads[k];
      if (at[k + 2] < 0 || at[k + 2] >= x.dims[k + 2]) return;
    }
    ++count;
    visit(at);
  });
  return count;
}

/// What a window's sum is divided by.
std::int64_t divisor(const PoolingDesc& p, std::int64_t inside) {
  if (p.mode == 2) return inside;
  std::int64_t all = 1;
  for (const std::int64_t t : p.taps) all *= t;
  return all;
}

/// The maximum along channels.
double greatest(const View& x, Dims at) {
  double most = -std::numeric_limits<double>::infinity();
  for (at[1] = 0; at[1] < x.desc().dims[1]; ++at[1]) most = greater(most, x.get(at));
  return most;
}

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

/// Scales, biases and statistics along channels.
bool is_vector(const TensorDesc& v, const TensorDesc& x) {
  Dims expected(x.dims.size(), 1);
  expected[1] = x.dims[1];
  return v.dims == expected && v.type == (x.type == 1 ? 1 : 0);
}

}  // namespace

FAKE_EXPORT int cudnnAddTensor(Handle* handle, const void* alpha, TensorDesc* ad,
                               const void* a_data, const void* beta, TensorDesc* cd, void* c_data) {
  return computing(handle, [&] {
    if (!repeats_to(ad->dims, cd->dims) || ad->type != cd->type) return kBadParam;
    const View a(*ad, a_data), c(*cd, c_data);
    store(c, alpha, beta, [&](const Dims& at) { return a.get(repeated(at, ad->dims)); });
    return 0;
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
FAKE_EXPORT int cudnnPoolingForward(Handle* handle, PoolingDesc* p, const void* alpha,
                                    TensorDesc* xd, const void* x_data, const void* beta,
                                    TensorDesc* yd, void* y_data) {
  return computing(handle, [&] {
    if (xd->type != yd->type || pooled(*p, *xd) != yd->dims) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data);
    store(y, alpha, beta, [&](const Dims& at) {
      double sum = 0, most = -std::numeric_limits<double>::infinity();
      const std::int64_t count = window(*p, *xd, at, [&](const Dims& from) {
        sum += x.get(from);
        most = greater(most, x.get(from));
      });
      return p->mode == 0 || p->mode == 3 ? most : sum / static_cast<double>(divisor(*p, count));
    });
    return 0;
  });
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* handle, PoolingDesc* p, const void* alpha,
                                     TensorDesc* yd, const void*, TensorDesc* gyd,
                                     const void* gy_data, TensorDesc* xd, const void*,
                                     const void* beta, TensorDesc* gxd, void* gx_data) {
  return computing(handle, [&] {
    if (p->mode != 1 && p->mode != 2) return kNotSupported;  // the fake's limit, not the manual's
    if (!are_alike(*yd, *gyd) || !are_alike(*xd, *gxd) || pooled(*p, *xd) != yd->dims)
      return kBadParam;
    const View gy(*gyd, gy_data), gx(*gxd, gx_data);
    std::vector<double> sums;
    const auto flat = [&](const Dims& at) {
      std::int64_t k = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) k = k * gxd->dims[axis] + at[axis];
      return static_cast<std::size_t>(k);
    };
    std::size_t elements = 1;
    for (const std::int64_t extent : gxd->dims) elements *= static_cast<std::size_t>(extent);
    sums.assign(elements, 0);
    each(gyd->dims, [&](const Dims& out) {
      const std::int64_t count = window(*p, *gxd, out, [](const Dims&) {});
      const double part = gy.get(out) / static_cast<double>(divisor(*p, count));
      window(*p, *gxd, out, [&](const Dims& at) { sums[flat(at)] += part; });
    });
    store(gx, alpha, beta, [&](const Dims& at) { return sums[flat(at)]; });
    return 0;
  });
}

FAKE_EXPORT int cudnnSoftmaxForward(Handle* handle, int algorithm, int mode, const void* alpha,
                                    TensorDesc* xd, const void* x_data, const void* beta,
                                    TensorDesc* yd, void* y_data) {
  return computing(handle, [&] {
    if (!are_alike(*xd, *yd) || mode != 1 || algorithm < 1 || algorithm > 2) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data);
    Dims rows = yd->dims;
    rows[1] = 1;
    // A row at a time, since y may lie where x does.
    const fake::Element type = element_of(yd->type);
    const double times = fake::factor(alpha, type);
    if (fake::factor(beta, type) != 0) return kNotSupported;
    each(rows, [&](const Dims& row) {
      const double most = greatest(x, row);
      std::vector<double> shifted;
      double sum = 0;
      Dims at = row;
      for (at[1] = 0; at[1] < xd->dims[1]; ++at[1]) {
        shifted.push_back(x.get(at) - most);
        sum += std::exp(shifted.back());
      }
      for (at[1] = 0; at[1] < xd->dims[1]; ++at[1]) {
        const double v = shifted[static_cast<std::size_t>(at[1])];
        y.set(at, times * (algorithm == 1 ? std::exp(v) / sum : v - std::log(sum)));
      }
    });
    return 0;
  });
}
FAKE_EXPORT int cudnnSoftmaxBackward(Handle* handle, int algorithm, int mode, const void* alpha,
                                     TensorDesc* yd, const void* y_data, TensorDesc* gyd,
                                     const void* gy_data, const void* beta, TensorDesc* gxd,
                                     void* gx_data) {
  return computing(handle, [&] {
    if (!are_alike(*yd, *gyd) || !are_alike(*yd, *gxd) || mode != 1 || algorithm != 1)
      return kBadParam;
    const View y(*yd, y_data), gy(*gyd, gy_data), gx(*gxd, gx_data);
    Dims rows = yd->dims;
    rows[1] = 1;
    std::map<Dims, double> dots;
    each(rows, [&](const Dims& row) {
      double& dot = dots[row];
      Dims k = row;
      for (k[1] = 0; k[1] < yd->dims[1]; ++k[1]) dot += gy.get(k) * y.get(k);
    });
    store(gx, alpha, beta, [&](const Dims& at) {
      Dims row = at;
      row[1] = 0;
      return y.get(at) * (gy.get(at) - dots.at(row));
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnBatchNormalizationForwardInference(
    Handle* handle, int mode, const void* alpha, const void* beta, TensorDesc* xd,
    const void* x_data, TensorDesc* yd, void* y_data, TensorDesc* vd, const void* scale_data,
    const void* bias_data, const void* mean_data, const void* variance_data, double eps) {
  return computing(handle, [&] {
    if (mode != 1 || !are_alike(*xd, *yd) || !is_vector(*vd, *xd) || eps < 0) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data), scale(*vd, scale_data), bias(*vd, bias_data),
        mean(*vd, mean_data), variance(*vd, variance_data);
    store(y, alpha, beta, [&](const Dims& at) {
      const Dims c = repeated(at, vd->dims);
      return bias.get(c) +
             scale.get(c) * (x.get(at) - mean.get(c)) / std::sqrt(eps + variance.get(c));
    });
    return 0;
  });
}
FAKE_EXPORT int cudnnBatchNormalizationForwardTraining(
    Handle* handle, int mode, const void* alpha, const void* beta, TensorDesc* xd,
    const void* x_data, TensorDesc* yd, void* y_data, TensorDesc* vd, const void* scale_data,
    const void* bias_data, double, void* running_mean, void* running_variance, double eps,
    void* saved_mean, void* saved_inverse) {
  return computing(handle, [&] {
    if (mode != 1 || !are_alike(*xd, *yd) || !is_vector(*vd, *xd) || eps < 0) return kBadParam;
    if ((saved_mean == nullptr) != (saved_inverse == nullptr)) return kBadParam;
    if (running_mean != nullptr || running_variance != nullptr) return kNotSupported;
    const View x(*xd, x_data), y(*yd, y_data), scale(*vd, scale_data), bias(*vd, bias_data);
    std::vector<double> means, inverses;
    for (std::int64_t c = 0; c < xd->dims[1]; ++c) {
      Dims dims = xd->dims;
      dims[1] = 1;
      double sum = 0, squares = 0, count = 0;
      const auto value = [&](Dims at) {
        at[1] = c;
        return x.get(at);
      };
      each(dims, [&](const Dims& at) {
        sum += value(at);
        count += 1;
      });
      means.push_back(sum / count);
      each(dims, [&](const Dims& at) { squares += std::pow(value(at) - means.back(), 2); });
      inverses.push_back(1 / std::sqrt(squares / count + eps));
    }
    store(y, alpha, beta, [&](const Dims& at) {
      const auto k = static_cast<std::size_t>(at[1]);
      const Dims c = repeated(at, vd->dims);
      return bias.get(c) + scale.get(c) * (x.get(at) - means[k]) * inverses[k];
    });
    if (saved_mean != nullptr) {
      const View mean(*vd, saved_mean), inverse(*vd, saved_inverse);
      each(vd->dims, [&](const Dims& at) {
        mean.set(at, means[static_cast<std::size_t>(at[1])]);
        inverse.set(at, inverses[static_cast<std::size_t>(at[1])]);
      });
    }
    return 0;
  });
}

/// The window around a channel looks (size - 1) / 2 channels back, and what remains ahead.
FAKE_EXPORT int cudnnLRNCrossChannelForward(Handle* handle, LrnDesc* l, int mode, const void* alpha,
                                            TensorDesc* xd, const void* x_data, const void* beta,
                                            TensorDesc* yd, void* y_data) {
  return computing(handle, [&] {
    if (!are_alike(*xd, *yd) || mode != 0) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data);
    const std::int64_t size = l->size, behind = (size - 1) / 2;
    store(y, alpha, beta, [&](const Dims& at) {
      double squares = 0;
      Dims k = at;
      for (k[1] = std::max<std::int64_t>(0, at[1] - behind);
           k[1] < std::min(xd->dims[1], at[1] + size - behind); ++k[1])
        squares += x.get(k) * x.get(k);
      return x.get(at) *
             std::pow(l->bias + l->alpha / static_cast<double>(size) * squares, -l->beta);
    });
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
