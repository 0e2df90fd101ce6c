// SPDX-License-Identifier: Apache-2.0
// A symbolic graph: tensors that have a form and no memory, and the nodes that compute them. Each
// element of a tensor is written at most once (static single assignment), so the order of nodes
// follows from the tensors. A graph is differentiated (gradient.h), rewritten by passes (pass.h),
// printed and read (text.h), and compiled to commands in planned memory (compile.h).
//
//   SymbolicGraph g("mlp");
//   const TensorSymbol x = g.input("x", {DType::f32, {32, 784}});
//   const TensorSymbol w = g.input("w", {DType::f32, {784, 10}});
//   const TensorSymbol h = g.add("matmul", {x, w});
//   g.set_outputs({h});
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/tensor_mask.h"
#include "mote/graph/short_list.h"
#include "mote/runtime/command.h"
#include "mote/runtime/infer.h"
#include "mote/symbolic/attributes.h"
#include "mote/symbolic/function_counts.h"
#include "mote/symbolic/name_index.h"
#include "mote/symbolic/region_index.h"
#include "mote/symbolic/shared_form.h"
#include "mote/symbolic/shared_vector.h"
#include "mote/symbolic/symbol.h"
#include "mote/symbolic/view.h"

namespace MOTE_API mote {

namespace detail {
class Borrower;
class DependencyCache;
class InferenceCache;
}  // namespace detail

/// The origin of a symbol's elements.
enum class SymbolOrigin : std::uint8_t {
  input,     ///< the caller gives them for each run
  constant,  ///< they are part of the graph
  tensor,    ///< nodes write them, whole or by views
  zeros,     ///< they are 0 before nodes write some of them, or all if none does
  view       ///< they are elements of another symbol
};

struct SymbolInfo {
  std::string name;  ///< unique in the graph; empty if it has none
  SymbolOrigin kind = SymbolOrigin::tensor;
  bool removed = false;
  bool has_form = true;               ///< false until the shape of an input is known
  std::uint32_t producer = kNoIndex;  ///< the node that writes exactly this symbol
  std::uint32_t base = kNoIndex;      ///< of a view: the symbol that it is a view of
  std::uint32_t root = kNoIndex;      ///< the symbol whose memory it is; its own index if no view
  std::uint32_t side = kNoIndex;      ///< of a view: its step; of a constant: its value
  std::int64_t offset = 0;  ///< of a view: elements from the root's first to its own first
  SharedForm form;          ///< of a view: its strides are those in the root's memory
};

enum class NodeKind : std::uint8_t {
  command,   ///< an op
  copy,      ///< the elements of its input in the form of its output, cast as copy() does
  fill,      ///< one value
  function,  ///< the caller's code
  control,   ///< a loop or a case..of (control.h)
};

class SymbolicGraph;
struct ControlInfo;

/// A node of a caller's code whose gradient is asked for. Inputs and outputs are the node's.
struct FunctionCall {
  std::span<const TensorSymbol> inputs;
  std::span<const TensorSymbol> outputs;
  std::span<const TensorSymbol> gradients;  ///< of outputs; empty where none comes
  TensorMask wanted = 0;                    ///< bit k: the gradient of input k is asked for
};

/// A caller's code as a node: it is given the tensors of its inputs and outputs, in their order.
struct NamedFunction {
  std::string name;
  std::function<void(std::span<const Tensor> inputs, std::span<const Tensor> outputs)> run;
  /// Appends nodes that compute the gradient, commands or functions, and returns a symbol for each
  /// input, of its dtype and shape; an empty one where no gradient flows. A function without it
  /// cannot be differentiated.
  std::function<std::vector<TensorSymbol>(SymbolicGraph& graph, const FunctionCall& call)>
      gradient = {};
  /// Returns the shapes of the outputs for inputs of these forms, for graphs of other shapes
  /// (SymbolicGraph::with_forms()). Without it they follow as those of tensors do.
  std::function<std::vector<AxisList>(std::span<const TensorForm> inputs)> shapes = {};
  /// Output 0 may be in the memory of input 0, of which it changes a part; the function sees then
  /// that they have one address.
  bool is_in_place = false;
  /// What it computes depends on the shapes of its inputs alone: no gradient flows through it.
  bool reads_shapes_alone = false;
  /// Returns the function that keeps what it computes for its gradient, if it can: it has one
  /// output more, an i64[] that says where. The node gets it when it is differentiated.
  std::function<NamedFunction()> keeping = {};
  /// What the function takes, of which none may be left out. Other calls throw StatusError. Without
  /// it any number is taken, and what is left out is given as an empty tensor.
  std::optional<FunctionCounts> counts = {};
  /// Throws StatusError if the function does not take inputs and outputs of these forms, of which
  /// there are as many as `counts` says. It is asked as soon as all forms are known.
  std::function<void(std::span<const TensorForm> inputs, std::span<const TensorForm> outputs)>
      check = {};
};

struct NodeInfo {
  NodeKind kind = NodeKind::command;
  bool removed = false;
  /// Not 0: the node computes again what another one has computed, in this segment of a
  /// checkpointed graph (checkpoint.h). It is never merged with another node.
  std::uint32_t recomputed = 0;
  std::shared_ptr<const Command> command = {};
  ShortList inputs = {};   ///< indices of symbols; kNoIndex: left out
  ShortList outputs = {};  ///< likewise
  ShortList after = {};    ///< indices of nodes that are done before, without data
  std::shared_ptr<const NamedFunction> function = {};
  std::shared_ptr<const ControlInfo> control = {};
  double value = 0;  ///< of a fill
  std::string name;  ///< empty if it has none
};

/// A loop keeps for its gradient the values of each iteration that the gradient reads; or, of about
/// as many iterations as the square root of their number, the values that they begin with, from
/// which the iterations between them are computed again.
inline constexpr std::int64_t kKeepEach = 0;
inline constexpr std::int64_t kKeepSquareRoot = -1;

struct WhileOptions {
  bool has_counter = false;  ///< the body's last input is an i64[]: the number of the iteration
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< one more is an error
  /// kKeepEach, kKeepSquareRoot, or the most iterations of which the beginning is kept. The
  /// gradient has the same bits. A gradient of it is refused unless all is kept.
  std::int64_t checkpoints = kKeepEach;
};

/// A branch of a case..of, and what its inputs are in the graph around.
struct CaseBranch {
  CaseBranch(SymbolicGraph of, std::vector<TensorSymbol> given);
  std::shared_ptr<SymbolicGraph> graph;
  std::vector<TensorSymbol> inputs;
};

class SymbolicGraph {
 public:
  explicit SymbolicGraph(std::string name = "graph", const Registry& registry = Registry::global());
  /// A copy is a graph of its own: handles of the one are not handles of the other, but a symbol
  /// has the same index in both (at()). Constants share their memory.
  SymbolicGraph(const SymbolicGraph& other);
  SymbolicGraph& operator=(const SymbolicGraph& other);
  SymbolicGraph(SymbolicGraph&&) noexcept;
  SymbolicGraph& operator=(SymbolicGraph&&) noexcept;
  ~SymbolicGraph();

