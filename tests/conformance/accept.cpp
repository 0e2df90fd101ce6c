// SPDX-License-Identifier: Apache-2.0
// Compares a result with the expected one.
#include "accept.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mote::onnx {
namespace {

// The tolerances of ONNX's own test runner; the wider one is its later rule for bfloat16.
constexpr double kRelative = 1e-3, kRelativeBf16 = 1.0 / 64, kAbsolute = 1e-7;

bool accepted(const Number& got, const Number& expected, bool exact, double relative) {
  if (same(got, expected)) return true;
  if (exact || !expected.is_real()) return false;
  const double e = expected.real();
  return std::isfinite(e) && std::abs(got.real() - e) <= kAbsolute + relative * std::abs(e);
}

std::string text(const Number& n) {
  return n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer());
}

}  // namespace

std::optional<std::string> mismatch(const Array& got, const Array& expected, bool exact) {
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    return fmt::format("got {}{}, expected {}{}", name(got.dtype), got.shape, name(expected.dtype),
                       expected.shape);
  }
  const double relative = got.dtype == DType::bf16 ? kRelativeBf16 : kRelative;
  std::size_t wrong = 0, first = 0;
  for (std::size_t k = 0; k < expected.values.size(); ++k) {
    if (accepted(got.values[k], expected.values[k], exact, relative)) continue;
    if (wrong++ == 0) first = k;
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ{}; the first at {}: got {}, expected {}", wrong,
                     expected.values.size(), exact ? " (must be exact)" : "", first,
                     text(got.values[first]), text(expected.values[first]));
}

}  // namespace mote::onnx
