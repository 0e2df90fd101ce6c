// From the generated table to the registry.
#include "mote/runtime/catalogue.h"

#include <span>
#include <string_view>

#include "mote/generated/kernels.h"

namespace mote {
namespace {

/// A fast kernel and the oracle's of the same instance; the table holds both.
GeneratedKernels kernels_of(std::string_view op) {
  GeneratedKernels kernels;
  for (const mote_generated_kernel& k : generated_kernels()) {
    if (op != k.op || std::string_view(k.variant) != "oracle") continue;
    const DType dtype = *parse_dtype(k.dtype);
    const mote_generated_kernel* fast = find_generated(op, "fast", dtype, k.input_mask);
    kernels.push_back({dtype, k.input_mask, fast != nullptr ? &fast->kernel : nullptr, &k.kernel});
  }
  return kernels;
}

}  // namespace

void register_catalogue(Registry& registry) {
  for (const mote_op_definition& op :
       std::span(mote_ops, static_cast<std::size_t>(mote_op_count))) {
    InPlacePairs pairs;
    for (std::int32_t k = 0; k < op.pair_count; ++k)
      pairs.emplace_back(op.in_place[k].input, op.in_place[k].output);
    register_op(op.name, registry)
        .include(op.family)
        .set<Definition>(kDefinition, &op)
        .set<InPlacePairs>(kInPlace, std::move(pairs))
        .set<GeneratedKernels>(kGenerated, kernels_of(op.name));
  }
}

}  // namespace mote
