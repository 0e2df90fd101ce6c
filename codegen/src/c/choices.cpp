// SPDX-License-Identifier: Apache-2.0
// Writes calls between the kernels of one op: the whole is the kernel with all inputs, its parts
// are the kernels of calls that lack some. The whole's function calls a part's, or a part's calls
// the whole's. Arguments agree by their names in the programs; the names of outputs are given.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "c/internal.h"
#include "mote/base/error.h"

namespace mote {
namespace emit {
namespace {

/// Returns the whole's name of a part's tensor; an output may have another name in each.
std::string in_whole(const PartialKernel& part, const std::string& tensor) {
  const std::vector<Output>& outputs = part.program.source->outputs;
  const auto at = std::ranges::find(outputs, tensor, &Output::name);
  return at == outputs.end() ? tensor
                             : part.outputs.at(static_cast<std::size_t>(at - outputs.begin()));
}

std::optional<std::string> in_part(const PartialKernel& part, const std::string& tensor) {
  for (const TensorDecl& t : part.program.tensors)
    if (t.role != TensorRole::temporary && in_whole(part, t.name) == tensor) return t.name;
  return std::nullopt;
}

bool has_size(const LoopProgram& p, const std::string& size) {
  return std::ranges::any_of(p.source->size_rules,
                             [&](const SizeRule& rule) { return rule.size.name() == size; });
}

std::string tensor_arguments(const LoopProgram& p, const Names& names, const std::string& tensor) {
  return names.tensor(tensor) +
         (find_tensor(p, tensor)->shape.empty() ? "" : ", " + names.strides(tensor));
}

/// Returns the value that a parameter has in a call without it.
std::string default_text(const ParamDecl& param) {
  const double value = param.default_value.value_or(0);
  if (!param.is_integer) return real_text(value);
  return integer_text(param.default_value ? static_cast<std::int64_t>(value)
                                          : param.lower.value_or(1));
}

/// Returns an argument of the whole's function, in terms of the part's arguments.
std::string from_part(const Argument& a, const PartialKernel& part, const Names& names,
                      const LoopProgram& whole) {
  if (a.kind == Argument::Kind::size)
    return has_size(part.program, a.name) ? names.size(a.name) : "0";
  if (a.kind == Argument::Kind::param) {
    if (find_param(*part.program.source, a.name)) return names.param(a.name);
    const auto at = static_cast<std::size_t>(*find_param(*whole.source, a.name));
    return default_text(whole.source->params[at]);
  }
  if (const auto tensor = in_part(part, a.name))
    return tensor_arguments(part.program, names, *tensor);
  return find_tensor(whole, a.name)->shape.empty() ? "NULL" : "NULL, NULL";
}

/// Returns an argument of the part's function, in terms of the whole's arguments.
std::string from_whole(const Argument& a, const PartialKernel& part, const LoopProgram& whole,
                       const Names& names) {
  if (a.kind == Argument::Kind::param) return names.param(a.name);
  if (a.kind == Argument::Kind::tensor)
    return tensor_arguments(whole, names, in_whole(part, a.name));
  if (has_size(whole, a.name)) return names.size(a.name);
  throw InternalError(whole.name + ": with all inputs it has no size " + a.name);
}

/// Returns the condition that the call lacks all inputs that the part lacks.
std::string lacks(const PartialKernel& part, const LoopProgram& whole, const Names& names) {
  std::string condition;
  for (const TensorDecl& t : whole.tensors) {
    if (t.role != TensorRole::input || in_part(part, t.name)) continue;
    condition += fmt::format("{}{} == NULL", condition.empty() ? "" : " && ",
                             t.shape.empty() ? names.tensor(t.name) : names.strides(t.name));
  }
  return condition;
}

}  // namespace
}  // namespace emit

std::string emit_c_choice(const LoopProgram& whole, const PartialKernel& part) {
  const emit::Names names(whole);
  std::string items;
  for (const emit::Argument& a : emit::arguments(part.program))
    items += (items.empty() ? "" : ", ") + emit::from_whole(a, part, whole, names);
  return emit::wrap(fmt::format("  if ({})", emit::lacks(part, whole, names))) + "\n" +
         emit::wrap(fmt::format("    return {}({});", part.function, items)) + "\n";
}

std::string emit_c_adapter(const PartialKernel& part, const LoopProgram& whole,
                           const std::string& function) {
  const emit::Names names(part.program);
  std::string items;
  for (const emit::Argument& a : emit::arguments(whole))
    items += (items.empty() ? "" : ", ") + emit::from_part(a, part, names, whole);
  return "static " + emit::signature(part.program, names, part.function) + " {\n" +
         emit::wrap(fmt::format("  return {}({});", function, items)) + "\n}\n";
}

}  // namespace mote
