// SPDX-License-Identifier: Apache-2.0
// Recomputes cases, and compares a hypothesis with the kernel's results.
#include "diagnosis/observed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "run/prepared_state.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;  ///< of a recomputed output

/// If the error bound leaves at most this share of the expected value open, a hypothesis may differ
/// by the same share of its own, possibly larger, value.
constexpr double kWellKnown = 0x1p-6;

double real_of(const Number& n) {
  return n.is_real() ? n.real() : static_cast<double>(n.integer());
}

bool is_allowed(const Difference& d, const Number& n) {
  if (same(n, d.expected)) return true;
  if (!d.allowed) return false;
  const double value = real_of(n);
  return value >= real_of(d.allowed->first) && value <= real_of(d.allowed->second);
}

bool agrees(const Difference& d, const Number& n) {
  if (is_allowed(d, n)) return false;
  if (same(n, d.got)) return true;
  if (!d.allowed || !std::isfinite(real_of(n)) || !std::isfinite(real_of(d.got))) return false;
  const double width = real_of(d.allowed->second) - real_of(d.allowed->first);
  const double share = width / std::abs(real_of(d.expected));
  const double larger = share <= kWellKnown ? share * std::abs(real_of(n)) : 0;
  return std::abs(real_of(n) - real_of(d.got)) <= std::max(width, larger);
}

}  // namespace

std::int64_t position(const Difference& d, const std::vector<std::int64_t>& shape) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) at = at * shape[k] + d.index[k];
  return at;
}

bool explains(const Observed& observed, const std::vector<Dense>& outputs) {
  const std::vector<CaseTensor>& tensors = observed.of.outputs;
  for (const Difference& d : observed.outcome.differences) {
    const auto at = std::ranges::find(tensors, d.tensor, &CaseTensor::name);
    if (at == tensors.end()) return false;
    const Dense& values = outputs[static_cast<std::size_t>(at - tensors.begin())];
    const std::int64_t linear = position(d, at->shape);
    if (linear >= values.count() || !agrees(d, values.at(linear))) return false;
  }
  return !observed.outcome.differences.empty();
}

Dense copy_of(const Dense& x) {
  Dense copy(x.dtype(), x.count());
  std::memcpy(copy.data(), x.data(), static_cast<std::size_t>(x.count()) * size_of(x.dtype()));
  return copy;
}

std::vector<Dense> copies_of(const std::vector<Dense>& x) {
  std::vector<Dense> copies;
  copies.reserve(x.size());
  for (const Dense& d : x) copies.push_back(copy_of(d));
  return copies;
}

std::optional<std::vector<Dense>> recompute(const Case& c, std::vector<Dense> inputs) {
  for (const CaseTensor& t : c.outputs)
    if (volume(t.shape) < 0 || volume(t.shape) > kMaxElements) return std::nullopt;
  std::vector<Dense> outputs;
  for (const CaseTensor& t : c.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
  try {
    reference_for(c)->run(c, inputs, outputs);
  } catch (const Error&) {
    return std::nullopt;
  }
  return outputs;
}

std::optional<Observed> observe(const Case& c, const Outcome& outcome) {
  Observed observed{c, outcome, {}, {}};
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    std::vector<std::int64_t>& shape = observed.of.inputs[k].shape;
    const auto rank = static_cast<std::size_t>(c.program->inputs[k].rank());
    shape.insert(shape.begin(), rank - shape.size(), 1);
  }
  try {
    const Judgement judgement = judge(*c.program, c.binding, c.fill.kind);
    observed.inputs = filled_inputs(c, judgement.radius);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::optional<std::vector<Dense>> expected = recompute(c, copies_of(observed.inputs));
  if (!expected) return std::nullopt;
  observed.expected = *std::move(expected);
  return observed;
}

}  // namespace mote::diagnosis
