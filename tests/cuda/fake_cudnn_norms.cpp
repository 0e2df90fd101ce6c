// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's softmax and norms. In double, by the formulas of the manual.
#include <cmath>
#include <limits>
#include <map>

#include "fake_cudnn.h"

using namespace fake::cudnn;

namespace {

/// The maximum along channels.
double greatest(const View& x, Dims at) {
  double most = -std::numeric_limits<double>::infinity();
  for (at[1] = 0; at[1] < x.desc().dims[1]; ++at[1]) most = greater(most, x.get(at));
  return most;
}

/// Scales, biases and statistics along channels.
bool is_vector(const TensorDesc& v, const TensorDesc& x) {
  Dims expected(x.dims.size(), 1);
  expected[1] = x.dims[1];
  return v.dims == expected && v.type == (x.type == 1 ? 1 : 0);
}

}  // namespace

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
             scale.get(c) * ((x.get(at) - mean.get(c)) / std::sqrt(eps + variance.get(c)));
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
