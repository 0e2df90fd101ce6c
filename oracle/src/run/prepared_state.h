// SPDX-License-Identifier: Apache-2.0
// The data that a prepared case keeps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/bounds.h"
#include "judge/reference.h"
#include "mote/oracle/run.h"
#include "run/buffer.h"
#include "run/subject_run.h"

namespace mote {

struct Prepared::State {
  std::vector<Dense> inputs;    ///< empty until needed
  std::vector<bool> read;       ///< the inputs whose data the requested outputs need
  std::optional<Bench> local;   ///< memory in this process; empty until needed
  std::vector<Dense> expected;  ///< empty until needed
  std::shared_ptr<const Reference> reference;
  /// The intervals of the outputs; empty until needed.
  struct Bounded {
    std::shared_ptr<const BoundOf> bound;
    std::vector<Interval> intervals;
  };
  /// The intervals for the contract of the latest kernel: by the form that it names, by the
  /// definition, and by that with nothing known at infinities.
  Bounded of_form, of_definition, of_infinities;

  /// Buffers from `region`, which gets each tensor of the case with its number, inputs first.
  template <typename RegionOf>
  Bench bench(const Case& c, const RegionOf& region) const {
    Bench b;
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      b.inputs.push_back(region(c.inputs[k], Role::input, k));
      if (!read[k]) b.inputs.back().tensor()->data = nullptr;
    }
    for (std::size_t k = 0; k < c.outputs.size(); ++k) {
      const auto shared = shared_input(c, c.outputs[k]);
      b.outputs.push_back(shared
                              ? Buffer(c.inputs[*shared], Role::input, b.inputs[*shared].region())
                              : region(c.outputs[k], Role::output, c.inputs.size() + k));
    }
    return b;
  }

  /// Computes `expected` once; returns the reason if it fails, or an empty text.
  std::string compute_expected(const Case& c);
};

/// The elements that the case's fill gives input k.
Dense filled_input(const Case& c, std::size_t k, std::int64_t radius);
/// The elements that the case's fill gives its inputs; inputs of a gradient that are outputs of its
/// op are computed.
MOTE_API std::vector<Dense> filled_inputs(const Case& c, std::int64_t radius);

}  // namespace mote
