// SPDX-License-Identifier: Apache-2.0
// The state of a dynamic graph: its trace, and all that is kept to run it again. Functions that
// take the lock give it up while they run the caller's code; all others are called under it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device_queue.h"
#include "graph_cache.h"
#include "graph_mutex.h"
#include "kernel.h"
#include "memo.h"
#include "mote/dynamic/dynamic_graph.h"
#include "pool.h"
#include "value.h"

namespace mote::trace {

using Lock = std::unique_lock<GraphMutex>;

/// Makes code that runs now trace what it does, although it may be run within a NoGradient: when it
/// runs depends on when a value is looked at.
class Tracing {
 public:
  Tracing();
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

 private:
  int no_gradients_;
};

/// Gives the lock up as long as it exists, for the caller's code.
class Unlocked {
 public:
  explicit Unlocked(Lock& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Lock& lock_;
  Tracing tracing_;
};

/// The values that a step has computed; null where an output is left out.
using Results = std::vector<Ref<Value>>;
/// Fewer steps are not worth looking for those that no gradient can need.
inline constexpr std::size_t kFewSteps = 64;
/// The values that a command has computed: mostly one.
class CommandResults {
 public:
  explicit CommandResults(std::size_t size) : size_(size) {
    if (size > 1) more_.resize(size);
  }
  explicit CommandResults(std::span<const Ref<Value>> values) : CommandResults(values.size()) {
    std::ranges::copy(values, all().begin());
  }
  std::span<Ref<Value>> all() { return size_ == 1 ? std::span(&one_, 1) : std::span(more_); }
  std::span<const Ref<Value>> all() const {
    return size_ == 1 ? std::span(&one_, 1) : std::span(more_);
  }
  const Ref<Value>& operator[](std::size_t k) const { return all()[k]; }

 private:
  std::size_t size_;
  Ref<Value> one_;
  std::vector<Ref<Value>> more_;
};

class Kept;

/// A command that is about to write over its input.
struct Overwriting {
  Ref<Kernel> kernel = {};
  BoundCall* call = nullptr;  ///< the kernel's
  Ref<Value> made = {};       ///< the value that it computes; null: it must not write there
};

struct State {
  State(Context& with, const DynamicOptions& of);
  ~State();

  void retain() { owners.fetch_add(1, std::memory_order_relaxed); }
  void release(std::uint32_t count = 1) noexcept;
  void retain_graph() {
    retain();
    graph_handles.fetch_add(1, std::memory_order_relaxed);
  }
  /// Behind the last DynamicGraph no compiled graph keeps code of the caller's: that may have
  /// variables of this graph, which would keep it for ever.
  void release_graph() noexcept;

  // ---- variables (variables.cpp)

  Variable give(Ref<Value> value);
  void release(Handle* handle) noexcept;
  /// Returns the variable's value; a view gets that of its base's present value.
  Value* current(Handle& handle) {
    if (handle.view_of && handle.view_of->root_writes != handle.view_of->root->writes)
      see_writes(handle);
    return handle.value;
  }
  void see_writes(Handle& handle);
  /// Returns the value of the variable, which must be one of this graph; null for none.
  Value* operand(const Variable* variable, const char* op);
  void set_value(Handle& handle, const Ref<Value>& value);
  /// Does that for a variable without views, or whose views have seen that their base has changed.
  void name_value(Handle& handle, const Ref<Value>& value);
  /// Puts the value in the list of those that variables have and that have no memory, or takes it
  /// out.
  void count_unseen(Value& value) noexcept;
  /// Makes the present value one that is given, if it is a function only of the old one, which
  /// nothing names any more.
  void forget_old(Handle& handle, const Ref<Value>& old) noexcept;
  /// Does that for the last write, after which other variables had values between the two.
  void forget_previous(Handle& handle) noexcept;
  /// Stops tracing the steps of which no gradient can be asked for, since nothing that they were
  /// computed from has a variable.
  void forget_unasked();
  /// Does that in a long trace.
  void forget_on_the_way() {
    if (step_count >= steps_to_look_at) forget_unasked();
  }
  static State& of(const DynamicGraph& graph) { return *graph.state_; }
  /// `what` assigns, for messages.
  void assign(Lock& lock, Handle& handle, const Ref<Value>& value, const char* what);
  /// Returns a new tensor with that number as each element.
  Tensor filled(const Form& form, double value);
  /// Returns a constant of one element and no axes on the form's device, of its dtype.
  Ref<Value> scalar(const TensorForm& like, double value);
  Variable view_of(Handle& base, const ViewStep& step);

  // ---- values (values.cpp)

