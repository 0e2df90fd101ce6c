// The files that mote-gen writes, as text: helpers, shards, dispatch, registry.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// One instance of one op, and its C once made.
struct Kernel {
  const OpRecord* record;
  Instance instance;
  std::string function;
  std::uint32_t read_mask = 0;  ///< inputs of the record whose data it reads
  std::string text = {};        ///< oracle variant and thunk
  std::string fast = {};        ///< fast variant; empty: the oracle's is as good
  std::string dispatch = {};    ///< chooses among the fast one's compilations
  std::exception_ptr failure = {};

  std::string fast_function() const { return function + "_fast"; }
};

/// The texts of one kernel.
void emit(Kernel& k);

std::string helpers_text();
std::string fast_helpers_text();
/// Kernel k is in shard k % shards: the kernels of one op, alike in size, are spread.
std::string shard_text(const std::vector<Kernel>& kernels, int shard, int shards);
std::string fast_shard_text(const std::vector<Kernel>& kernels, int shard, int shards);
std::string dispatch_text(const std::vector<Kernel>& kernels);
/// The kernels are sorted by op, dtype, mask.
std::string registry_text(const std::vector<Kernel>& kernels);

}  // namespace mote
