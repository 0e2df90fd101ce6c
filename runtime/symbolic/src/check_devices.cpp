// SPDX-License-Identifier: Apache-2.0
#include "check_devices.h"

#include "device_index.h"
#include "fail.h"

namespace mote {

void check_devices(const SymbolicGraph& graph, const Command& command,
                   std::span<const std::uint32_t> inputs, std::span<const std::uint32_t> outputs) {
  std::uint32_t first = kNoIndex;
  const auto text = [&](std::uint32_t symbol) {
    return graph.text(graph.at(symbol)) + " " + to_string(graph.symbols()[symbol].form);
  };
  for (const auto symbols : {inputs, outputs})
    for (const std::uint32_t symbol : symbols) {
      if (symbol == kNoIndex || !graph.symbols()[symbol].has_form) continue;
      if (first == kNoIndex) first = symbol;
      const DLDevice a = graph.symbols()[first].form->device;
      const DLDevice b = graph.symbols()[symbol].form->device;
      if (!is_same_device(a, b))
        fail_graph(to_string(command) + ": its tensors must be on one device, got " + text(first) +
                   " and " + text(symbol) + "; convert() copies to another");
    }
}

}  // namespace mote
