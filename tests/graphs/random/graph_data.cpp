// SPDX-License-Identifier: Apache-2.0
#include "graph_data.h"

#include <array>
#include <charconv>
#include <cmath>

#include "mote/base/error.h"
#include "runtime/drawn_calls.h"

namespace mote::test {
namespace {

constexpr std::array kFillNames = {"integer", "index", "uniform", "special"};

/// Integers are mostly indices into short axes, so that they are small.
constexpr std::int64_t kRadius = 3;

/// Returns the row-major index of element `linear`.
AxisList index_of(const AxisList& shape, std::int64_t linear) {
  AxisList index = shape;
  for (int axis = shape.size(); axis-- > 0;) {
    index[axis] = linear % shape[axis];
    linear /= shape[axis];
  }
  return index;
}

}  // namespace

std::string to_string(const GraphData& data) {
  std::array<char, 17> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + 16, data.seed, 16).ptr;
  return std::string(kFillNames.at(static_cast<std::size_t>(data.fill))) + ":" +
         std::string(digits.data(), end);
}

GraphData parse_data(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (std::size_t k = 0; k < kFillNames.size(); ++k) {
    if (text.substr(0, colon) != kFillNames[k] || colon == std::string_view::npos) continue;
    GraphData data{static_cast<FillName>(k), 0};
    const std::string_view digits = text.substr(colon + 1);
    const auto [at, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), data.seed, 16);
    if (error == std::errc() && at == digits.data() + digits.size()) return data;
  }
  throw Error("data '" + std::string(text) + "': expected FILL:SEED, such as uniform:9f21");
}

GraphData some_data(std::uint64_t seed) {
  constexpr std::array kFills = {FillName::integer, FillName::integer, FillName::uniform,
                                 FillName::uniform, FillName::uniform, FillName::index,
                                 FillName::integer, FillName::uniform};
  const FillName fill = seed % 29 == 0 ? FillName::special : kFills[seed % kFills.size()];
  return {fill, seed};
}

void fill_tensor(const Tensor& tensor, const std::string& name, const GraphData& data) {
  const bool real = is_real(tensor.dtype());
  // Whole numbers are small also where the fill is real: they may be indices.
  const GraphData used = real ? data : GraphData{FillName::integer, data.seed};
  const std::vector<double> elements =
      drawn_elements(to_string(used), name, tensor.dtype(), tensor.element_count(), kRadius);
  const AxisList shape = tensor.shape();
  for (std::size_t k = 0; k < elements.size(); ++k)
    tensor.set(index_of(shape, static_cast<std::int64_t>(k)), elements[k]);
}

std::vector<InputValue> input_values(const SymbolicGraph& graph, const GraphData& data) {
  std::vector<InputValue> values;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    const Tensor value(info.form->dtype, info.form->shape);
    fill_tensor(value, info.name, data);
    values.push_back({k, value});
  }
  return values;
}

}  // namespace mote::test
