// SPDX-License-Identifier: Apache-2.0
// A graph that was compiled for one set of shapes, and the state of an executable, which has one
// for each set of shapes that it has met.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "by_symbol.h"
#include "compile/build.h"
#include "compile/layout.h"
#include "mote/symbolic/compile.h"
#include "packed_graph.h"

namespace mote {

/// The bytes of a tensor, in the order of their devices and addresses.
struct MemoryExtent {
  DLDevice device = {kDLCPU, 0};
  std::uintptr_t low = 0, high = 0;
  std::uint32_t symbol = kNoIndex;  ///< of what is bound

  bool is_empty() const { return low >= high; }
  bool meets(const MemoryExtent& other) const {
    return is_on_same_device(other) && !is_empty() && !other.is_empty() && low < other.high &&
           other.low < high;
  }
  bool ends_after(const MemoryExtent& other) const {
    return is_on_same_device(other) && high > other.high;
  }
  bool is_on_same_device(const MemoryExtent& other) const {
    return device.device_type == other.device.device_type &&
           device.device_id == other.device.device_id;
  }
  friend bool operator<(const MemoryExtent& a, const MemoryExtent& b) {
    return std::tuple(a.device.device_type, a.device.device_id, a.low) <
           std::tuple(b.device.device_type, b.device.device_id, b.low);
  }
};
MemoryExtent extent_of(const Tensor& tensor, std::uint32_t symbol = kNoIndex);

/// Memory of one or several constants that meet each other.
struct ConstantMemory {
  MemoryExtent extent;
  std::string name;  ///< of one of them
};
/// Returns the memory of all constants of the graph and of the graphs in it, in order. None meets
/// another one.
std::vector<ConstantMemory> constant_memory(const SymbolicGraph& graph, const GraphLayout& layout,
                                            const BuiltGraph& built);

/// An input, or an output whose memory the caller binds.
struct Bindable {
  SharedForm form;
  GraphTensor tensor;  ///< a default one if no node uses it
};

struct CompiledGraph {
  void bind(std::uint32_t symbol, const Tensor& tensor);

  BySymbol<Bindable> bindable;  ///< by index of the graph that was compiled
  std::vector<std::uint32_t> bound_outputs;
  std::map<std::uint32_t, GraphTensor> outputs;  ///< by index of the graph that was compiled
  std::vector<Tensor> arenas;                    ///< one of bytes for each device of the layout
  std::vector<ConstantMemory> constants;         ///< if there are bound outputs
  Graph graph;
  bool has_run = false;    ///< run() has ended well
  std::size_t failed = 0;  ///< the graph's runs up to the last that run() saw fail
  CompileReport report;
};

/// The layout and the memory of the largest shapes, which smaller ones use too.
struct LargestShapes {
  GraphLayout layout;
  std::vector<Tensor> arenas;
};

/// Compiles for the shapes that the graph has. With `largest`, an empty one is filled with the
/// layout and the memory; a filled one is used, and where tensors do not fit there, StatusError
/// MOTE_OUT_OF_MEMORY is thrown.
std::unique_ptr<CompiledGraph> compile_shapes(const SymbolicGraph& graph,
                                              const CompileOptions& options, Context& context,
                                              std::optional<LargestShapes>* largest = nullptr);

/// Returns the report of compiling for the shapes that the graph has, and takes no memory for it.
CompileReport plan_shapes(const SymbolicGraph& graph, const CompileOptions& options,
                          Context& context);
/// Returns what can be said of a graph with inputs whose shapes are not known yet: its nodes as
/// they were added, and the memory of tensors whose shapes do not depend on these inputs.
CompileReport plan_known_shapes(const SymbolicGraph& graph, const CompileOptions& options,
                                Context& context);

struct Executable::State {
  State(const SymbolicGraph& graph, const CompileOptions& with, Context& where);

  void check(TensorSymbol symbol) const;
  [[noreturn]] void refuse(std::uint32_t symbol, const std::string& what) const;
  void bind(TensorSymbol symbol, const Tensor& tensor);
  void check_size(std::uint32_t symbol, const Tensor& tensor) const;
  const TensorForm* bindable_form(std::uint32_t symbol) const;
  void check_bound();
  void check_bound_outputs() const;
  bool shares_bound_outputs() const;
  void check_all_bound() const;
  void check_arenas() const;
  void check_constants(std::uint32_t output) const;
  [[noreturn]] void refuse_sharing(std::uint32_t output, std::uint32_t other) const;
  void compile_for(const SymbolicGraph& graph);
  void make_current(CompiledGraph* compiled);
  void learn_shapes();
  void change_shapes();
  CompiledGraph& compiled() const;
  const CompileReport& report() const;
  void run();
  void cancel();
  Tensor output(TensorSymbol symbol) const;

  struct Shapes {
    std::vector<SharedForm> inputs;  ///< the forms of all inputs, in the order of symbols
    std::unique_ptr<CompiledGraph> compiled;
    std::uint64_t last_run = 0;
  };

  /// A tensor that is bound to a symbol: it has this form and address, and keeps its memory alive
  /// if it owns it.
  struct Bound {
    Tensor tensor() const {
      if (owner != nullptr) return *owner;
      return Tensor::over(data, form->dtype, form->shape, form->strides, form->device);
    }

    SharedForm form = {};
    void* data = nullptr;
    std::shared_ptr<Tensor> owner = {};  ///< null if the caller keeps the memory
    MemoryExtent extent = {};
  };

  std::uint32_t identity;  ///< of the graph that was compiled
  PackedGraph source;
  std::vector<std::pair<std::uint32_t, SharedForm>> inputs;  ///< of the source
  std::vector<std::uint32_t> unknown;  ///< inputs of the source that have no shape yet
  CompileOptions options;
  Context* context;
  std::optional<LargestShapes> largest;  ///< if CompileOptions::largest are given
  std::vector<Shapes> shapes;
  CompileReport known;               ///< until the shapes of all inputs are known
  std::mutex current_lock;           ///< held to change `current`, and by cancel()
  CompiledGraph* current = nullptr;  ///< null until then
  BySymbol<Bound> bound;
  std::vector<std::uint32_t> changed;  ///< what was bound since check_bound()
  bool is_other_shape = false;         ///< an input is bound that does not fit the current shapes
  std::uint64_t runs = 0;
  std::atomic<bool> in_use{false};
  std::atomic<bool> is_cancelled{false};  ///< since the last run began
};

/// Takes an executable for one call. Throws StatusError if another call has it.
class InUse {
 public:
  InUse(Executable::State& state, const char* op);
  ~InUse() { state_.in_use.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Executable::State& state_;
};

}  // namespace mote
