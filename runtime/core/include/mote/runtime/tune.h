// SPDX-License-Identifier: Apache-2.0
// The fastest kernel for a command and tensors of a form: it is measured once on copies and kept in
// a context, and in a file (tuning/tuning_file.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/context.h"

namespace MOTE_API mote {

struct CallTensors;

struct Timing {
  std::string kernel;  ///< "gen", "openblas", "openblas:1" for its second one for the op
  double nanoseconds;  ///< the median time of a run
};

/// The measurements for one signature: a command, dtypes, which inputs are present, and the classes
/// of extents and strides (equal up to 8, else alike in the two highest bits; contiguous or not).
struct TuningEntry {
  Command command;
  std::vector<std::uint64_t> signature;
  std::string example;  ///< the tensors that it was measured with
  std::string kernel;   ///< the fastest
  const mote_kernel* fastest;
  std::vector<Timing> timings;
};

/// The entries by signature. Lookups take no lock, even while entries are added.
class TuningTable {
 public:
  TuningTable();
  ~TuningTable();
  TuningTable(const TuningTable&) = delete;
  TuningTable& operator=(const TuningTable&) = delete;

  /// Returns the fastest kernel for the call, or null.
  const mote_kernel* find(const Command& command, const CallTensors& tensors) const;
  const TuningEntry* find(const Command& command, std::span<const std::uint64_t> signature) const;
  /// Adds the entry, or replaces one of the same signature. Entries are freed with the table.
  void put(TuningEntry entry);
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  std::vector<const TuningEntry*> entries() const;  ///< the current ones, in the order of insertion

 private:
  struct Buckets;

  void grow();

  std::atomic<const Buckets*> buckets_;
  std::atomic<std::size_t> size_{0};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Buckets>>
      all_buckets_;  ///< kept since a reader may still use an old one
  std::vector<std::unique_ptr<const TuningEntry>> all_;  ///< kept for the same reason
};

struct TuningOptions {
  /// The number of measurements of each kernel; fewer once the seconds are over or the kernel is
  /// much slower than the fastest.
  int rounds = 7;
  double seconds = 1;
  /// Repeats measurements that the table has already.
  bool again = false;
};

/// Runs every kernel that takes the call (of the context's backends and the generated ones) on
/// copies of the tensors, and puts the fastest into the context's table, where run() and
/// PreparedCommand find it. The tensors themselves are not written. A kernel that fails is not
/// chosen. Returns the table's entry, valid as long as the context. Throws StatusError if run()
/// would throw one.
const TuningEntry& autotune(const Command& command, std::span<const Tensor* const> inputs,
                            std::span<Tensor* const> outputs, Context& context,
                            const TuningOptions& options = {});
const TuningEntry& autotune(const Command& command, std::initializer_list<const Tensor*> inputs,
                            std::initializer_list<Tensor*> outputs, Context& context,
                            const TuningOptions& options = {});

}  // namespace mote