  const std::string& name() const { return name_; }
  void rename_graph(std::string_view name) { name_ = name; }
  const Registry& registry() const { return *registry_; }
  std::uint32_t identity() const { return identity_; }
  /// Grows with each change of the structure.
  std::uint64_t version() const { return version_; }
  /// Values of any type, of the graph, its symbols and its nodes, which are copied with it.
  Attributes attributes() { return {*this, *attributes_}; }
  ConstAttributes attributes() const { return {*this, *attributes_}; }

  /// Takes memory for so many symbols and nodes in all, so that none is moved when they are added.
  void reserve(std::size_t symbols, std::size_t nodes);

  // ---- symbols; a name that another symbol has throws StatusError

  TensorSymbol input(std::string_view name, const TensorForm& form);
  /// Creates an input whose shape set_form() gives later; the forms that depend on it are inferred
  /// then.
  TensorSymbol input(std::string_view name, DType dtype);
  void set_form(TensorSymbol input, const TensorForm& form);
  /// Creates a symbol with that value, which must not change as long as the graph.
  TensorSymbol constant(std::string_view name, const Tensor& value);
  /// Creates a symbol for nodes to write, whole or by disjoint views (write()).
  TensorSymbol tensor(const TensorForm& form, std::string_view name = {});
  /// Creates a symbol whose elements are 0 where no node writes them.
  TensorSymbol zeros(const TensorForm& form, std::string_view name = {});

