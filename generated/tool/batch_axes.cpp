// SPDX-License-Identifier: Apache-2.0
// Finds batch axes by a walk from the outputs down: it tracks the axis of each node along which the
// size runs, and checks that no node mixes its indices.
#include "batch_axes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "mote/base/overloaded.h"

namespace mote {
namespace {

constexpr int kNone = -1;  ///< the node does not depend on the size at all

class Walk {
 public:
  explicit Walk(Symbol size) : size_(size) {}

  /// True if elements of u along `axis` depend only on inputs at the same index of the size.
  bool separate(const Uop& u, int axis) {
    if (!seen_.insert({u.id(), axis}).second)
      return true;  // decided, or under decision by a
                    // caller
    for (int k = 0; k < u.rank(); ++k) {
      const Expr& extent = u.shape()[static_cast<std::size_t>(k)];
      if (k == axis ? extent != Expr(size_) : extent.mentions(size_)) return false;
    }
    return std::visit(
        Overloaded{[](const uop::Input&) { return true; }, [](const uop::Scalar&) { return true; },
                   [](const uop::Param&) { return true; },
                   [&](const uop::Iota& i) { return !mixes(i.value, axis); },
                   [&](const uop::Map& m) {
                     return std::ranges::all_of(m.args, [&](const Uop& arg) {
                       return separate(arg, arg.rank() == 0 ? kNone : axis);
                     });
                   },
                   [&](const uop::StopGradient& s) { return separate(s.x, axis); },
                   [&](const uop::Reduce& r) { return separate(r.x, before_reduction(r, axis)); },
                   [&](const uop::Reindex& r) {
                     const std::optional<int> from = source_axis(r, axis);
                     return from && separate(r.x, *from);
                   },
                   [&](const uop::Select& s) {
                     return s.axis != axis && separate(s.x, axis) && separate(s.index, axis);
                   },
                   [](const auto&) { return false; }},
        u.node().kind);
  }

 private:
  bool mixes(const Expr& e, int axis) const {
    return e.mentions(size_) || (axis != kNone && e.mentions(*Expr::loop(axis).as_symbol()));
  }

  static int before_reduction(const uop::Reduce& r, int axis) {
    if (axis == kNone) return kNone;
    int k = 0;
    for (int left = axis;; ++k) {
      if (std::ranges::find(r.axes, k) != r.axes.end()) continue;
      if (left-- == 0) return k;
    }
  }

  /// Returns the one axis of x that is read at the index itself; kNone if there is none; nothing if
  /// indices are mixed.
  std::optional<int> source_axis(const uop::Reindex& r, int axis) const {
    int found = kNone;
    for (std::size_t k = 0; k < r.from.size(); ++k) {
      if (!mixes(r.from[k], axis)) continue;
      if (found != kNone || axis == kNone || r.from[k] != Expr::loop(axis)) return std::nullopt;
      found = static_cast<int>(k);
    }
    return found;
  }

  Symbol size_;
  std::set<std::pair<const UopNode*, int>> seen_;
};

}  // namespace

bool is_batch(const Program& program, Symbol size) {
  const auto mentions = [&](const NamedSize& named) { return named.value.mentions(size); };
  const auto constrains = [&](const Constraint& c) {
    return c.left.mentions(size) || c.right.mentions(size);
  };
  if (std::ranges::any_of(program.sizes, mentions)) return false;
  if (std::ranges::any_of(program.constraints, constrains)) return false;
  for (const Uop& input : program.inputs)
    if (std::ranges::count(input.shape(), Expr(size)) > 1) return false;
  Walk walk(size);
  return std::ranges::all_of(program.outputs, [&](const Output& output) {
    const auto& shape = output.value.shape();
    const auto at = std::ranges::find(shape, Expr(size));
    return at != shape.end() && walk.separate(output.value, static_cast<int>(at - shape.begin()));
  });
}

}  // namespace mote