  Ref<Value> make_value(SharedForm form, const std::optional<Tensor>& tensor, bool is_traced);
  Ref<Value> make_value_with_memory(const SharedForm& form, bool is_traced);
  void free_memory(Value& value) noexcept;
  /// Copies the elements of values that lie in the memory of these tensors, which will change.
  void give_own_memory(std::span<const Tensor> lent);
  /// Returns a new tensor of that form.
  Tensor allocate(const Form& form);
  std::vector<Tensor> allocate(std::span<const SharedForm> forms);
  /// Adds a step with these inputs and outputs, which it owns and computes.
  Step* make_step(Work work, std::span<Value* const> inputs, std::span<const Ref<Value>> outputs,
                  bool is_traced, bool is_pending);
  void pin(Value& value) { ++value.pins; }
  void unpin(Value& value);
  /// Notes that a pending step reads the value, or that one that did has run or is gone.
  void add_pending_read(Value& value);
  void end_pending_read(Value& value);
  /// Counts the value's bytes in waiting_bytes, or does so no more.
  void count_waiting(Value& value) noexcept;
  /// Makes the values forget the step, which has run and which no gradient needs.
  void forget(Step& step);
  void stop_tracing(Step& step);
  /// Notes that a pending step has run.
  void set_done(Step& step);
  bool keep_for_gradient(Value& value) noexcept;
  void free_dead() noexcept;
  void drop_memory_if_unneeded(Value& value) noexcept;
  std::size_t pin_count(const Step& step, std::size_t input) const;

  // ---- writes (write.cpp)

  std::shared_ptr<GraphWork> replacing(const SharedForm& whole, const SharedForm& part,
                                       std::span<const ViewStep> views, const AxisList& strides);
  AxisList packed_strides(const Handle& handle) const;
  void keep_joined(Handle& base, const ViewStep& step);
  Ref<Value> view_or_copy(Value& x, const ViewStep& step, bool is_traced);
  static Handle* last_copy(Handle& handle, const TensorForm& root);
  void assign_copy(Lock& lock, Handle& handle, Handle& copy, const Ref<Value>& value,
                   const char* what);
  Overwriting prepare_over(Handle& handle, const Command& command, std::span<Value* const> inputs,
                           std::size_t k, bool is_required);
  void finish_over(const Overwriting& over, std::span<Value* const> inputs, std::size_t k);
  Ref<Value> run_over(Handle& handle, const Command& command, std::span<Value* const> inputs,
                      std::size_t k, bool is_required);
  bool stays_parameter(const Handle& handle) const;
  Ref<Value> as_written(Handle& handle, const Ref<Value>& value);
  Ref<Value> with_views(const Handle& handle, const Ref<Value>& value);
  void take_memory(Value& value);
  void run_to(Lock& lock, Handle& handle, const Command& command, std::span<Value* const> inputs);

  // ---- sums of gradients (accumulate.cpp)

  struct Sum;
  void prepare_sum(Lock& lock, Sum& sum);
  void add_to(Lock& lock, std::span<Handle* const> handles, std::span<const Ref<Value>> terms);

  // ---- steps (record.cpp)

  CommandResults run(Lock& lock, const Command& command, std::span<Value* const> inputs,
                     std::optional<DType> dtype);
  Results run_graph(Lock& lock, const std::shared_ptr<GraphWork>& work,
                    std::span<Value* const> inputs, bool is_traced);
  Results run_function(Lock& lock, const std::shared_ptr<const NamedFunction>& function,
                       std::span<Value* const> inputs, std::span<const SharedForm> outputs);
  Ref<Value> view(Value& x, const ViewStep& step, bool is_traced);
  Ref<Value> convert(Value& x, const SharedForm& form);
  /// Computes the outputs, null where one is left out, now. All have memory.
  /// On a device this does not wait: the outputs' values get the number that it returns.
  std::uint64_t call(Kernel& kernel, std::span<Value* const> inputs,
                     std::span<const Tensor* const> outputs);
  CommandResults compute(Kernel& kernel, std::span<Value* const> inputs, bool is_traced,
                         bool is_pending);
  void run_work(Lock& lock, GraphWork& work, std::span<Value* const> inputs,
                std::span<const Tensor> outputs);
  void call_function(Lock& lock, const NamedFunction& function, std::span<Value* const> inputs,
                     std::span<const Tensor> outputs);
  Results make_values(std::span<const SharedForm> forms, std::span<const Tensor> tensors,
                      bool is_traced);
  void hide(Step& step, std::span<const Ref<Value>> outputs);
  void set_tensor(Value& value, std::unique_ptr<Tensor> tensor) noexcept;
  /// Returns the mask of the inputs that gradients may be asked for.
  TensorMask wanted_of(std::span<Value* const> inputs) const;
  /// Makes the values stay that the step's gradient reads.
  void pin_reads(Step& step, const GradientReads& reads);
  bool traces(std::span<Value* const> inputs) const;
  const GradientReads* reads_of(Kernel& kernel, std::span<Value* const> inputs);
  /// In deferred mode steps are pending; so are those that read pending values.
  bool defers(std::span<Value* const> inputs) const;
  void limit_pending(Lock& lock);
  void finish(Lock& lock);
  /// Computes those of the values of which nothing fails.
  void compute_each(Lock& lock, std::span<const Ref<Value>> values);

