// SPDX-License-Identifier: Apache-2.0
#include "other_contents.h"

#include <cstring>
#include <optional>

#include "case/indices.h"
#include "generate/forward.h"
#include "run/prepared_state.h"

namespace mote::isolate {
namespace {

Dense copy_of(const Dense& x) {
  Dense copy(x.dtype(), x.count());
  std::memcpy(copy.data(), x.data(), static_cast<std::size_t>(x.count()) * size_of(x.dtype()));
  return copy;
}

Dense moved_on(const Dense& x) {
  Dense moved(x.dtype(), x.count());
  const std::size_t size = size_of(x.dtype());
  const std::size_t most = static_cast<std::size_t>(x.count() - 1) * size;
  std::memcpy(moved.data(), static_cast<const char*>(x.data()) + size, most);
  std::memcpy(static_cast<char*>(moved.data()) + most, x.data(), size);
  return moved;
}

/// The tensor whose last element is replaced by the nearest different one.
Dense with_another_end(const Dense& x) {
  Dense other = copy_of(x);
  const std::int64_t last = x.count() - 1;
  for (std::int64_t k = last; k-- > 0;) {
    if (x.same_elements(k, last)) continue;
    other.set(last, x.at(k));
    break;
  }
  return other;
}

Case with_other_seed(const Case& c) {
  Case other = c;
  other.fill.seed = mix(c.fill.seed + 1);
  return other;
}

}  // namespace

std::vector<Dense> other_contents(const Case& c, const std::vector<Dense>& inputs,
                                  std::int64_t radius, int indices) {
  const bool end_only = mix(c.fill.seed) % 2 == 1;
  std::optional<Case> of_other_seed;
  std::vector<Dense> others;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const bool movable = c.inputs[k].layout.repeated.empty() && inputs[k].count() > 1;
    if (movable) {
      others.push_back(end_only ? with_another_end(inputs[k]) : moved_on(inputs[k]));
      continue;
    }
    if (!of_other_seed) of_other_seed = with_other_seed(c);
    others.push_back(filled_input(*of_other_seed, k, radius));
  }
  for (std::size_t k = 0; k < others.size(); ++k) restrict_indices(c, k, indices, others[k]);
  compute_given_outputs(c, others);
  return others;
}

}  // namespace mote::isolate
