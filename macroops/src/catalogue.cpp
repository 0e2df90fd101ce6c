// SPDX-License-Identifier: Apache-2.0
// The catalogue: assembled from the families when first used, sorted by name. It also makes the
// checked programs of a record.
#include "mote/macroops/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include "families.h"
#include "gradient_ops.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/macroops/output_mask.h"

namespace mote {
namespace {

std::vector<OpRecord> assemble() {
  std::vector<OpRecord> all;
  for (const auto& family :
       {linear_ops, convolution_ops, attention_ops, elementwise_ops, activation_ops, choice_ops,
        normalise_ops, batch_norm_ops, reduce_ops, spatial_ops, index_ops, move_ops, scatter_ops,
        random_ops, loss_ops, optimiser_ops, quantised_ops, recurrent_ops, resize_ops}) {
    for (OpRecord& record : family()) all.push_back(std::move(record));
  }
  return all;
}

/// The records given to extend_catalogue() before the catalogue is first used.
struct Added {
  std::mutex mutex;
  std::vector<OpRecord> records;
  std::set<std::string, std::less<>> names;
  bool closed = false;
};
Added& added() {
  static Added all;
  return all;
}

std::vector<OpRecord> assemble_with_added() {
  std::vector<OpRecord> all = assemble();
  Added& more = added();
  const std::lock_guard lock(more.mutex);
  more.closed = true;
  for (OpRecord& record : more.records) all.push_back(std::move(record));
  more.records.clear();
  std::ranges::sort(all, {}, &OpRecord::name);
  return all;
}

bool is_op_name(std::string_view name) {
  const auto is_first = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && is_first(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_first(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

TensorMask required_mask(const OpRecord& record) {
  TensorMask required = 0;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (!record.inputs[k].optional) required |= mask_bit(k);
  }
  return required;
}

void check_inputs(const OpRecord& record) {
  if (std::ssize(record.inputs) > kMaxMasked)
    throw Error(fmt::format("op {}: has {} inputs, expected at most {}", record.name,
                            record.inputs.size(), kMaxMasked));
  const auto optional = std::ranges::count_if(record.inputs, &InputDecl::optional);
  if (record.masks.empty() && optional > kMaxFreeInputs)
    throw Error(
        fmt::format("op {}: has {} optional inputs and no list of the choices among them, "
                    "expected one beyond {}",
                    record.name, optional, kMaxFreeInputs));
}

bool has_mask(const OpRecord& record, TensorMask mask) {
  return record.masks.empty() || std::ranges::find(record.masks, mask) != record.masks.end();
}

std::string input_list(const OpRecord& record, TensorMask mask) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (is_in(mask, k)) names.push_back(record.inputs[k].name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_instance(const OpRecord& record, const Instance& instance) {
  if (std::ranges::find(record.dtypes, instance.dtype) == record.dtypes.end()) {
    std::vector<std::string_view> offered;
    for (const DType t : record.dtypes) offered.push_back(name(t));
    throw Error(fmt::format("dtype {} is not offered (known: {})", name(instance.dtype),
                            fmt::join(offered, ", ")));
  }
  if ((instance.input_mask & ~full_mask(record)) != 0) {
    throw Error(fmt::format("input mask {:#x} names more than its {} inputs", instance.input_mask,
                            record.inputs.size()));
  }
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (!record.inputs[k].optional && !is_in(instance.input_mask, k)) {
      throw Error(fmt::format("input {} cannot be left out", record.inputs[k].name));
    }
  }
  if (!has_mask(record, instance.input_mask)) {
    throw Error(fmt::format("there is no kernel for just these inputs: {}",
                            input_list(record, instance.input_mask)));
  }
}

/// True if the definition uses $parameter, in an index, a shape, a size or as a value.
bool uses(const ProgramSpec& spec, std::span<const Uop> nodes, const std::string& parameter) {
  const Symbol symbol(SymbolKind::param, parameter);
  const auto mentions = [&](const Expr& e) { return e.mentions(symbol); };
  const auto node_uses = [&](const Uop& u) {
    const uop::Kind& kind = u.node().kind;
    if (const auto* p = std::get_if<uop::Param>(&kind)) return p->name == parameter;
    const auto* i = std::get_if<uop::Iota>(&kind);
    const auto* r = std::get_if<uop::Reindex>(&kind);
    const auto* s = std::get_if<uop::Scatter>(&kind);
    return (i != nullptr && mentions(i->value)) ||
           (r != nullptr && std::ranges::any_of(r->from, mentions)) ||
           (s != nullptr && std::ranges::any_of(s->to, mentions)) ||
           std::ranges::any_of(u.shape(), mentions);
  };
  return std::ranges::any_of(nodes, node_uses) ||
         std::ranges::any_of(spec.sizes, mentions, &NamedSize::value) ||
         std::ranges::any_of(spec.constraints, [&](const Constraint& c) {
           return mentions(c.left) || mentions(c.right);
         });
}

/// Completes the program of a form; null for the definition.
ProgramSpec complete(const OpRecord& record, const Instance& instance, const Form* form) {
  ProgramSpec spec = form != nullptr ? form->define(instance) : record.define(instance);
  spec.name = form != nullptr ? record.name + "." + form->name : record.name;
  spec.equation = record.equation;
  std::erase_if(spec.inputs, [](const Uop& input) { return !input; });
  const std::vector<Uop> roots = inputs_and_roots(spec.inputs, spec.outputs);
  const std::vector<Uop> nodes = topological(roots);
  for (ParamDecl parameter : record.params) {
    if (!is_real(instance.dtype)) parameter.is_integer = true;
    if (uses(spec, nodes, parameter.name)) spec.params.push_back(std::move(parameter));
  }
  return spec;
}

std::shared_ptr<const Program> build(const OpRecord& record, const Instance& instance,
                                     const Form* form) {
  check_inputs(record);
  try {
    check_instance(record, instance);
    return std::make_shared<const Program>(make_program(complete(record, instance, form)));
  } catch (const Error& e) {
    throw Error(fmt::format("op {}: {}", record.name, e.what()));
  }
}

}  // namespace

std::span<const OpRecord> catalogue() {
  static const std::vector<OpRecord> all = assemble_with_added();
  return all;
}

void extend_catalogue(std::vector<OpRecord> records) {
  static const std::vector<OpRecord> own = assemble();
  Added& more = added();
  const std::lock_guard lock(more.mutex);
  std::set<std::string, std::less<>> names = more.names;
  for (const OpRecord& record : records) {
    if (!is_op_name(record.name))
      throw Error(fmt::format(
          "'{}' is no name of an op: expected a letter, then letters, digits and _", record.name));
    if (!names.insert(record.name).second ||
        std::ranges::find(own, record.name, &OpRecord::name) != own.end())
      throw Error(fmt::format("op {}: the catalogue already has an op of this name", record.name));
    if (more.closed)
      throw Error(fmt::format(
          "op {}: the catalogue is already in use; extend_catalogue() comes first", record.name));
  }
  more.names = std::move(names);
  std::ranges::move(records, std::back_inserter(more.records));
}

bool is_added(const OpRecord& record) {
  Added& more = added();
  const std::lock_guard lock(more.mutex);
  return more.names.contains(std::string_view(record.name).substr(0, record.name.find('.')));
}

const OpRecord& find_op(std::string_view name) {
  const auto all = catalogue();
  const auto at = std::ranges::lower_bound(all, name, {}, &OpRecord::name);
  if (at != all.end() && at->name == name) return *at;
  if (name.ends_with(kGradientSuffix)) {
    const OpRecord& of = find_op(name.substr(0, name.size() - kGradientSuffix.size()));
    if (const OpRecord* gradient = gradient_of(of)) return *gradient;
    throw Error(fmt::format("op {} has no gradient: nothing flows from its outputs to its inputs",
                            of.name));
  }
  std::vector<std::string> known;
  for (const OpRecord& record : all) known.push_back(record.name);
  const std::vector<std::string> near = near_names(name, known);
  const std::string hint =
      near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, ", "));
  throw Error(fmt::format("unknown op '{}': {}`mote ops` lists the {} that there are", name, hint,
                          all.size()));
}

TensorMask full_mask(const OpRecord& record) { return first_masked(record.inputs.size()); }

TensorMask read_mask(const OpRecord& record, const Instance& instance) {
  return read_mask(record, instance, ~TensorMask{0});
}

TensorMask read_mask(const OpRecord& record, const Instance& instance, TensorMask outputs) {
  const auto kept_program = instantiate(record, instance);
  const Program& program = *kept_program;
  std::vector<Uop> values;
  for (std::size_t k = 0; k < program.outputs.size(); ++k)
    if (is_in(outputs, k)) values.push_back(program.outputs[k].value);
  const std::vector<Uop> nodes = topological(values);
  TensorMask mask = 0;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    const auto at = find_input(program, record.inputs[k].name);
    if (!at) continue;
    const Uop& input = program.inputs[static_cast<std::size_t>(*at)];
    if (std::ranges::find(nodes, input.id(), &Uop::id) != nodes.end()) mask |= mask_bit(k);
  }
  return mask;
}

