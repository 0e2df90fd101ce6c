// SPDX-License-Identifier: Apache-2.0
// The forms that were inferred last: a network's layers mostly have the commands and the forms of
// those before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "mote/runtime/command.h"
#include "mote/symbolic/shared_form.h"

namespace mote::detail {

/// A table of one entry for each of some hashes. Inference depends on the command, the forms of
/// inputs and the dtype alone.
class InferenceCache {
 public:
  /// input(k) is the form of input k; null: it is left out. The reference is valid until the next
  /// call.
  template <typename Input, typename Infer>
  const std::vector<TensorForm>& get(const Command& command, std::size_t count, const Input& input,
                                     std::optional<DType> dtype, const Infer& infer) {
    std::size_t hash = command.hash();
    for (std::size_t k = 0; k < count; ++k) {
      const SharedForm* const form = input(k);
      hash = hash * 31 + (form ? reinterpret_cast<std::size_t>(&**form) >> 4U : 1);
    }
    std::optional<Entry>& entry = entries_[(hash ^ hash >> 17U) % entries_.size()];
    if (entry && is_of(*entry, command, count, input, dtype)) return entry->outputs;
    Inputs inputs(count);
    for (std::size_t k = 0; k < count; ++k)
      if (const SharedForm* const form = input(k)) inputs[k] = *form;
    entry.emplace(Entry{command, std::move(inputs), dtype, infer()});
    return entry->outputs;
  }

 private:
  using Inputs = std::vector<std::optional<SharedForm>>;  ///< none: left out

  struct Entry {
    Command command;
    Inputs inputs;
    std::optional<DType> dtype;
    std::vector<TensorForm> outputs;
  };

  template <typename Input>
  static bool is_of(const Entry& entry, const Command& command, std::size_t count,
                    const Input& input, std::optional<DType> dtype) {
    if (entry.dtype != dtype || entry.inputs.size() != count) return false;
    for (std::size_t k = 0; k < count; ++k) {
      const SharedForm* const form = input(k);
      if (form == nullptr ? entry.inputs[k].has_value() : entry.inputs[k] != *form) return false;
    }
    return entry.command == command;
  }

  std::array<std::optional<Entry>, 16> entries_;
};

}  // namespace mote::detail
