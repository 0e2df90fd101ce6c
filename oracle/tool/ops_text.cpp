// SPDX-License-Identifier: Apache-2.0
// Prints the parts of an op for lists, tables and documentation.
#include "ops_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace mote::tool {
namespace {

template <typename Items, typename Text>
std::string joined(const Items& items, std::string_view separator, const Text& text) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) texts.emplace_back(text(item));
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string number_text(double value, bool is_integer) {
  return is_integer ? fmt::format("{}", static_cast<std::int64_t>(value))
                    : fmt::format("{}", value);
}

}  // namespace

std::string dtype_names(const std::vector<DType>& dtypes) {
  return joined(dtypes, " ", [](DType t) { return std::string(name(t)); });
}

std::string input_names(const OpRecord& record) {
  return joined(record.inputs, " ",
                [](const InputDecl& i) { return i.optional ? "[" + i.name + "]" : i.name; });
}

std::string output_names(const Program& program) {
  return joined(program.outputs, " ", [](const Output& o) { return o.name; });
}

std::string needs_text(const Program& program) {
  const std::vector<bool> read = read_inputs(program);
  std::string text;
  for (std::size_t k = 0; k < read.size(); ++k)
    text += fmt::format("{} {}\n", std::get<uop::Input>(program.inputs[k].node().kind).name,
                        read[k] ? "value" : "shape");
  return text;
}

std::string mask_text(const Program& program) {
  const std::vector<bool> read = read_inputs(program);
  std::string text = "|";
  for (std::size_t k = 0; k < read.size(); ++k)
    text += fmt::format(fmt::runtime(read[k] ? "{}|" : "({})|"),
                        std::get<uop::Input>(program.inputs[k].node().kind).name);
  text += " -> |";
  for (const Output& o : program.outputs) text += o.name + "|";
  return text;
}

std::string gradient_text(const OpRecord& record) {
  const OpRecord* gradient = gradient_of(record);
  if (gradient == nullptr) return "";
  return mask_text(*instantiate(*gradient, {gradient->dtypes.front(), full_mask(*gradient)}));
}

std::vector<std::string> axis_texts(const Program& program, const Uop& tensor) {
  const auto* input = std::get_if<uop::Input>(&tensor.node().kind);
  std::vector<std::string> axes;
  for (std::size_t k = 0; k < tensor.shape().size(); ++k) {
    const Expr& extent = tensor.shape()[k];
    const auto named = std::ranges::find(program.sizes, extent, &NamedSize::value);
    const bool repeats = input != nullptr && k < input->broadcast.size() && input->broadcast[k];
    axes.push_back((repeats ? "1|" : "") +
                   (named == program.sizes.end() ? extent.to_string() : named->name));
  }
  return axes;
}

std::string shape_text(const Program& program, const Uop& tensor) {
  return fmt::format("[{}]", fmt::join(axis_texts(program, tensor), ", "));
}

std::string range_text(const ParamDecl& p) {
  std::string text = p.is_integer ? "int" : "real";
  if (p.lower) text += fmt::format(" >= {}", *p.lower);
  if (p.upper) text += fmt::format("{} <= {}", p.lower ? " and" : "", *p.upper);
  return text + (p.default_value ? ", default " + number_text(*p.default_value, p.is_integer)
                                 : ", required");
}

std::pair<std::string, int> numbered(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == name.size() || name.size() - digits > 4) return {name, -1};
  return {name.substr(0, digits), std::stoi(name.substr(digits))};
}

std::string param_names(const std::vector<ParamDecl>& params) {
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < params.size();) {
    const auto [stem, first] = numbered(params[k].name);
    std::size_t end = k + 1;
    while (first >= 0 && end < params.size() &&
           numbered(params[end].name) == std::pair(stem, first + static_cast<int>(end - k))) {
      ++end;
    }
    texts.push_back(
        end == k + 1 ? params[k].name
                     : fmt::format("{}-{}", params[k].name, first + static_cast<int>(end - k) - 1));
    k = end;
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string in_place_text(const OpRecord& record, const Program& program) {
  return joined(record.in_place, ", ", [&](const std::pair<int, int>& pair) {
    return fmt::format("{} -> {}", record.inputs[static_cast<std::size_t>(pair.first)].name,
                       program.outputs[static_cast<std::size_t>(pair.second)].name);
  });
}

}  // namespace mote::tool
