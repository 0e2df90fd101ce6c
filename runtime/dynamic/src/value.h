// SPDX-License-Identifier: Apache-2.0
// The parts of a trace: values, each a tensor that is written once, and steps, which compute
// values from values. A value owns the step that computes it, and a step owns the values that it
// reads, so that what no variable can reach is gone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "mote/base/tensor_mask.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/symbolic_graph.h"
#include "ref.h"

namespace mote {
class TapeStore;
}

namespace mote::trace {

struct GraphWork;
struct Handle;
struct Kernel;
struct State;
struct Step;
struct Value;

void drop(Value* value) noexcept;
void drop(Step* step) noexcept;

/// True if elements share memory, because axes of the tensor have stride 0.
inline bool repeats(const TensorForm& form) {
  for (int axis = 0; axis < form.shape.size(); ++axis)
    if (form.shape[axis] > 1 && form.strides[axis] == 0) return true;
  return false;
}

/// A form that values share: two values of a graph have the same form if they point to the same
/// one.
struct Form {
  TensorForm form;
  std::size_t hash = 0;
  std::size_t bytes = 0;
  std::uint64_t id = 0;  ///< of all forms of a graph, never used again
  bool is_real = false;
  /// Small tensors of this form with memory that nothing else has, for the next values. The graph's
  /// lock guards them. The list is a heap, the lowest address on top.
  mutable std::vector<std::unique_ptr<Tensor>> unused;
};
using SharedForm = std::shared_ptr<const Form>;
inline constexpr std::size_t kMaxUnused = 1024;

struct Value {
  State* state = nullptr;
  std::uint64_t id = 0;  ///< rises in the order in which values and steps are made; never again
  // What walks over the trace read stands together. The next two belong to the last walk.
  std::uint64_t walk = 0;
  std::uint32_t number = 0;
  std::uint32_t refs = 0;
  Ref<Step> producer;         ///< none: it is given, or what it came from does not matter
  Step* hidden_by = nullptr;  ///< the step that owns it as one of its hidden outputs
  SharedForm form;
  std::unique_ptr<Tensor> tensor;  ///< none: it is pending, or was dropped
  std::uint32_t handles = 0;       ///< the variables whose value it is
  bool is_traced = false;
  bool is_in_memo = false;  ///< equal commands that read it are remembered
  bool is_memo_result = false;
  bool is_own_memory = false;  ///< its tensor was made for its form
  bool is_dropped = false;     ///< gradients compute it again, although it is still pending
  bool has_failed = false;     ///< it stays pending until somebody looks at it
  std::uint32_t pins = 0;      ///< the reads that need its elements: by gradients and pending steps
  std::uint32_t held = 0;      ///< those of the pins that end soon: its memory must not go before
  std::uint32_t pending_reads = 0;  ///< those of the pins that pending steps have
  bool is_waiting = false;          ///< waiting_bytes are in State::waiting_bytes
  std::uint32_t output = 0;         ///< which one of its step's
  std::uint64_t on_device = 0;      ///< the command of its device that computes it; 0: none
  std::size_t waiting_bytes = 0;    ///< those that its tensor keeps: of a view, those of the whole
  Value* previous = nullptr;        ///< in the list of all values
  Value* next = nullptr;
  Value* next_dead = nullptr;  ///< in the list of those that go
  bool is_unseen = false;      ///< it is in the list of State::unseen
  Value* previous_unseen = nullptr;
  Value* next_unseen = nullptr;
};

/// A list of values, of which most steps have few.
class ValueList {
 public:
  explicit ValueList(std::size_t size = 0) : size_(size) {
    if (size > kInside) more_ = std::make_unique<Value*[]>(size);
  }
  std::size_t size() const { return size_; }
  Value** begin() { return more_ ? more_.get() : inside_.data(); }
  Value** end() { return begin() + size_; }
  Value* const* begin() const { return more_ ? more_.get() : inside_.data(); }
  Value* const* end() const { return begin() + size_; }
  Value*& operator[](std::size_t k) { return begin()[k]; }
  Value* operator[](std::size_t k) const { return begin()[k]; }

 private:
  static constexpr std::size_t kInside = 4;
  std::size_t size_;
  std::array<Value*, kInside> inside_{};
  std::unique_ptr<Value*[]> more_;
};

/// y = x as a conversion of dtype, layout or device.
struct Conversion {
  SharedForm form;
};
/// A call of the caller's code.
struct FunctionWork {
  std::shared_ptr<const NamedFunction> function;
  std::vector<SharedForm> outputs;
};
using Work =
    std::variant<Ref<Kernel>, ViewStep, Conversion, std::shared_ptr<GraphWork>, FunctionWork>;

struct Step {
  State* state = nullptr;
  std::uint64_t id = 0;
  // What walks over the trace read stands together.
  std::uint64_t walk = 0;  ///< the last walk over the trace that came here
  std::uint32_t refs = 0;  ///< its outputs that exist
  bool is_pending = false;
  bool is_traced = false;
  bool pins_rest = false;         ///< inputs that no mask holds stay too
  bool is_in_checkpoint = false;  ///< its gradient computes again what it reads and does not pin
  ValueList inputs;               ///< owned; null: left out
  ValueList outputs;              ///< not owned; null: left out, or gone
  Work work;
  std::thread::id runner = {};     ///< the thread that runs it without the lock
  TensorMask pinned_inputs = 0;    ///< those that its gradient reads
  TensorMask pinned_outputs = 0;   ///< likewise
  std::vector<Ref<Value>> hidden;  ///< outputs that only its gradient reads
  /// The steps whose hidden outputs it reads: a gradient with respect to what they read goes on
  /// through them.
  std::vector<Ref<Step>> sources;
  std::vector<std::shared_ptr<TapeStore>> tapes;  ///< of its run, which its gradient reads
  std::size_t tape_bytes = 0;
  Step* previous = nullptr;  ///< in the list of all steps
  Step* next = nullptr;
  Step* next_dead = nullptr;  ///< in the list of those that go
};

/// The variable that another one is a view of.
struct ViewOf {
  Handle* base;  ///< owned
  Handle* root;  ///< the variable that is no view, at the end of the bases
  ViewStep view;
  std::uint64_t base_version;  ///< the version of the base that the variable's value is a view of
  std::uint64_t root_writes;   ///< those of the root when the value was that of the base's last
  bool is_traced;              ///< it was not made within a NoGradient
};

/// A variable.
struct Handle {
  State* state = nullptr;
  std::atomic<std::uint32_t> refs{1};
  Value* value = nullptr;  ///< owned, and counted in its `handles`
  std::uint64_t version = 0;
  bool is_parameter = false;  ///< of DynamicGraph::variable()
  /// The value before, if other variables still named values between the two: once these are gone,
  /// the present value is as good as given.
  Ref<Value> previous = {};
  std::unique_ptr<ViewOf> view_of;   ///< null: it is no view
  std::uint32_t views = 0;           ///< the variables that are views of it
  std::uint64_t writes = 0;          ///< to it and to all that are views of it, through others too
  std::unique_ptr<AxisList> joined;  ///< strides in which a view that joins repeating axes is one
};

}  // namespace mote::trace
