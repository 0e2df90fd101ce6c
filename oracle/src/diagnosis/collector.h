// SPDX-License-Identifier: Apache-2.0
// What alternatives.cpp and other_places.cpp share.
#pragma once

#include <utility>
#include <vector>

#include "diagnosis/alternatives.h"
#include "mote/base/error.h"

namespace mote::diagnosis {

inline const uop::Map* map_of(const Uop& u) { return std::get_if<uop::Map>(&u.node().kind); }

/// Collects what can be built and fits.
class Collector {
 public:
  explicit Collector(Uop of) : of_(std::move(of)) {}

  template <typename Build>
  void add(const Build& build) {
    try {
      const Uop u = build();
      if (are_interchangeable(u, of_) && u.id() != of_.id()) all_.push_back(u);
    } catch (const Error&) {  // shapes or dtypes that do not go together
    }
  }
  std::vector<Uop> take() { return std::move(all_); }

 private:
  Uop of_;
  std::vector<Uop> all_;
};

/// Elements from elsewhere: see altered.h.
void add_other_places(Collector& all, const Uop& u);

}  // namespace mote::diagnosis
