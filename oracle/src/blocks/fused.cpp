// SPDX-License-Identifier: Apache-2.0
// Tries the trees of the list one after another.
#include "fused.h"

#include "mote/generated/level.h"
#include "trees.h"

namespace mote::blocks {
namespace {

struct Tree {
  bool (*matches)(const Uop&, Operands&, const Inner&);
  std::size_t operands;
  std::uint32_t numbers;
};

template <typename... X>
void append(std::vector<Tree>& all, List<X...>) {
  (all.push_back({X::matches, X::kOperands, X::kNumbers}), ...);
}

std::vector<Tree> make_trees() {
  std::vector<Tree> all;
  append(all, Large());
  append(all, LowerEnds());
  append(all, UpperEnds());
  append(all, Conditions());
  append(all, Others());
  return all;
}

FusedLoop* const* widest_loops() {
#if defined(__x86_64__)
  if (mote_level() == 4) return kLoopsV4;
  if (mote_level() == 3) return kLoopsV3;
#endif
  return kLoops;
}

}  // namespace

Fused fused(const Uop& u, const std::function<bool(const Uop&)>& is_inner) {
  static const std::vector<Tree> trees = make_trees();
  static FusedLoop* const* const loops = widest_loops();
  for (std::size_t k = 0; k < trees.size(); ++k) {
    Operands operands;
    if (trees[k].matches(u, operands, is_inner))
      return {loops[k], {operands.data(), operands.data() + trees[k].operands}, trees[k].numbers};
  }
  return {};
}

}  // namespace mote::blocks
