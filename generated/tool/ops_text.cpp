// SPDX-License-Identifier: Apache-2.0
// Writes the records of the catalogue as mote_ops[].
#include "ops_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "batch_axes.h"
#include "mote/base/error.h"
#include "mote/codegen/generated_by.h"
#include "mote/macroops/catalogue.h"
#include "size_program.h"

namespace mote {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Returns the dtype as text: "T" if it is the instance's dtype in both programs, whose instances
/// differ.
std::string dtype_text(DType dtype, DType instance, DType other, DType other_instance) {
  return dtype == instance && other == other_instance ? "T" : std::string(name(dtype));
}

/// The programs from which an op's table is made: every choice of optional inputs for its first
/// dtype, and one for its last.
struct Programs {
  std::vector<std::shared_ptr<const Program>> masks;
  std::shared_ptr<const Program> full, other;
  DType dtype, other_dtype;
};

Programs programs_of(const OpRecord& record) {
  Programs all{.masks = {},
               .full = nullptr,
               .other = nullptr,
               .dtype = record.dtypes.front(),
               .other_dtype = record.dtypes.back()};
  for (const Instance& instance : instances(record))
    if (instance.dtype == all.dtype) all.masks.push_back(instantiate(record, instance));
  all.full = instantiate(record, {all.dtype, full_mask(record)});
  all.other = instantiate(record, {all.other_dtype, full_mask(record)});
  return all;
}

bool is_batch(const Programs& all, const Expr& extent) {
  const std::optional<Symbol> size = extent.as_symbol();
  if (!size || size->kind() != SymbolKind::size) return false;
  for (const auto& program : all.masks)
    if (!is_batch(*program, *size)) return false;
  return true;
}

struct TensorText {
  std::string arrays;  ///< of the texts of the axes, and of their programs
  std::string row;
};

/// Returns the arrays of the programs of axes that are not sizes; empty if all are. `array` names
/// the array of texts.
std::string program_arrays(const std::string& array, const std::vector<Expr>& shape) {
  std::string programs, list;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::optional<Symbol> symbol = shape[k].as_symbol();
    const bool is_size = symbol && symbol->kind() == SymbolKind::size;
    const std::string program = fmt::format("{}_axis{}", array, k);
    list += (k > 0 ? ", " : "") + (is_size ? "NULL" : program);
    if (!is_size)
      programs += fmt::format("static const mote_size_step {}[] = {{{}}};\n", program,
                              size_program(shape[k]));
  }
  if (programs.empty()) return "";
  return programs +
         fmt::format("static const mote_size_step *const {}_programs[] = {{{}}};\n", array, list);
}

TensorText tensor_text(const Programs& all, const std::string& array, const std::string& tensor,
                       const Uop& value, const Uop& other, bool optional) {
  std::string axes;
  std::uint32_t broadcast = 0;
  std::uint32_t batch = 0;
  const auto* input = std::get_if<uop::Input>(&value.node().kind);
  for (std::size_t k = 0; k < value.shape().size(); ++k) {
    axes += (k > 0 ? ", " : "") + quoted(value.shape()[k].to_string());
    if (input != nullptr && k < input->broadcast.size() && input->broadcast[k])
      broadcast |= 1U << k;
    if (is_batch(all, value.shape()[k])) batch |= 1U << k;
  }
  const std::string dtype = dtype_text(value.dtype(), all.dtype, other.dtype(), all.other_dtype);
  const std::string programs = program_arrays(array, value.shape());
  TensorText text;
  if (!axes.empty())
    text.arrays = fmt::format("static const char *const {}[] = {{{}}};\n", array, axes) + programs;
  text.row = fmt::format("    {{{}, \"{}\", {}, {}, {}, {:#x}u, {:#x}u, {}}},\n", quoted(tensor),
                         dtype, optional ? 1 : 0, value.rank(), axes.empty() ? "NULL" : array,
                         broadcast, batch, programs.empty() ? "NULL" : array + "_programs");
  return text;
}

std::string param_row(const ParamDecl& p) {
  const std::int64_t lower = p.lower.value_or(std::numeric_limits<std::int64_t>::min() + 1);
  const std::int64_t upper = p.upper.value_or(std::numeric_limits<std::int64_t>::max());
  return fmt::format("    {{{}, {}, {}, {}, {}, INT64_C({}), INT64_C({})}},\n", quoted(p.name),
                     quoted(p.meaning), p.is_integer ? 1 : 0, p.default_value ? 1 : 0,
                     p.default_value.value_or(0), lower, upper);
}

std::string array_text(const char* type, const std::string& array, const std::string& rows) {
  if (rows.empty()) return "";
  return fmt::format("static const {} {}[] = {{\n{}}};\n", type, array, rows);
}

/// True if some choice of inputs leaves the output out.
bool is_optional(const Programs& all, const std::string& output) {
  return !std::ranges::all_of(all.masks, [&](const auto& program) {
    return std::ranges::find(program->outputs, output, &Output::name) != program->outputs.end();
  });
}

/// Returns the prefix of C arrays: "softmax_grad" for softmax.grad.
std::string identifier(const OpRecord& record) {
  std::string text = record.name;
  std::ranges::replace(text, '.', '_');
  return text;
}