TensorMask output_mask(const OpRecord& record, const Instance& instance) {
  const auto plain = [](std::string_view name) {
    return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  };
  const auto all = instantiate(record, {instance.dtype, full_mask(record)});
  const auto there = instantiate(record, instance);
  TensorMask mask = 0;
  std::size_t found = 0;
  for (std::size_t k = 0; k < all->outputs.size() && found < there->outputs.size(); ++k) {
    if (plain(all->outputs[k].name) != plain(there->outputs[found].name)) continue;
    mask |= mask_bit(k);
    ++found;
  }
  if (found != there->outputs.size())
    throw InternalError(record.name +
                        ": an instance has outputs that the op lacks with all inputs");
  return mask;
}

bool is_optional_output(const OpRecord& record, std::string_view output) {
  return std::ranges::find(record.optional_outputs, output) != record.optional_outputs.end();
}

bool has_instance(const OpRecord& record, const Instance& instance) {
  return std::ranges::find(record.dtypes, instance.dtype) != record.dtypes.end() &&
         (instance.input_mask & required_mask(record)) == required_mask(record) &&
         (instance.input_mask & ~full_mask(record)) == 0 && has_mask(record, instance.input_mask);
}

std::string instance_name(const OpRecord& record, const Instance& instance) {
  std::string text = record.name;
  std::ranges::replace(text, '.', '_');
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (instance.input_mask != full_mask(record) && is_in(instance.input_mask, k))
      text += "_" + record.inputs[k].name;
  }
  return fmt::format("{}_{}", text, name(instance.dtype));
}

