// SPDX-License-Identifier: Apache-2.0
// The values of a graph's inputs: a pure function of the data's seed and kind, of each input's name
// and of its form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/runtime/tensor.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// The oracle's fill of that name (mote/oracle/fill.h), in magnitudes that stay finite.
enum class FillName : std::uint8_t { integer, index, uniform, special };

struct GraphData {
  FillName fill = FillName::integer;
  std::uint64_t seed = 0;
  friend bool operator==(const GraphData&, const GraphData&) = default;
};
std::string to_string(const GraphData& data);  ///< "uniform:9f21"
/// Throws Error for a text that to_string does not write.
GraphData parse_data(std::string_view text);
GraphData some_data(std::uint64_t seed);

/// Fills the tensor as an input of that name.
void fill_tensor(const Tensor& tensor, const std::string& name, const GraphData& data);
/// Returns a tensor of its own for each input of the graph, filled, with the symbol's index.
struct InputValue {
  std::uint32_t symbol = 0;
  Tensor value;
};
std::vector<InputValue> input_values(const SymbolicGraph& graph, const GraphData& data);

}  // namespace mote::test
