// SPDX-License-Identifier: Apache-2.0
// The catalogue's bounds as C: the program that bound() makes, compiled like any other in the
// variant reference.
#include "bound_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "generate.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/generated_by.h"
#include "mote/codegen/passes.h"
#include "mote/generated/bounds.h"
#include "mote/uops/bound.h"

namespace mote {
namespace {

bool is_bounded(const Program& p) {
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    if (!is_certain(p, k)) return true;
  }
  return false;
}

/// True if the program sums only values that data selected: C computes only the selected values,
/// the interpreter computes all candidates.
bool sums_what_is_selected(const std::vector<Uop>& nodes) {
  std::set<const UopNode*> selected;
  bool found = false;
  for (const Uop& u : nodes) {  // operands come first
    const auto is_selected = [&](const Uop& x) { return selected.contains(x.id()); };
    const auto& kind = u.node().kind;
    if (std::holds_alternative<uop::Select>(kind) || std::ranges::any_of(operands(u), is_selected))
      selected.insert(u.id());
    const auto* r = std::get_if<uop::Reduce>(&kind);
    if (r == nullptr) continue;
    if (!is_selected(r->x)) return false;
    found = true;
  }
  return found;
}

/// True if compiled C is faster than interpretation: all sums are of selected values; or there are
/// few nodes, not all of them elementwise, and no sum of reals (the interpreter computes several
/// sums in one sweep), unless there is a product over an axis.
bool is_worth_compiling(const Program& p) {
  const std::vector<Uop> outputs = roots(p);
  const std::vector<Uop> nodes = topological(outputs);
  // The reindex of a scalar, such as a parameter, has one value at all elements.
  const auto is_elementwise = [](const Uop& u) {
    const auto& kind = u.node().kind;
    const auto* r = std::get_if<uop::Reindex>(&kind);
    return std::holds_alternative<uop::Map>(kind) || operands(u).empty() ||
           (r != nullptr && r->x.shape().empty());
  };
  const auto has = [&](ReduceOp op) {
    return std::ranges::any_of(nodes, [&](const Uop& u) {
      const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
      return r != nullptr && r->op == op && is_real(u.dtype());
    });
  };
  if (sums_what_is_selected(nodes)) return true;
  return nodes.size() <= kCompiledNodes && !std::ranges::all_of(nodes, is_elementwise) &&
         (!has(ReduceOp::sum) || has(ReduceOp::prod));
}

std::string temporaries_of(const LoopProgram& loops) {
  std::string text;
  for (const TensorDecl& t : loops.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    Expr elements = 1;
    for (const Expr& extent : t.shape) elements = elements * extent;
    text += (text.empty() ? "" : ";") + elements.to_string();
  }
  return text;
}

/// Replaces mote_min and mote_max. Either of two ends is the lesser about half the time, so that a
/// branch would often be mispredicted.
constexpr std::string_view kEnds = R"(
/* As mote_min and mote_max, without a branch. */
static inline double mote_lesser(double a, double b) {
  const double end = a < b ? a : b;
  return isnan(a) ? a : end;
}
static inline double mote_greater(double a, double b) {
  const double end = a > b ? a : b;
  return isnan(a) ? a : end;
}
#define mote_min mote_lesser
#define mote_max mote_greater
)";

}  // namespace

std::vector<BoundKernel> bound_kernels() {
  std::vector<BoundKernel> kernels;
  for (const OpRecord& record : catalogue()) {
    for (const Instance& instance : instances(record)) {
      if (instance.dtype != DType::f32 && instance.dtype != DType::f64) continue;
      kernels.push_back({&record, instance,
                         fmt::format("mote_bound_{}_{:x}_{}", record.name, instance.input_mask,
                                     name(instance.dtype))});
    }
  }
  std::ranges::sort(kernels, {}, [](const BoundKernel& k) {
    return std::tuple(k.record->name, name(k.instance.dtype), k.instance.input_mask);
  });
  return kernels;
}

void emit_kernel(BoundKernel& k) {
  const auto program = instantiate(*k.record, k.instance);
  if (!is_bounded(*program)) return;
  const auto bounds = std::make_shared<const Program>(bound(*program));
  if (!is_worth_compiling(*bounds)) return;
  EmitOptions options;
  options.function = k.function;
  options.thunk = true;
  for (const InputDecl& input : k.record->inputs) options.call_inputs.push_back(input.name);
  const LoopProgram loops = compile(bounds);
  k.text = emit_c(loops, options);
  k.temporaries = temporaries_of(loops);
}

std::string made_from(const BoundKernel& k) {
  return made_from(k.function, *k.record, *instantiate(*k.record, k.instance));
}

std::vector<std::string*> texts(BoundKernel& k) { return {&k.text, &k.temporaries}; }

std::string bound_helpers_text() {
  return generated_head("Helpers of the generated bounds") +
         "#ifndef MOTE_BOUND_HELPERS_H\n#define MOTE_BOUND_HELPERS_H\n\n" + emit_c_includes() +
         "\n#include \"mote/base/thunk.h\"\n\n" + emit_c_prelude() + "\n" + emit_c_bound_prelude() +
         std::string(kEnds) + "\n#endif\n";
}

std::string bound_shard_text(const std::vector<BoundKernel>& kernels, int shard, int shards) {
  std::string out = generated_head("Error bounds") + "#include \"mote_bound_helpers.h\"\n";
  for (const BoundKernel& k : kernels)
    if (!k.text.empty() && shard_of(*k.record, shards) == shard) out += "\n" + k.text;
  return out;
}

std::string bound_registry_text(const std::vector<BoundKernel>& kernels) {
  std::string out = generated_head("The registry of the generated bounds") +
                    "#include \"mote/base/registry.h\"\n\n"
                    "typedef struct mote_generated_bound {\n"
                    "  mote_generated_kernel kernel;\n"
                    "  const char *temporaries;\n"
                    "} mote_generated_bound;\n"
                    "extern const mote_generated_bound mote_bounds[];\n"
                    "extern const int32_t mote_bound_count;\n\n";
  std::string rows;
  int count = 0;
  for (const BoundKernel& k : kernels) {
    if (k.text.empty()) continue;
    ++count;
    out += fmt::format(
        "mote_status {0}_can_run(const mote_call *call);\n"
        "mote_status {0}_run(const mote_call *call, void *stream);\n"
        "mote_status {0}_run_checked(const mote_call *call, void *stream);\n",
        k.function);
    rows += fmt::format(
        "    {{{{\"{0}\", \"bound\", \"{1}\", {2:#x}u, 0, 0,\n"
        "      {{sizeof(mote_kernel), \"{0}\", NULL, {3}_can_run, NULL, {3}_run, "
        "{3}_run_checked}}}}, \"{4}\"}},\n",
        k.record->name, name(k.instance.dtype), k.instance.input_mask, k.function, k.temporaries);
  }
  return out + fmt::format(
                   "\nconst mote_generated_bound mote_bounds[] = {{\n{}}};\n"
                   "const int32_t mote_bound_count = {};\n",
                   rows, count);
}

}  // namespace mote
