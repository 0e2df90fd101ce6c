// SPDX-License-Identifier: Apache-2.0
// Hypotheses with fewer bits in the inputs, or in the sum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxTerms = 256;  ///< the maximum for a sum that is recomputed term by term

/// The nearest number with that number of significant bits.
double rounded(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

double truncated(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::trunc(std::ldexp(fraction, bits)), exponent - bits);
}

using Rounding = std::function<double(double)>;

std::optional<std::vector<Dense>> demoted(const Observed& of, const Rounding& round) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  bool changed = false;
  for (Dense& x : inputs) {
    if (!is_real(x.dtype())) continue;
    for (std::int64_t at = 0; at < x.count(); ++at) {
      const double value = x.at(at).real();
      const double fewer = round(value);
      changed = changed || fewer != value;
      x.set(at, Number(fewer));
    }
  }
  if (!changed) return std::nullopt;
  return recompute(of.of, std::move(inputs));
}

constexpr int kTf32Bits = 11;

struct Demotion {
  std::string name;
  Rounding round;
  bool pairs = false;  ///< rounds sums of two terms, which are then added in full
};

/// The sum along an input's axis: terms are separated by inputs that are 0 elsewhere, and combined
/// again by an accumulator that `round`s. It is meaningful if the op is a sum of such terms.
std::optional<std::vector<Dense>> accumulated(const Observed& of, std::size_t input,
                                              std::size_t axis, const Demotion& format) {
  const std::vector<std::int64_t>& shape = of.of.inputs[input].shape;
  const std::int64_t terms = shape[axis];
  if (terms < 1 || terms > kMaxTerms) return std::nullopt;
  std::vector<std::vector<double>> sums, pairs;
  for (const Dense& y : of.expected) sums.emplace_back(static_cast<std::size_t>(y.count()), 0.0);
  pairs = sums;
  for (std::int64_t term = 0; term < terms; ++term) {
    std::vector<Dense> inputs = copies_of(of.inputs);
    for_each_along(shape, axis, [&](std::int64_t linear, std::int64_t at) {
      if (at != term) inputs[input].set(linear, Number(0.0));
    });
    const auto outputs = recompute(of.of, std::move(inputs));
    if (!outputs) return std::nullopt;
    for (std::size_t k = 0; k < sums.size(); ++k)
      for (std::size_t at = 0; at < sums[k].size(); ++at) {
        const double value = (*outputs)[k].at(static_cast<std::int64_t>(at)).as_real();
        if (!format.pairs) {
          sums[k][at] = format.round(sums[k][at] + value);
          continue;
        }
        pairs[k][at] += value;
        if (term % 2 == 0 && term + 1 < terms) continue;
        sums[k][at] += format.round(std::exchange(pairs[k][at], 0));
      }
  }
  std::vector<Dense> outputs = copies_of(of.expected);
  for (std::size_t k = 0; k < sums.size(); ++k)
    for (std::size_t at = 0; at < sums[k].size(); ++at)
      outputs[k].set(static_cast<std::int64_t>(at),
                     is_real(outputs[k].dtype())
                         ? Number(sums[k][at])
                         : Number(static_cast<std::int64_t>(std::llround(sums[k][at]))));
  return outputs;
}

std::vector<Demotion> accumulators() {
  const Rounding saturated = [](double v) { return std::clamp(v, -32768.0, 32767.0); };
  std::vector<Demotion> all;
  for (const DType t : kShortReals) {
    const int bits = real_format(t).precision;
    all.push_back({fmt::format("{} bits ({})", bits, name(t)),
                   [bits](double v) { return rounded(v, bits); }});
  }
  all.push_back({"integers of 16 bits that saturate", saturated});
  all.push_back({"pairs of terms in 16 bits that saturate", saturated, true});
  return all;
}

}  // namespace

std::vector<Hypothesis> rounding_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  const auto add = [&](const char* kind, std::string text, auto outputs) {
    all.push_back({kind, std::move(text), outputs});
  };
  for (const DType t : kShortReals) {
    if (!is_narrow(t)) continue;
    const int bits = real_format(t).precision;
    const std::string named = fmt::format("{}{}", bits == kTf32Bits ? "tf32 or " : "", name(t));
    add("demoted inputs", fmt::format("with inputs rounded to {} bits ({})", bits, named),
        [bits](const Observed& of) {
          return demoted(of, [bits](double v) { return rounded(v, bits); });
        });
    add("demoted inputs", fmt::format("with inputs cut off after {} bits ({})", bits, named),
        [bits](const Observed& of) {
          return demoted(of, [bits](double v) { return truncated(v, bits); });
        });
  }
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    for (std::size_t axis = 0; axis < o.of.inputs[k].shape.size(); ++axis)
      for (const Demotion& format :
           is_reduced(o, k, axis) ? accumulators() : std::vector<Demotion>())
        add("narrow accumulator",
            fmt::format("with the sum along {} of {} kept in {}", axis_name(o, k, axis),
                        o.of.inputs[k].name, format.name),
            [k, axis, format](const Observed& of) { return accumulated(of, k, axis, format); });
  return all;
}

}  // namespace mote::diagnosis
