// From the generated table to the registry.
#include "mote/runtime/catalogue.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "mote/generated/kernels.h"
#include "mote/runtime/infer.h"

namespace mote {
namespace {

/// A fast kernel and the oracle's of the same instance; the table holds both, sorted by op.
GeneratedKernels kernels_of(std::span<const mote_generated_kernel> all, std::string_view op) {
  const auto op_of = [](const mote_generated_kernel& k) { return std::string_view(k.op); };
  GeneratedKernels kernels;
  for (const mote_generated_kernel& k : std::ranges::equal_range(all, op, {}, op_of)) {
    if (std::string_view(k.variant) != "oracle") continue;
    const DType dtype = *parse_dtype(k.dtype);
    const mote_generated_kernel* fast = find_generated(all, op, "fast", dtype, k.input_mask);
    kernels.push_back(
        {dtype, k.input_mask, k.output_mask, fast != nullptr ? &fast->kernel : nullptr, &k.kernel});
  }
  return kernels;
}

bool is_gradient(std::string_view op) { return op.ends_with(".grad"); }

}  // namespace

void register_library(const mote_kernel_library& library, Registry& registry) {
  const std::span kernels(library.kernels, static_cast<std::size_t>(library.kernel_count));
  for (const mote_op_definition& op :
       std::span(library.ops, static_cast<std::size_t>(library.op_count))) {
    InPlacePairs pairs;
    for (std::int32_t k = 0; k < op.pair_count; ++k)
      pairs.emplace_back(op.in_place[k].input, op.in_place[k].output);
    register_op(op.name, registry)
        .include(is_gradient(op.name) ? kGradients : op.family)
        .set<Definition>(kDefinition, &op)
        .set<InferShapes>(kInfer, infer_by_definition(op))
        .set<InPlacePairs>(kInPlace, std::move(pairs))
        .set<GeneratedKernels>(kGenerated, kernels_of(kernels, op.name));
  }
  for (const mote_op_gradient& g :
       std::span(library.gradients, static_cast<std::size_t>(library.gradient_count)))
    register_op(g.op, registry).set<Gradient>(kGradient, &g);
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