  TensorSymbol view(TensorSymbol x, const ViewStep& step, std::string_view name = {});
  TensorSymbol slice(TensorSymbol x, int axis, std::int64_t begin, std::int64_t count,
                     std::int64_t step = 1);
  TensorSymbol select(TensorSymbol x, int axis, std::int64_t index);
  TensorSymbol permute(TensorSymbol x, const AxisList& order);
  TensorSymbol broadcast_to(TensorSymbol x, const AxisList& shape);
  TensorSymbol reshape(TensorSymbol x, const AxisList& shape);

  void rename(TensorSymbol symbol, std::string_view name);
  void rename(NodeSymbol node, std::string_view name);

  // ---- nodes

  /// Adds a node and its outputs, whose forms are inferred. `dtype` is that of the instance if it
  /// does not follow from the inputs. Throws StatusError if the inputs do not fit.
  NodeSymbol add_node(const Command& command, std::span<const TensorSymbol> inputs,
                      std::optional<DType> dtype = std::nullopt);
  /// Adds a node and returns its first output.
  TensorSymbol add(const Command& command, std::span<const TensorSymbol> inputs,
                   std::optional<DType> dtype = std::nullopt);
  TensorSymbol add(const Command& command, std::initializer_list<TensorSymbol> inputs,
                   std::optional<DType> dtype = std::nullopt);
  /// Takes a command as text: "matmul", "conv2d stride0=2", "softmax axis=1".
  TensorSymbol add(std::string_view command, std::initializer_list<TensorSymbol> inputs,
                   std::optional<DType> dtype = std::nullopt);
  /// Adds a node that writes existing symbols, which nothing else writes: tensors, zeros, and views
  /// of them. Throws StatusError, with both nodes, if an element would be written twice.
  NodeSymbol write(const Command& command, std::span<const TensorSymbol> inputs,
                   std::span<const TensorSymbol> outputs);
  /// Returns x in another dtype, layout or on another device; the shape is x's.
  TensorSymbol convert(TensorSymbol x, const TensorForm& form);
  NodeSymbol copy(TensorSymbol x, TensorSymbol y);
  NodeSymbol fill(TensorSymbol y, double value);
  NodeSymbol call(NamedFunction function, std::span<const TensorSymbol> inputs,
                  std::span<const TensorSymbol> outputs);
  /// Adds a loop: the body's outputs are the next values of its first inputs, and last the
  /// condition (control.h). The node's outputs are the values that those inputs have when the
  /// condition is 0, the given ones if that is at once. Throws StatusError, with both forms, if
  /// what is carried over has not the form of its input.
  NodeSymbol add_while(SymbolicGraph body, std::span<const TensorSymbol> inputs,
                       const WhileOptions& options = {});
  NodeSymbol add_while(SymbolicGraph body, std::initializer_list<TensorSymbol> inputs,
                       const WhileOptions& options = {});
  /// Adds a choice of one branch by its index, a bool or an integer of one element; none runs if it
  /// is negative: then the outputs are the symbols `otherwise`, and an error where that is left
  /// out.
  NodeSymbol add_case_of(TensorSymbol index, std::vector<CaseBranch> branches,
                         std::span<const TensorSymbol> otherwise = {});
  /// Adds a node with the same graphs, which may be one of another graph. Outputs that are given
  /// are existing tensors, which nothing else writes.
  NodeSymbol add_control_like(const NodeInfo& node, std::span<const TensorSymbol> inputs,
                              std::span<const TensorSymbol> outputs = {});
  /// Makes `after` begin when `before` is done, though no tensor says so. A cycle that results is
  /// found when the order is asked for.
  void order(NodeSymbol before, NodeSymbol after);

