// SPDX-License-Identifier: Apache-2.0
// Inspects the data with which a case fills its inputs.
#include "diagnosis/contents.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "run/prepared_state.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxLookedAt = std::int64_t{1} << 16;  ///< elements of all inputs together

void add_real(Contents& to, double value) {
  to.nan = to.nan || std::isnan(value);
  to.infinity = to.infinity || (std::isinf(value) && value > 0);
  to.minus_infinity = to.minus_infinity || (std::isinf(value) && value < 0);
  to.negative = to.negative || (std::isfinite(value) && value < 0);
  to.zero = to.zero || value == 0;
  to.minus_zero = to.minus_zero || (value == 0 && std::signbit(value));
  if (std::isfinite(value)) to.greatest = std::max(to.greatest, std::abs(value));
}

Contents contents_of(const std::string& name, const Dense& x) {
  Contents all{.tensor = name, .real = is_real(x.dtype())};
  std::set<std::int64_t> seen;
  for (std::int64_t at = 0; at < x.count(); ++at) {
    const Number n = x.at(at);
    add_real(all, n.as_real());
    if (!all.real) all.twice = !seen.insert(n.integer()).second || all.twice;
  }
  return all;
}

}  // namespace

std::vector<Contents> contents_of(const Case& c) {
  std::int64_t elements = 0;
  for (const CaseTensor& t : c.inputs) elements += volume(t.shape);
  if (elements > kMaxLookedAt) return {};
  std::vector<Contents> all;
  try {
    const std::vector<Dense> inputs =
        filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      all.push_back(contents_of(c.inputs[k].name, inputs[k]));
  } catch (const Error&) {
    return {};
  }
  return all;
}

}  // namespace mote::diagnosis
