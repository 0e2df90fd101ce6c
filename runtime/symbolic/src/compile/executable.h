// SPDX-License-Identifier: Apache-2.0
// A graph that was compiled for one set of shapes, and the state of an executable, which has one
// for each set of shapes that it has met.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/layout.h"
#include "mote/symbolic/compile.h"
#include "packed_graph.h"

namespace mote {

/// An input, or an output whose memory the caller binds.
struct Bindable {
  TensorForm form;
  GraphTensor tensor;  ///< a default one if no node uses it
};

struct CompiledGraph {
  void bind(std::uint32_t symbol, const Tensor& tensor);

  std::map<std::uint32_t, Bindable> bindable;  ///< by index of the graph that was compiled
  std::vector<std::uint32_t> bound_outputs;
  std::map<std::uint32_t, GraphTensor> outputs;  ///< by index of the graph that was compiled
  std::vector<Tensor> arenas;                    ///< one of bytes for each device of the layout
  Graph graph;
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
  void check_size(std::uint32_t symbol, const TensorForm& form) const;
  const TensorForm* bindable_form(std::uint32_t symbol) const;
  void check_bound() const;
  void compile_for(const SymbolicGraph& graph);
  void learn_shapes();
  void change_shapes();
  CompiledGraph& compiled() const;
  const CompileReport& report() const;
  void run();
  Tensor output(TensorSymbol symbol) const;

  struct Shapes {
    std::vector<TensorForm> inputs;  ///< the forms of all inputs, in the order of symbols
    std::unique_ptr<CompiledGraph> compiled;
    std::uint64_t last_run = 0;
  };

  std::uint32_t identity;  ///< of the graph that was compiled
  PackedGraph source;
  std::vector<std::pair<std::uint32_t, TensorForm>> inputs;  ///< of the source
  std::vector<std::uint32_t> unknown;  ///< inputs of the source that have no shape yet
  CompileOptions options;
  Context* context;
  std::optional<LargestShapes> largest;  ///< if CompileOptions::largest are given
  std::vector<Shapes> shapes;
  CompileReport known;               ///< until the shapes of all inputs are known
  CompiledGraph* current = nullptr;  ///< null until then
  std::map<std::uint32_t, Tensor> bound;
  bool is_checked = false;      ///< check_bound() has seen what is bound
  bool is_other_shape = false;  ///< an input is bound that does not fit the current shapes
  std::uint64_t runs = 0;
};

}  // namespace mote
