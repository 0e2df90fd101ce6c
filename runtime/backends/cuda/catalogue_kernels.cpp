// SPDX-License-Identifier: Apache-2.0
#include "catalogue_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mote/base/dlpack.h"
#include "mote/codegen/optional_outputs.h"

namespace mote::cuda {
namespace {

const std::string& input_name(const Uop& u) { return std::get<uop::Input>(u.node().kind).name; }

struct OfOp {
  std::vector<std::unique_ptr<OpInstance>> instances;
};

/// Returns the records that add_ops() has added. They never move.
std::vector<std::unique_ptr<const OpRecord>>& added() {
  static std::vector<std::unique_ptr<const OpRecord>> all;
  return all;
}

bool is_named(const OpRecord& record, std::string_view op) { return record.name == op; }

const OpRecord* record_named(std::string_view op) {
  const auto all = ops_with_kernels();
  const auto found = std::ranges::find_if(all, [&](const OpRecord* r) { return is_named(*r, op); });
  return found == all.end() ? nullptr : *found;
}

/// True if every input of the instance is present, no other is, and the dtypes agree.
bool is_for(const OpInstance& of, const mote_call& call) {
  TensorMask mask = 0;
  for (int k = 0; k < call.input_count; ++k)
    if (call.inputs[k] != nullptr) mask |= mask_bit(static_cast<std::size_t>(k));
  if (mask != of.instance().input_mask) return false;
  for (std::size_t k = 0; k < of.positions().size(); ++k) {
    const DLTensor& t = *call.inputs[of.positions()[k]];
    if (from_dlpack(t.dtype) != of.program().inputs[k].dtype()) return false;
  }
  return true;
}

/// True if the outputs have the instance's dtypes: several instances take the same inputs (casts
/// do), and only the outputs distinguish them.
bool has_outputs_of(const OpInstance& of, const mote_call& call) {
  const auto& outputs = of.program().outputs;
  if (static_cast<int>(outputs.size()) != call.output_count) return false;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (call.outputs[k] != nullptr &&
        from_dlpack(call.outputs[k]->dtype) != outputs[k].value.dtype())
      return false;
  return true;
}

std::vector<Uop> nodes_of(const Program& p) {
  const std::vector<Uop> outputs = roots(p);
  return topological(outputs);
}

bool draws(const Program& p) {
  return std::ranges::any_of(nodes_of(p), [](const Uop& u) {
    const auto* map = std::get_if<uop::Map>(&u.node().kind);
    return map != nullptr && map->op == MapOp::philox;
  });
}

/// Returns the input of which x is an element; nullptr if there is none.
const void* input_of(Uop x) {
  while (const auto* moved = std::get_if<uop::Reindex>(&x.node().kind)) x = moved->x;
  return std::holds_alternative<uop::Input>(x.node().kind) ? x.id() : nullptr;
}

/// True for a sum of products of two inputs' elements, possibly under a condition.
bool sums_products(const Uop& x) {
  const auto* sum = std::get_if<uop::Reduce>(&x.node().kind);
  if (sum == nullptr || sum->op != ReduceOp::sum) return false;
  std::vector<Uop> open = {sum->x};
  while (!open.empty()) {
    const Uop u = open.back();
    open.pop_back();
    const auto* map = std::get_if<uop::Map>(&u.node().kind);
    const bool passes = std::holds_alternative<uop::Reindex>(u.node().kind) ||
                        (map != nullptr && map->op == MapOp::where);
    const std::vector<Uop> args = operands(u);
    if (map != nullptr && map->op == MapOp::mul) {
      const void *const left = input_of(args[0]), *const right = input_of(args[1]);
      if (left != nullptr && right != nullptr && left != right) return true;
    }
    if (passes) open.insert(open.end(), args.begin(), args.end());
  }
  return false;
}

}  // namespace

OpInstance::OpInstance(const OpRecord& record, const Instance& instance, MakeCuda make)
    : record_(record),
      instance_(instance),
      program_(instantiate(record, instance)),
      function_("mote_" + instance_name(record, instance)),
      make_(std::move(make)) {
  for (const Uop& u : program_->inputs) {
    const auto at = std::ranges::find(record.inputs, input_name(u), &InputDecl::name);
    positions_.push_back(static_cast<int>(at - record.inputs.begin()));
  }
}

const CudaProgram& OpInstance::source(Variant variant) const {
  const auto at = static_cast<std::size_t>(variant);
  std::call_once(once_[at], [&] {
    EmitOptions options;
    options.function = function_;
    options.optional_outputs = record_.optional_outputs;
    const LoopProgram loops = compile_for_calls(program_, record_.optional_outputs);
    sources_[at] = make_(loops, draws(*program_) ? Variant::reference : variant, options);
  });
  return sources_[at];
}

bool OpInstance::has(Variant variant) const {
  if (variant != Variant::tf32) return true;
  return instance_.dtype == DType::f32 && source(variant).rounds_to_tf32();
}

bool may_have_tf32(const OpRecord& record) {
  const auto all = instances(record);
  const auto one = std::ranges::find(all, DType::f32, &Instance::dtype);
  return one != all.end() &&
         std::ranges::any_of(nodes_of(*instantiate(record, *one)), sums_products);
}

void add_ops(std::vector<OpRecord> records) {
  for (OpRecord& record : records)
    added().push_back(std::make_unique<const OpRecord>(std::move(record)));
}

std::span<const OpRecord* const> ops_with_kernels() {
  static const std::vector<const OpRecord*> all = [] {
    std::vector<const OpRecord*> made;
    for (const OpRecord* record : generated_ops())
      if (std::ranges::none_of(added(), [&](const auto& a) { return is_named(*a, record->name); }))
        made.push_back(record);
    for (const auto& record : added()) made.push_back(record.get());
    return made;
  }();
  return all;
}

bool is_added_op(const OpRecord& record) {
  return std::ranges::any_of(added(), [&](const auto& a) { return a.get() == &record; });
}

std::span<const std::unique_ptr<OpInstance>> instances_of(std::string_view op) {
  static std::mutex mutex;
  static std::map<std::string, OfOp, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(op); found != known.end()) return found->second.instances;
  OfOp& made = known[std::string(op)];
  if (const OpRecord* record = record_named(op))
    for (const Instance& instance : instances(*record))
      made.instances.push_back(std::make_unique<OpInstance>(*record, instance));
  return made.instances;
}

const OpInstance* find_instance(const mote_call& call, backend::Check& refusal) {
  const auto all = instances_of(call.op);
  if (all.empty()) {
    refusal = backend::unsupported(fmt::format("no op {} in the catalogue", call.op));
    return nullptr;
  }
  const auto inputs = static_cast<int>(all.front()->record().inputs.size());
  if (call.input_count < 0 || call.input_count > inputs) {
    refusal =
        backend::invalid(fmt::format("{} inputs, expected at most {}", call.input_count, inputs));
    return nullptr;
  }
  const OpInstance* same_inputs = nullptr;
  for (const auto& one : all) {
    if (!is_for(*one, call)) continue;
    same_inputs = one.get();
    if (has_outputs_of(*one, call)) return one.get();
  }
  refusal = backend::unsupported(same_inputs != nullptr
                                     ? "no instance of the op has these dtypes of outputs"
                                     : "no instance of the op takes inputs of these dtypes");
  return nullptr;
}

}  // namespace mote::cuda
