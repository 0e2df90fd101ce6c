// SPDX-License-Identifier: Apache-2.0
// A command that was checked, inferred and planned once for the forms of its inputs, and the table
// of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mote/runtime/bound_call.h"
#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/device.h"
#include "value.h"

namespace mote::trace {

/// Says what the gradient of a command with respect to some inputs reads.
struct GradientReads {
  TensorMask wanted = 0;
  TensorMask inputs = 0;   ///< of which it reads elements
  TensorMask outputs = 0;  ///< likewise
  bool flows = false;      ///< false: the gradient is 0
};

struct Kernel {
  Kernel(const Command& of, std::optional<DType> instance) : command(of), dtype(instance) {}

  std::uint32_t refs = 0;
  std::uint64_t id = 0;  ///< never used again
  Command command;
  std::optional<DType> dtype;
  std::size_t hash = 0;
  std::vector<SharedForm> inputs;   ///< null: left out
  std::vector<SharedForm> outputs;  ///< null: left out
  std::shared_ptr<const KernelPlan> plan;
  std::optional<BoundCall> call;
  std::optional<Device> device;  ///< that of all tensors, if a plug-in offers it
  bool is_on_host = true;        ///< all tensors are
  /// Calls whose output 0 is in the memory of that input, as far as they were asked for; none where
  /// the op does not allow it, or the kernel would be another one.
  std::vector<std::pair<std::size_t, std::optional<BoundCall>>> in_place;
  bool is_random = false;
  std::deque<GradientReads> reads;  ///< those that were asked for; they do not move
  std::uint64_t last_use = 0;
};

inline void drop(Kernel* kernel) noexcept { delete kernel; }

/// The kernels that a graph has used, and the forms of its values.
class KernelTable {
 public:
  explicit KernelTable(Context& context) : context_(&context) {}

  SharedForm form_of(const TensorForm& form);
  /// Infers and plans the command the first time. Throws StatusError as mote::run() does.
  Ref<Kernel> find(const Command& command, std::span<Value* const> inputs,
                   std::optional<DType> dtype);
  const GradientReads& reads(Kernel& kernel, TensorMask wanted);
  /// Returns the call of the same kernel for an output 0 in the memory of input k; null if there is
  /// none.
  BoundCall* in_place(Kernel& kernel, std::size_t k);
  void clear();
  /// Returns the bytes that forms keep for the next values.
  std::size_t unused_bytes() const;

 private:
  void make_room();
  Ref<Kernel> make(const Command& command, std::span<Value* const> inputs,
                   std::optional<DType> dtype);

  Context* context_;
  std::unordered_multimap<std::size_t, Ref<Kernel>> kernels_;
  std::unordered_multimap<std::size_t, SharedForm> forms_;
  std::size_t forms_limit_ = 1024;
  std::vector<bool> random_ops_;  ///< of a registry of that many ops
  std::uint64_t uses_ = 0;
  std::uint64_t made_ = 0;  ///< kernels and forms
};

}  // namespace mote::trace
