// SPDX-License-Identifier: Apache-2.0
// The forms that were inferred last: a network's layers mostly have the commands and the forms of
// those before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "mote/runtime/command.h"
#include "mote/symbolic/shared_form.h"

namespace mote::detail {

/// A table of one entry for each of some hashes. Inference depends on the command, the forms of
/// inputs and the dtype alone.
class InferenceCache {
 public:
  using Inputs = std::vector<std::optional<SharedForm>>;  ///< none: left out

  template <typename Infer>
  const std::vector<TensorForm>& get(const Command& command, const Inputs& inputs,
                                     std::optional<DType> dtype, const Infer& infer) {
    std::size_t hash = command.hash();
    for (const auto& input : inputs)
      hash = hash * 31 + (input ? reinterpret_cast<std::size_t>(&**input) >> 4U : 1);
    std::optional<Entry>& entry = entries_[(hash ^ hash >> 17U) % entries_.size()];
    if (!entry || entry->dtype != dtype || entry->inputs != inputs || !(entry->command == command))
      entry.emplace(Entry{command, inputs, dtype, infer()});
    return entry->outputs;
  }

 private:
  struct Entry {
    Command command;
    Inputs inputs;
    std::optional<DType> dtype;
    std::vector<TensorForm> outputs;
  };
  std::array<std::optional<Entry>, 16> entries_;
};

}  // namespace mote::detail
