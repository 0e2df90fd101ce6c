// SPDX-License-Identifier: Apache-2.0
// Registers the generated table's ops, kernels and gradients.
#include "mote/runtime/catalogue.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/status.h"
#include "registry/kernel_library.h"

namespace mote {
namespace {

[[noreturn]] void fail(const mote_kernel_library& library, const char* op, const char* what) {
  throw StatusError(MOTE_INVALID,
                    "library " + std::string(library.name) + ": op " + op + " " + what);
}

/// Returns the op's instances, with the kernels of both variants; the table holds both,
/// sorted by op.
GeneratedKernels generated_of(std::span<const mote_generated_kernel> all, std::string_view op) {
  const auto op_of = [](const mote_generated_kernel& k) { return std::string_view(k.op); };
  GeneratedKernels kernels;
  for (auto at = std::ranges::lower_bound(all, op, {}, op_of); at != all.end() && op_of(*at) == op;
       ++at) {
    const mote_generated_kernel& k = *at;
    if (current_name(k.variant) != kReference) continue;
    const DType dtype = *parse_dtype(k.dtype);
    const mote_generated_kernel* gen = find_generated(all, op, kGen, dtype, k.input_mask);
    kernels.push_back(
        {dtype, k.input_mask, k.output_mask, gen != nullptr ? &gen->kernel : nullptr, &k.kernel});
  }
  return kernels;
}

bool is_gradient(std::string_view op) { return op.ends_with(".grad"); }

/// Sets the attribute unless an earlier attempt, or the program, has registered it at this level.
template <typename T>
void set_once(Registry& registry, OpId op, const OpAttribute<T>& attribute,
              std::type_identity_t<T> value) {
  if (!registry.is_set(op, attribute)) registry.set(op, attribute, std::move(value));
}

/// Registers an op's attributes. The definition comes last: if it is present, the op is complete.
void register_generated(Registry& registry, OpId id, const mote_op_definition& op,
                        std::span<const mote_generated_kernel> kernels) {
  InPlacePairs pairs;
  for (std::int32_t k = 0; k < op.pair_count; ++k)
    pairs.emplace_back(op.in_place[k].input, op.in_place[k].output);
  registry.include(id, is_gradient(op.name) ? kGradients : op.family);
  set_once(registry, id, kInfer, infer_by_definition(op));
  set_once(registry, id, kInPlace, std::move(pairs));
  set_once(registry, id, kGenerated, generated_of(kernels, op.name));
  registry.set(id, kDefinition, &op);
}

/// Marks the ops through which no gradient flows. mote-gen writes the gradient of every op that has
/// one; a library without any may have been written by hand, and says nothing.
void mark_without_gradient(const mote_kernel_library& library, Registry& registry) {
  if (library.gradient_count == 0) return;
  std::unordered_set<std::string_view> differentiated;
  for (const mote_op_gradient& g : gradients_of(library)) differentiated.insert(g.op);
  for (const mote_op_definition& op : ops_of(library))
    if (!is_gradient(op.name) && !differentiated.contains(op.name))
      set_once(registry, registry.get(op.name), kZeroGradient, true);
}

/// Throws StatusError if an op with another definition has one of the names, or if the whole
/// library is registered already.
void check_new(const mote_kernel_library& library, const Registry& registry) {
  const Column<Definition> definitions = registry.column(kDefinition);
  const char* there = nullptr;
  bool all = true;
  for (const mote_op_definition& op : ops_of(library)) {
    const std::optional<OpId> id = registry.find(op.name);
    const Definition* known = id ? definitions.find(*id) : nullptr;
    if (known != nullptr) there = op.name;
    if (known != nullptr && *known != &op) fail(library, op.name, "is registered already");
    all = all && known != nullptr;
  }
  for (const mote_op_gradient& g : gradients_of(library)) {
    const std::optional<OpId> id = registry.find(g.op);
    all = all && id && registry.is_set(*id, kGradient);
  }
  if (all && there != nullptr) fail(library, there, "is registered already");
}

}  // namespace

void register_library(const mote_kernel_library& library, Registry& registry) {
  check_library(library);
  check_new(library, registry);
  const Column<Definition> definitions = registry.column(kDefinition);
  for (const mote_op_definition& op : ops_of(library)) {
    const OpId id = registry.add(op.name);
    if (definitions.find(id) == nullptr) register_generated(registry, id, op, kernels_of(library));
  }
  mark_without_gradient(library, registry);
  // "gradient" comes last: if all ops have it, the library is registered.
  for (const mote_op_gradient& g : gradients_of(library)) {
    set_once(registry, registry.add(g.gradient), kGradientOf, &g);
    set_once(registry, registry.add(g.op), kGradient, &g);
  }
}

void register_catalogue(Registry& registry) {
  register_library({.name = "mote",
                    .kernels = mote_generated_kernels,
                    .kernel_count = mote_generated_kernel_count,
                    .op_count = mote_op_count,
                    .ops = mote_ops,
                    .gradients = mote_op_gradients,
                    .gradient_count = mote_op_gradient_count},
                   registry);
}

}  // namespace mote
