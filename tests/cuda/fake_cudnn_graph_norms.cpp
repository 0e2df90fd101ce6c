// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's norms of its graph API and their gradients, in floats; a variance is found in
// one pass.
#include "fake_cudnn_run.h"

namespace fake::cudnn {
namespace {

constexpr int kLayer = 0, kInstance = 1, kRms = 4;

struct Moments {
  double mean, inverse;
};
/// The variance from the sum of squares, as it is found in one pass.
Moments moments(const Slot& x, const Dims& row, const Dims& inner, bool is_rms, double eps) {
  Sum total(false), squares(false);
  double count = 0;
  each(inner, [&](const Dims& step) {
    const double value = x.get(sum(row, step));
    total.add(value);
    squares.add(value * value);
    ++count;
  });
  const double mean = is_rms ? 0 : as_float(total.get() / count);
  const double square = as_float(squares.get() / count);
  const double variance = as_float(square - as_float(mean * mean));
  const double positive = variance < 0 ? 0 : variance;
  return {mean, as_float(1 / as_float(std::sqrt(as_float(positive + eps))))};
}

}  // namespace

void run_norm(const BackendDesc& op, Slots& slots) {
  const bool is_rms = op.value<int>(2000) == kRms;
  Slot& x = slots.of(op, 2002);
  Slot& y = slots.of(op, 2013);
  const double eps = slots.of(op, 2007).get(Dims(x.desc().dims.size(), 0));
  Dims inner = x.desc().dims, outer(inner.size(), 1);
  const std::size_t kept = op.value<int>(2000) == kInstance ? 2 : 1;
  for (std::size_t k = 0; k < kept; ++k) std::swap(inner[k], outer[k]);
  each(outer, [&](const Dims& row) {
    const Moments m = moments(x, row, inner, is_rms, eps);
    if (op.has(2003)) slots.of(op, 2003).set(row, m.mean);
    if (op.has(2004)) slots.of(op, 2004).set(row, m.inverse);
    each(inner, [&](const Dims& step) {
      const Dims at = sum(row, step);
      double value = as_float(as_float(x.get(at) - m.mean) * m.inverse);
      if (op.has(2005)) value = as_float(value * slots.of(op, 2005).get(at));
      if (op.has(2006)) value = as_float(value + slots.of(op, 2006).get(at));
      y.set(at, value);
    });
  });
}

void run_norm_gradient(const BackendDesc& op, Slots& slots) {
  Slot& x = slots.of(op, 2101);
  Slot& gy = slots.of(op, 2104);
  Slot& scale = slots.of(op, 2105);
  Slot& gscale = slots.of(op, 2107);
  Slot& gx = slots.of(op, 2109);
  const bool is_rms = op.value<int>(2100) == kRms;
  Dims inner = x.desc().dims, outer(inner.size(), 1);
  const std::size_t kept = op.value<int>(2100) == kInstance ? 2 : 1;
  for (std::size_t k = 0; k < kept; ++k) std::swap(inner[k], outer[k]);
  std::map<std::int64_t, Sum> by_scale, by_bias;
  for (std::int64_t c = 0; c < x.desc().dims[1]; ++c) {
    by_scale.emplace(c, false);
    by_bias.emplace(c, false);
  }
  each(outer, [&](const Dims& row) {
    const double inverse = slots.of(op, 2103).get(row);
    const double mean = is_rms ? 0 : slots.of(op, 2102).get(row);
    const auto standardised = [&](const Dims& at) {
      return as_float(as_float(x.get(at) - mean) * inverse);
    };
    Sum along(false), total(false);
    double count = 0;
    each(inner, [&](const Dims& step) {
      const Dims at = sum(row, step);
      const double scaled = as_float(gy.get(at) * scale.get(at));
      along.add(as_float(scaled * standardised(at)));
      total.add(scaled);
      by_scale.at(at[1]).add(as_float(gy.get(at) * standardised(at)));
      by_bias.at(at[1]).add(gy.get(at));
      ++count;
    });
    const double slope = as_float(along.get() / count);
    const double shift = is_rms ? 0 : as_float(total.get() / count);
    each(inner, [&](const Dims& step) {
      const Dims at = sum(row, step);
      const double scaled = as_float(gy.get(at) * scale.get(at));
      const double left = as_float(as_float(scaled - shift) - as_float(standardised(at) * slope));
      gx.set(at, as_float(left * inverse));
    });
  });
  each(gscale.desc().dims, [&](const Dims& at) {
    gscale.set(at, by_scale.at(at[1]).get());
    if (op.has(2108)) slots.of(op, 2108).set(at, by_bias.at(at[1]).get());
  });
}

/// cuDNN 9: over packed tensors of floats or 16 bits, with parameters of the same type or floats;
/// an instance norm wants both parameters.
void check_norm(const BackendDesc& op) {
  const TensorDesc x = described(*op.link(2002)), y = described(*op.link(2013));
  const int mode = op.value<int>(2000);
  require(mode == kLayer || mode == kInstance || mode == kRms, kNotSupported);
  require(are_alike(x, y) && is_packed(x) && is_packed(y) && x.type != 1);
  Dims vector(x.dims.size(), 1), row(x.dims.size(), 1);
  vector[1] = x.dims[1];
  row[0] = x.dims[0];
  if (mode == kInstance) row[1] = x.dims[1];
  for (const int name : {2005, 2006}) {
    if (!op.has(name)) {
      require(mode != kInstance, kNotSupported);
      continue;
    }
    const TensorDesc v = described(*op.link(name));
    require(v.dims == vector && is_packed(v) && (v.type == x.type || v.type == 0));
  }
  const bool is_training = op.value<int>(2001) == 1;
  require(op.has(2003) == (is_training && mode != kRms) && op.has(2004) == is_training);
  for (const int name : {2003, 2004})
    if (op.has(name)) {
      const TensorDesc statistic = described(*op.link(name));
      require(statistic.dims == row && statistic.type == 0);
    }
}

/// The same of their gradients, which want a scale and the statistics, and write all.
void check_norm_gradient(const BackendDesc& op) {
  const TensorDesc x = described(*op.link(2101));
  const int mode = op.value<int>(2100);
  require(mode == kLayer || mode == kInstance || mode == kRms, kNotSupported);
  require(x.type != 1 && is_packed(x));
  for (const int name : {2104, 2109}) {
    const TensorDesc t = described(*op.link(name));
    require(are_alike(t, x) && is_packed(t));
  }
  Dims vector(x.dims.size(), 1), row(x.dims.size(), 1);
  vector[1] = x.dims[1];
  row[0] = x.dims[0];
  if (mode == kInstance) row[1] = x.dims[1];
  require(op.has(2102) == (mode != kRms) && op.has(2108) == (mode != kRms));
  for (const int name : {2105, 2107, 2108}) {
    if (!op.has(name)) continue;
    const TensorDesc v = described(*op.link(name));
    require(v.dims == vector && is_packed(v) && (v.type == x.type || v.type == 0));
  }
  for (const int name : {2102, 2103}) {
    if (!op.has(name)) continue;
    const TensorDesc statistic = described(*op.link(name));
    require(statistic.dims == row && statistic.type == 0);
  }
}

}  // namespace fake::cudnn
