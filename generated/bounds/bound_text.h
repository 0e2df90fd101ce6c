// SPDX-License-Identifier: Apache-2.0
// The files that mote-gen-bounds writes, as text.
#pragma once

#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// The bound of one instance, and its C once generated.
struct BoundKernel {
  const OpRecord* record;
  Instance instance;
  std::string function;
  std::string text = {};         ///< empty if every output is certain, or interpretation is faster
  std::string temporaries = {};  ///< the text for mote_generated_bound
};

/// Returns instances of f32 and f64, sorted by op, dtype, mask. 16-bit reals are accumulated in f32
/// and use its bounds.
std::vector<BoundKernel> bound_kernels();
void emit_kernel(BoundKernel& k);
/// Returns everything that the text depends on, except the generator.
std::string made_from(const BoundKernel& k);
std::vector<std::string*> texts(BoundKernel& k);
std::string bound_helpers_text();
/// Returns the text of a shard; all bounds of an op are in one shard.
std::string bound_shard_text(const std::vector<BoundKernel>& kernels, int shard, int shards);
std::string bound_registry_text(const std::vector<BoundKernel>& kernels);

}  // namespace mote
