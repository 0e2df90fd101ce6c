// SPDX-License-Identifier: Apache-2.0
// The files that mote-gen writes, as text: helpers, shards, dispatch, registry.
#pragma once

#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// One instance of one op, and its C once generated.
struct Kernel {
  const OpRecord* record;
  Instance instance;
  std::string function;
  TensorMask read_mask = 0;    ///< inputs of the record whose data it reads
  TensorMask output_mask = 0;  ///< outputs of the record that it has
  std::string text = {};       ///< the reference and the thunk
  std::string gen = {};        ///< the variant gen; empty: the reference is as good
  std::string wide = {};       ///< a gradient's versions with 64-byte vectors; empty: it has none
  std::string dispatch = {};   ///< chooses among the gen one's compilations

  std::string gen_function() const { return function + "_gen"; }
};

/// Fills in the texts of one kernel.
void emit_kernel(Kernel& k);
/// Returns everything that the texts depend on, except the generator, as text; fills in the masks.
std::string made_from(Kernel& k);
std::vector<std::string*> texts(Kernel& k);

std::string helpers_text();
std::string gen_helpers_text();
/// Gradients have shards of their own: their gen variant is compiled for fewer levels.
enum class Part : std::uint8_t { ops, gradients };
/// Returns the text of a shard. All kernels of an op are in one shard of the part, which the op's
/// name determines.
std::string shard_text(const std::vector<Kernel>& kernels, Part part, int shard, int shards);
std::string gen_shard_text(const std::vector<Kernel>& kernels, Part part, int shard, int shards);
std::string dispatch_text(const std::vector<Kernel>& kernels);
/// Returns the kernels' table under that name. The kernels are sorted by op, dtype, mask.
std::string registry_text(const std::vector<Kernel>& kernels, const std::string& table);

}  // namespace mote
