// SPDX-License-Identifier: Apache-2.0
// The list of alternatives that alternatives.cpp, other_locations.cpp and other_values.cpp fill.
#pragma once

#include <utility>
#include <vector>

#include "diagnosis/alternatives.h"
#include "mote/base/error.h"

namespace mote::diagnosis {

inline const uop::Map* map_of(const Uop& u) { return std::get_if<uop::Map>(&u.node().kind); }

/// Collects alternatives that can be built and fit.
class Collector {
 public:
  explicit Collector(Uop of) : of_(std::move(of)) {}

  template <typename Build>
  void add(const Build& build, const std::string& kind = "", const std::string& words = "") {
    try {
      const Uop u = build();
      if (are_interchangeable(u, of_) && u.id() != of_.id()) all_.push_back({u, kind, words});
    } catch (const Error&) {  // shapes or dtypes do not fit
    }
  }
  std::vector<Alternative> take() { return std::move(all_); }

 private:
  Uop of_;
  std::vector<Alternative> all_;
};

/// x as it is, or a scalar repeated in the shape of `like`.
inline Uop shaped(const Uop& x, const Uop& like) {
  return x.rank() == 0 && like.rank() > 0 ? broadcast(x, shape_of(like), {}) : x;
}

inline bool is_constant(const Uop& u) {
  return std::holds_alternative<uop::Scalar>(u.node().kind) ||
         std::holds_alternative<uop::Param>(u.node().kind);
}

/// Adds elements from other locations: see altered.h.
void add_other_locations(Collector& all, const Uop& u);
/// Adds other numbers: narrower formats, other limits, other results for an empty row.
void add_other_values(Collector& all, const Uop& u, const Surroundings& around);

}  // namespace mote::diagnosis
