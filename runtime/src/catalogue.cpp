// From the generated table to the registry.
#include "mote/runtime/catalogue.h"

#include <span>

namespace mote {

void register_catalogue(Registry& registry) {
  for (const mote_op_definition& op :
       std::span(mote_ops, static_cast<std::size_t>(mote_op_count))) {
    InPlacePairs pairs;
    for (std::int32_t k = 0; k < op.pair_count; ++k)
      pairs.emplace_back(op.in_place[k].input, op.in_place[k].output);
    register_op(op.name, registry)
        .include(op.family)
        .set<Definition>(kDefinition, &op)
        .set<InPlacePairs>(kInPlace, std::move(pairs));
  }
}

}  // namespace mote
