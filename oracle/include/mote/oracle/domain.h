// SPDX-License-Identifier: Apache-2.0
// Describes the legal shapes of a program as independent numbers ("knobs"), so that any choice of
// them is a legal case: free sizes, and derived sizes such as
//   OH = (H + $pads0 + $pads2 - $dilation0*(KH - 1) - 1)/$stride0 + 1
// The value of a derived size is chosen first. A free size that it grows with (H) then follows as
// the least that reaches it, plus a slack that leaves every derived size as it is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

struct Knob {
  std::string name;
  Expr value;                   ///< a free or a derived size
  std::int64_t least = 0;       ///< the least legal value
  std::optional<Symbol> pivot;  ///< the free size that follows a derived size
  bool reduced = false;         ///< an axis of it is summed, scanned, searched or the like
};

struct Domain {
  std::shared_ptr<const Program> program;
  std::vector<Knob> knobs;
  std::map<Symbol, std::int64_t> least;  ///< the least value of every free size
  std::vector<Symbol> pivots;            ///< the pivots in the order of solving
};
Domain make_domain(std::shared_ptr<const Program> program);

using Params = std::map<std::string, Number>;
using Sizes = std::map<Symbol, std::int64_t>;

/// A point of the domain.
struct KnobValues {
  std::vector<std::int64_t> values;      ///< one for each knob
  std::map<Symbol, std::int64_t> slack;  ///< by pivot; reduced until it changes no derived size
};

/// Values of all free sizes and integer parameters; nullopt when a derived size cannot be reached.
std::optional<Sizes> solve(const Domain& domain, const KnobValues& at, const Params& params);
/// The point at which solve() gives these sizes.
KnobValues knob_values(const Domain& domain, const Sizes& sizes);
/// The extents of every input, broadcast axes at full extent.
std::vector<std::vector<std::int64_t>> input_shapes(const Program& program, const Sizes& sizes);
/// The integer parameters by symbol.
Sizes param_values(const Program& program, const Params& params);

}  // namespace mote