  // ---- commands that devices run (devices.cpp)

  DeviceQueue& queue_of(const Device& device);
  /// Gives the kernel's call to its device. Returns the command's number in the device's queue.
  std::uint64_t call_on_device(Kernel& kernel, BoundCall& call, std::span<Value* const> inputs,
                               std::span<const Tensor* const> outputs);
  /// Waits for all commands.
  void wait_for_devices() noexcept;
  /// Throws the error of a command that was to compute one of the values, if it is known by now.
  void check_devices(std::span<Value* const> read);
  /// Waits if a value or tensor is on a device, and throws the error of a command that was to
  /// compute one of the values. Who uses memory of a device otherwise than by commands does that
  /// first.
  void wait_for_devices(std::span<Value* const> read, std::span<const Tensor> written = {});
  /// Returns whether nothing but a value has the tensor's memory.
  bool has_one_owner(const Tensor& tensor) const;

  // ---- what is pending or was dropped (evaluate.cpp, wait.cpp)

  void wait_for(Lock& lock, const Step& running);
  void end_waits() noexcept;
  void run_functions(Lock& lock, std::span<Step* const> steps, std::list<Kept>& computed);
  /// Computes the values that have no memory. Who needs them behind it keeps them meanwhile.
  void evaluate(Lock& lock, std::span<Value* const> wanted);
  void evaluate(Lock& lock, Value& wanted) {
    Value* const one = &wanted;
    if (!wanted.tensor) evaluate(lock, std::span(&one, 1));
  }
  /// Returns the steps whose values have no memory and that these values need.
  std::vector<Step*> missing(std::span<Value* const> wanted);
  std::vector<Ref<Value>> pending_of_variables();

  // ---- gradients (backward.cpp, checkpoint.cpp)

  Results backward(Lock& lock, std::span<Value* const> of, std::span<Value* const> wrt,
                   std::span<Value* const> seeds, bool is_traced);
  bool depends(Value& y, Value& x);
  void drop_between(std::uint64_t first, std::span<const Ref<Value>> kept);
  void limit_saved();
  /// Stops when no more than `least` bytes are saved.
  void drop_every_other(std::size_t least);

  DynamicStatistics statistics();
  std::vector<KeptMemory> kept_memory();
  std::uint64_t new_id() { return ++last_id; }

  std::atomic<std::uint32_t> owners{1};
  std::atomic<std::uint32_t> graph_handles{0};  ///< those of the owners that are DynamicGraphs
  GraphMutex mutex;
  Context* context;
  DynamicOptions options;
  std::unique_ptr<Pool, LetGo> pool;
  std::vector<std::unique_ptr<DeviceQueue>> queues;  ///< one for each device that was used
  Allocator allocator;
  std::condition_variable_any ran;  ///< steps that ran without the lock are done
  KernelTable kernels;
  GraphCache graphs;
  Memo memo;
  std::vector<std::pair<double, Ref<Value>>> scalars;  ///< the latest
  Step* steps = nullptr;                               ///< the latest
  Value* all_values = nullptr;                         ///< the latest
  Value* unseen = nullptr;  ///< those that variables have and that have no memory
  Value* dead_values = nullptr;
  Step* dead_steps = nullptr;
  bool is_freeing = false;
  std::uint64_t last_id = 0;
  std::uint64_t last_walk = 0;
  std::size_t variables = 0;
  std::size_t values = 0;
  std::size_t step_count = 0;
  std::size_t pending_steps = 0;
  /// The number of steps from which on unasked ones are looked for: twice as many as there were
  /// when they were looked for last, so that a step costs the same in a long trace.
  std::size_t steps_to_look_at = kFewSteps;
  bool has_lost_names =
      false;  ///< a traced value has lost its last variable since they were looked for
  std::size_t pending_bytes = 0;  ///< of the outputs of pending steps
  std::size_t waiting_bytes =
      0;  ///< of values with memory that pending steps read and no variable has
  std::size_t saved_bytes = 0;      ///< of values with memory that no variable has, and of tapes
  std::size_t saved_threshold = 0;  ///< fewer cannot be dropped
  std::size_t computed_again = 0;
  std::size_t forgotten = 0;  ///< steps that no gradient can need
};

/// Returns the command, function, view or graph of the step, for messages.
std::string text_of(const Step& step);

/// Keeps values and their memory as long as it exists, while the lock may be given up.
class Kept {
 public:
  Kept(State& state, std::span<Value* const> values) : state_(state) {
    values_.reserve(values.size());  // behind a failure nothing would end what it keeps
    for (Value* value : values) {
      if (value == nullptr) continue;
      values_.emplace_back(value);
      ++value->held;
      state_.pin(*value);
    }
  }
  ~Kept() {
    for (const Ref<Value>& value : values_) {
      --value->held;
      state_.unpin(*value);
    }
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  State& state_;
  std::vector<Ref<Value>> values_;
};

/// True while a NoGradient exists in this thread.
bool has_no_gradient();

}  // namespace mote::trace
