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
GeneratedKernels kernels_of(std::string_view op) {
  const auto op_of = [](const mote_generated_kernel& k) { return std::string_view(k.op); };
  GeneratedKernels kernels;
  for (const mote_generated_kernel& k :
       std::ranges::equal_range(generated_kernels(), op, {}, op_of)) {
    if (std::string_view(k.variant) != "oracle") continue;
    const DType dtype = *parse_dtype(k.dtype);
    const mote_generated_kernel* fast = find_generated(op, "fast", dtype, k.input_mask);
    kernels.push_back({dtype, k.input_mask, fast != nullptr ? &fast->kernel : nullptr, &k.kernel});
  }
  return kernels;
}

bool is_gradient(std::string_view op) { return op.ends_with(".grad"); }

}  // namespace

void register_catalogue(Registry& registry) {
  for (const mote_op_definition& op :
       std::span(mote_ops, static_cast<std::size_t>(mote_op_count))) {
    InPlacePairs pairs;
    for (std::int32_t k = 0; k < op.pair_count; ++k)
      pairs.emplace_back(op.in_place[k].input, op.in_place[k].output);
    register_op(op.name, registry)
        .include(is_gradient(op.name) ? kGradients : op.family)
        .set<Definition>(kDefinition, &op)
        .set<InferShapes>(kInfer, infer_by_definition(op))
        .set<InPlacePairs>(kInPlace, std::move(pairs))
        .set<GeneratedKernels>(kGenerated, kernels_of(op.name));
  }
  for (const mote_op_gradient& g :
       std::span(mote_op_gradients, static_cast<std::size_t>(mote_op_gradient_count)))
    register_op(g.op, registry).set<Gradient>(kGradient, &g);
}

}  // namespace mote
