// SPDX-License-Identifier: Apache-2.0
// Random cases of any op, from its program alone. A case is a pure function of target, dtype, seed
// and position. Legal by construction: derived sizes are drawn first (domain.h), nothing is
// filtered.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/case.h"
#include "mote/oracle/domain.h"

namespace MOTE_API mote {

/// Domains made before are kept.
const Domain& domain_of(const std::shared_ptr<const Program>& program);

/// A case as a generator or shrinker sees it, before its shapes are written out.
struct Draft {
  std::shared_ptr<const Target> target;
  Instance instance{DType::f32, 0};
  Params params;
  KnobValues at;
  std::set<std::pair<int, int>> ones;  ///< (input, axis) that has extent 1 and repeats
  int indices = 0;                     ///< as Case has them
  std::map<int, int> missing;  ///< leading axes of an input that are not written, where they are 1
};
/// The case, contiguous, with fill integer:0; nullopt when its sizes cannot be reached. Throws
/// Error as bind() does.
std::optional<Case> to_case(const Draft& draft);
/// What a case is made of.
Draft to_draft(const Case& c);

/// Case `position` of the stream of `seed`. Multiply-adds mostly below 200,000, more than half the
/// time above 1,000. Throws Error when the program's constraints leave nothing to draw.
Case generate(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
              std::uint64_t position);

/// Which draw a case is. Others of the same position are drawn where subjects decline the first.
struct DrawnAs {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;
  std::uint64_t attempt = 0;
};
/// The parts of a case that are fixed before the others are drawn.
struct DrawStyle {
  enum class Layouts : std::uint8_t { any, row_major, channels_last, by_columns };
  std::optional<TensorMask> inputs;  ///< those that are present
  Layouts layouts = Layouts::any;
  bool default_params = false;
  bool full_rank = false;  ///< no leading axis is left out
};
Case generate(const std::shared_ptr<const Target>& target, DType dtype, const DrawnAs& as,
              const DrawStyle& style = {});
/// How many draws the case took: 1 where legality holds by construction.
int draws_taken(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
                std::uint64_t position);

}  // namespace mote