  void set_outputs(std::span<const TensorSymbol> outputs);
  void set_outputs(std::initializer_list<TensorSymbol> outputs) {
    set_outputs(std::span(outputs.begin(), outputs.size()));
  }
  std::vector<TensorSymbol> outputs() const;

  /// Returns a copy for inputs of other shapes: everything that follows from them is inferred anew.
  /// A slice that took a whole axis takes the whole new one; a reshape keeps how axes are merged or
  /// split; a tensor that only views or a fill write, and what repeats a tensor, take the new shape
  /// of those that had their old shape. What gradient() has added is what it adds for these shapes.
  /// Throws StatusError, with the symbol or the node, where a shape does not follow, may follow in
  /// two ways (an extent of 1 next to others that is reshaped, an extent that is equal to one that
  /// changes), or does not fit, and where a gradient would have other nodes.
  SymbolicGraph with_forms(std::span<const std::pair<TensorSymbol, TensorForm>> inputs) const;

  // ---- reading; a handle of another graph throws StatusError

  const SymbolInfo& info(TensorSymbol symbol) const { return symbols_[checked(symbol)]; }
  const NodeInfo& info(NodeSymbol node) const { return nodes_[checked(node)]; }
  const TensorForm& form(TensorSymbol symbol) const;
  TensorSymbol root(TensorSymbol symbol) const { return at(info(symbol).root); }
  ViewRegion region(TensorSymbol symbol) const;
  const ViewStep& view_step(TensorSymbol view) const;
  const Tensor& value(TensorSymbol constant) const;
  /// Returns the node that writes exactly this symbol; none for inputs, constants, and symbols that
  /// are written by views.
  NodeSymbol producer(TensorSymbol symbol) const;
  TensorSymbol output(NodeSymbol node, std::size_t k) const;
  /// Returns the symbol of that name. Throws StatusError with near names.
  TensorSymbol find(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Returns a text for messages: "h", or "t12" for a symbol without a name.
  std::string text(TensorSymbol symbol) const;
  /// Returns "node 7 'h' (matmul)".
  std::string text(NodeSymbol node) const;

  /// Returns symbol `index` of this graph, which must be below symbol_count().
  TensorSymbol at(std::uint32_t index) const { return {identity_, index}; }
  NodeSymbol node_at(std::uint32_t index) const { return {identity_, index}; }
  /// The number of symbols and nodes, removed ones included: indices are below it.
  std::size_t symbol_count() const { return symbols_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  /// All by index, removed ones included.
  const std::vector<SymbolInfo>& symbols() const { return symbols_.read(); }
  const std::vector<NodeInfo>& nodes() const { return nodes_.read(); }
  const std::vector<std::uint32_t>& output_indices() const { return outputs_; }
  bool is_output(TensorSymbol symbol) const;

  // ---- rewriting, for passes; indices of what stays do not change

  /// Removes a node; its outputs stay without a producer until they are removed or written.
  void remove(NodeSymbol node);
  /// Removes a symbol that no node, view or output uses any more.
  void remove(TensorSymbol symbol);
  /// Makes every node, view and output that uses `from` use `to`, which has the same shape and
  /// dtype. Takes time in proportion to the graph; replace_uses() does many at once.
  void replace_uses(TensorSymbol from, TensorSymbol to);
  /// Replaces all uses of each pair's first by its second, chains followed to their end.
  void replace_uses(const std::unordered_map<std::uint32_t, std::uint32_t>& by_index);
  /// Makes the node read `symbol` as input k.
  void set_input(NodeSymbol node, std::size_t k, TensorSymbol symbol);
  /// Leaves output k of the node out. The op must allow it (its definition, `optional`).
  void leave_out(NodeSymbol node, std::size_t k);
  /// Makes the nodes `before` those that the node comes after without data, in place of those that
  /// order() has named.
  void set_after(NodeSymbol node, std::span<const NodeSymbol> before);
  /// Makes the node a recomputation of segment `segment`.
  void mark_recomputed(NodeSymbol node, std::uint32_t segment);
  /// Gives a loop or case..of other graphs, with as many inputs and outputs of the same forms.
  void set_control(NodeSymbol node, std::shared_ptr<const ControlInfo> control);
  /// Gives a loop another body, whose first outputs are as before, and other inputs. Returns the
  /// node's outputs that are new.
  std::vector<TensorSymbol> grow_control(NodeSymbol node,
                                         std::shared_ptr<const ControlInfo> control,
                                         std::span<const TensorSymbol> inputs);
  /// Gives a function's node another one that has one output more, an i64[], which is returned.
  TensorSymbol grow_function(NodeSymbol node, NamedFunction function);
  /// Gives a loop a body that does not carry over the values of these numbers, which rise; nothing
  /// uses those outputs of the node.
  void shrink_control(NodeSymbol node, std::shared_ptr<const ControlInfo> control,
                      std::span<const std::size_t> dead);
  /// Turns a symbol that nothing writes any more into a constant of the same form.
  void make_constant(TensorSymbol symbol, const Tensor& value);

 private:
  friend class FormChanger;
  friend class LaterForms;
  friend class PackedGraph;
  friend class detail::Borrower;
  friend class detail::DependencyCache;

  enum class Copying : std::uint8_t { deep, shared };
  SymbolicGraph(const SymbolicGraph& other, Copying how);

  std::uint32_t checked(TensorSymbol symbol) const;
  std::uint32_t checked(NodeSymbol node) const;
  std::string reader_of(std::uint32_t symbol) const;
  void add_name(std::string_view name, std::uint32_t index);
  std::uint32_t index_of(std::string_view name) const;
  std::uint32_t new_symbol(SymbolInfo&& info);
  NodeSymbol new_node(NodeInfo&& info);
  NodeSymbol add_control(NodeInfo node);
  ShortList checked_inputs(std::span<const TensorSymbol> inputs) const;
  /// writer() says what would write the outputs, for messages.
  using Writer = std::function<std::string()>;
  ShortList checked_outputs(std::span<const TensorSymbol> outputs, const Writer& writer) const;
  void check_unwritten(std::uint32_t symbol, const Writer& writer) const;
  std::shared_ptr<const Command> shared(const Command& command);
  const std::vector<TensorForm>* inferred(const Command& command,
                                          std::span<const std::uint32_t> inputs,
                                          std::optional<DType> dtype);
  DType dtype_of(const Command& command, int k, std::span<const std::uint32_t> inputs,
                 std::optional<DType> dtype) const;
  void infer_later(std::uint32_t input);
  void note_write(std::uint32_t view);
  void note_writes();
  void forget_write(std::uint32_t symbol);
  void forget_edges(std::uint32_t node);
  void place_view(SymbolInfo& view, const ViewStep& step);
  void place_views();
  std::vector<std::uint32_t> new_bases(
      const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) const;
  void replace_bases(const std::unordered_map<std::uint32_t, std::uint32_t>& by_index);

  std::string name_;
  const Registry* registry_;
  std::uint32_t identity_;
  std::uint64_t version_ = 0;
  detail::SharedVector<SymbolInfo> symbols_;
  detail::SharedVector<NodeInfo> nodes_;
  std::vector<std::uint32_t> outputs_;
  std::vector<ViewStep> steps_;
  std::vector<Tensor> values_;
  detail::FormPool forms_;
  detail::Shared<detail::NameIndex> by_name_;
  /// The written views of each root, by their regions.
  std::unordered_map<std::uint32_t, RegionIndex> written_views_;
  std::unordered_set<std::uint64_t> ordered_;  ///< the edges of order(), as edge_key()
  /// The last command of each hash: nodes of equal commands share one.
  std::unordered_map<std::size_t, std::shared_ptr<const Command>> commands_;
  std::unique_ptr<detail::AttributeTable> attributes_ = std::make_unique<detail::AttributeTable>();
  std::shared_ptr<detail::DependencyCache> dependencies_;  ///< of this graph only
  std::unique_ptr<detail::InferenceCache> inference_;      ///< of this graph only
};

inline CaseBranch::CaseBranch(SymbolicGraph of, std::vector<TensorSymbol> given)
    : graph(std::make_shared<SymbolicGraph>(std::move(of))), inputs(std::move(given)) {}

}  // namespace mote
