// SPDX-License-Identifier: Apache-2.0
// A descriptor of cuDNN's graph API: made, given attributes, finalized, destroyed with the last
// copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "api.h"
#include "graph_constants.h"

namespace mote::cudnn {

class Descriptor {
 public:
  explicit Descriptor(int kind);  ///< descriptor::k…

  Descriptor& set(int attribute, int type, std::int64_t count, const void* values);
  Descriptor& integers(int attribute, std::span<const std::int64_t> values);
  Descriptor& integer(int attribute, std::int64_t value);
  Descriptor& choose(int attribute, int type, int value);  ///< sets a value of an enum
  Descriptor& is(int attribute);                           ///< sets the attribute to true
  Descriptor& link(int attribute, std::span<const Descriptor> to);
  Descriptor& link(int attribute, const Descriptor& to) { return link(attribute, {&to, 1}); }
  /// Finalizes the descriptor; no attribute may be set afterwards.
  Descriptor& finalize();

  std::int64_t integer(int attribute) const;
  std::vector<int> chosen(int attribute, int type, int most) const;
  /// Returns at most `most` descriptors of that kind, which cuDNN makes.
  std::vector<Descriptor> made_by_library(int attribute, int kind, int most) const;

  BackendDesc* get() const { return made_.get(); }

 private:
  std::shared_ptr<BackendDesc> made_;
};

}  // namespace mote::cudnn