/// Appends the arrays of one op to `text` and returns its row.
std::string op_row(const OpRecord& record, std::string& text) {
  const Programs all = programs_of(record);
  const std::string arrays = identifier(record);
  std::string inputs, outputs, params, pairs;
  const auto add = [&](std::string& rows, const TensorText& tensor) {
    text += tensor.arrays;
    rows += tensor.row;
  };
  for (std::size_t k = 0; k < all.full->inputs.size(); ++k)
    add(inputs, tensor_text(all, fmt::format("{}_in{}", arrays, k), record.inputs[k].name,
                            all.full->inputs[k], all.other->inputs[k], record.inputs[k].optional));
  for (std::size_t k = 0; k < all.full->outputs.size(); ++k)
    add(outputs, tensor_text(all, fmt::format("{}_out{}", arrays, k), all.full->outputs[k].name,
                             all.full->outputs[k].value, all.other->outputs[k].value,
                             is_optional(all, all.full->outputs[k].name) ||
                                 is_optional_output(record, all.full->outputs[k].name)));
  for (const ParamDecl& p : record.params) params += param_row(p);
  for (const auto& [input, output] : record.in_place)
    pairs += fmt::format("    {{{}, {}}},\n", input, output);
  text += array_text("mote_op_tensor", arrays + "_inputs", inputs) +
          array_text("mote_op_tensor", arrays + "_outputs", outputs) +
          array_text("mote_op_param", arrays + "_params", params) +
          array_text("mote_op_pair", arrays + "_pairs", pairs);
  const auto pointer = [&](const std::string& rows, const char* array) {
    return rows.empty() ? std::string("NULL") : arrays + array;
  };
  return fmt::format(
      "    {{{}, {},\n     {},\n     {},\n     {},\n     {}, {}, {}, {}, {}, {}, {}, {}}},\n",
      quoted(record.name), quoted(record.family), quoted(record.equation), quoted(record.policy),
      quoted(record.source), all.full->inputs.size(), all.full->outputs.size(),
      record.params.size(), record.in_place.size(), pointer(inputs, "_inputs"),
      pointer(outputs, "_outputs"), pointer(params, "_params"), pointer(pairs, "_pairs"));
}

/// Returns a mask in which bit k says that names[k] is among `given`.
template <typename Names>
TensorMask mask_of(const Names& names, const std::set<std::string>& given) {
  TensorMask mask = 0;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (given.contains(names[k].name)) mask |= mask_bit(k);
  return mask;
}

/// Removes the g that begins the name of a gradient, and with_end the _ that may end it.
std::set<std::string> without_g(const std::set<std::string>& names, bool with_end) {
  std::set<std::string> result;
  for (const std::string& name : names)
    result.insert(name.substr(1, name.size() - (with_end && name.ends_with('_') ? 2 : 1)));
  return result;
}

/// Returns the row of an op whose gradient has kernels.
std::string gradient_row(const OpRecord& record, const OpRecord& gradient) {
  const Instance whole{gradient.dtypes.front(), full_mask(gradient)};
  const auto kept_op = instantiate(record, {whole.dtype, full_mask(record)});
  const Program& op = *kept_op;
  std::set<std::string> taken;
  for (const InputDecl& in : gradient.inputs) taken.insert(in.name);
  std::set<std::string> given;
  for (const Output& o : instantiate(gradient, whole)->outputs) given.insert(o.name);
  const TensorMask inputs = mask_of(record.inputs, taken);
  const TensorMask outputs = mask_of(op.outputs, taken);
  std::set<std::string> gradients = taken;
  for (const InputDecl& in : record.inputs) gradients.erase(in.name);
  for (const Output& o : op.outputs) gradients.erase(o.name);
  TensorMask reads = 0;
  for (const Instance& i : instances(gradient)) reads |= read_mask(gradient, i);
  const auto from = mask_of(op.outputs, without_g(gradients, false)) |
                    mask_of(op.outputs, without_g(gradients, true));
  const auto to = mask_of(record.inputs, without_g(given, false)) |
                  mask_of(record.inputs, without_g(given, true));
  const int slots = std::popcount(from) + std::popcount(inputs) + std::popcount(outputs);
  if (slots != static_cast<int>(gradient.inputs.size()) ||
      std::popcount(to) != static_cast<int>(given.size()))
    throw InternalError(gradient.name + ": its tensors are not told by their names");
  return fmt::format("    {{\"{}\", \"{}\", {:#x}u, {:#x}u, {:#x}u, {:#x}u, {:#x}u}},\n",
                     record.name, gradient.name, from, inputs, outputs, reads, to);
}

}  // namespace

std::string ops_text(const std::vector<const OpRecord*>& records, const std::string& table) {
  std::string text = generated_head("What there is to know of the ops") +
                     "#include <stddef.h>\n\n#include \"mote/base/ops.h\"\n\n";
  std::string rows;
  std::string gradients;
  std::size_t gradient_count = 0;
  for (const OpRecord* record : records) {
    rows += op_row(*record, text);
    const auto at =
        std::ranges::lower_bound(generated_ops(), record->name + ".grad", {}, &OpRecord::name);
    if (at == generated_ops().end() || (*at)->name != record->name + ".grad") continue;
    gradients += gradient_row(*record, **at);
    ++gradient_count;
  }
  if (gradients.empty()) gradients = "    {NULL, NULL, 0, 0, 0, 0, 0},\n";  // C has no empty array
  return text + fmt::format(
                    "\nextern const mote_op_definition {0}s[];\n"
                    "extern const int32_t {0}_count;\n"
                    "extern const mote_op_gradient {0}_gradients[];\n"
                    "extern const int32_t {0}_gradient_count;\n"
                    "const mote_op_definition {0}s[] = {{\n{1}}};\n"
                    "const int32_t {0}_count = {2};\n"
                    "const mote_op_gradient {0}_gradients[] = {{\n{3}}};\n"
                    "const int32_t {0}_gradient_count = {4};\n",
                    table, rows, records.size(), gradients, gradient_count);
}

}  // namespace mote