std::vector<Instance> instances(const OpRecord& record) {
  check_inputs(record);
  std::vector<TensorMask> masks = record.masks;
  if (masks.empty()) {
    const TensorMask required = required_mask(record);
    const TensorMask optional = full_mask(record) & ~required;
    TensorMask chosen = 0;  // enumerates the choices of the optional bits
    do {
      masks.push_back(required | chosen);
      chosen = (chosen - optional) & optional;
    } while (chosen != 0);
  }
  std::vector<Instance> all;
  for (const DType dtype : record.dtypes) {
    for (const TensorMask mask : masks) all.push_back({dtype, mask});
  }
  return all;
}

namespace {

/// Returns null for kDirect.
const Form* find_form(const OpRecord& record, std::string_view name) {
  if (name == kDirect) return nullptr;
  const auto at = std::ranges::find(record.forms, name, &Form::name);
  if (at != record.forms.end()) return &*at;
  throw Error(fmt::format("op {}: unknown form '{}' (known: {})", record.name, name,
                          fmt::join(form_names(record), ", ")));
}

std::shared_ptr<const Program> instantiate_form(const OpRecord& record, const Instance& instance,
                                                const Form* form) {
  const auto all = catalogue();
  const bool listed =
      (&record >= all.data() && &record < all.data() + all.size()) || is_known_gradient(record);
  if (!listed) return build(record, instance, form);
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::string_view, DType, TensorMask>,
                  std::shared_ptr<const Program>>
      programs;
  const std::tuple key(record.name, form != nullptr ? std::string_view(form->name) : kDirect,
                       instance.dtype, instance.input_mask);
  {
    const std::lock_guard lock(mutex);
    const auto found = programs.find(key);
    if (found != programs.end()) return found->second;
  }
  // The program is built without the lock: a gradient instantiates the op that it differentiates.
  // The first one made is kept.
  std::shared_ptr<const Program> program = build(record, instance, form);
  const std::lock_guard lock(mutex);
  return programs.emplace(key, std::move(program)).first->second;
}

}  // namespace

std::vector<std::string> form_names(const OpRecord& record) {
  std::vector<std::string> names = {std::string(kDirect)};
  for (const Form& form : record.forms) names.push_back(form.name);
  return names;
}

bool has_form(const OpRecord& record, std::string_view name) {
  return name == kDirect ||
         std::ranges::find(record.forms, name, &Form::name) != record.forms.end();
}

bool may_multiply_padding(const OpRecord& record) {
  return has_form(record, kPaddingMultiplied) && gradient_order(record) == 0;
}

std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance) {
  return instantiate_form(record, instance, nullptr);
}

std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance,
                                           std::string_view form) {
  return instantiate_form(record, instance, find_form(record, form));
}

}  // namespace mote
