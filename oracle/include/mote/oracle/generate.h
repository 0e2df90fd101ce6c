// SPDX-License-Identifier: Apache-2.0
// Draws random cases of any op from its program alone. A case is a pure function of target, dtype,
// seed and position. It is legal by construction: derived sizes are drawn first (domain.h), and
// nothing is filtered.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/case.h"
#include "mote/oracle/domain.h"

namespace MOTE_API mote {

/// The domain of a program; domains are cached.
const Domain& domain_of(const std::shared_ptr<const Program>& program);

/// A case as a generator or shrinker sees it, before its shapes are written out.
struct Draft {
  std::shared_ptr<const Target> target;
  Instance instance{DType::f32, 0};
  Params params;
  KnobValues at;
  std::set<std::pair<int, int>> ones;  ///< the (input, axis) pairs that have extent 1 and repeat
  int indices = 0;                     ///< the same as in Case
  std::map<int, int> missing;  ///< leading axes of extent 1 of an input that are not written
};
/// The case, contiguous, with fill integer:0; nullopt when its sizes cannot be reached. Throws
/// Error as bind() does.
std::optional<Case> to_case(const Draft& draft);
/// The draft from which a case is made.
Draft to_draft(const Case& c);

/// Case `position` of the stream of `seed`. Its multiply-adds are mostly below 200,000 and more
/// than half the time above 1,000. Throws Error when the program's constraints leave nothing to
/// draw.
Case generate(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
              std::uint64_t position);

/// The identity of a draw. Other attempts at the same position are drawn if subjects decline the
/// first.
struct DrawnAs {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;
  std::uint64_t attempt = 0;
};
/// The parts of a case that are fixed before the others are drawn.
struct DrawStyle {
  enum class Layouts : std::uint8_t { any, row_major, channels_last, by_columns };
  std::optional<TensorMask> inputs;  ///< the inputs that are present
  Layouts layouts = Layouts::any;
  bool default_params = false;
  bool full_rank = false;  ///< no leading axis is left out
  /// Sizes by name ("C") that are not drawn, as far as the domain has them.
  std::map<std::string, std::int64_t> extents = {};
};
Case generate(const std::shared_ptr<const Target>& target, DType dtype, const DrawnAs& as,
              const DrawStyle& style = {});
/// The number of draws that the case took: 1 if it is legal by construction.
int draws_taken(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
                std::uint64_t position);

}  // namespace mote
