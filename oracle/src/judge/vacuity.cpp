// SPDX-License-Identifier: Apache-2.0
// Decides whether a case that passed could have revealed a wrong kernel. Every kernel must write,
// and poison shows if it does not. If nothing is read, or nonzero data is read, a kernel can be
// wrong: it may read the wrong data (0 times NaN, an operand whose factor is 0), pass data on, or
// leave memory as it is. If all inputs and all expected outputs are zero, nothing is revealed:
// zeros stay zeros whatever the kernel does.
#include <fmt/format.h>

#include <algorithm>

#include "judge/compare.h"
#include "run/scan.h"

namespace mote {
std::string vacuity(const Comparison& c) {
  bool has_element = false;
  bool expects_zeros = true;
  for (std::size_t k = 0; k < c.expected.size(); ++k) {
    if (c.of.outputs[k].left_out) continue;
    has_element = has_element || c.expected[k].count() > 0;
    expects_zeros = expects_zeros && all_zero(c.expected[k]);
  }
  if (!has_element) return "proves nothing: no output has an element";
  const bool reads = std::ranges::any_of(c.inputs, [](const Dense& x) { return x.count() > 0; });
  if (!reads || !expects_zeros || !std::ranges::all_of(c.inputs, all_zero)) return "";
  return "proves nothing: all that is read is 0, and all that is expected";
}

}  // namespace mote
