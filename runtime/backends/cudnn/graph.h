// SPDX-License-Identifier: Apache-2.0
// A graph of operations for cuDNN's graph API, and the engine that runs it: one that cuDNN's
// heuristic offers and whose notes the contract allows, compiled to a plan.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "describe.h"
#include "descriptor.h"

namespace mote::cudnn {

/// The target of a graph. A device given by its description alone can be asked for engines without
/// a GPU.
struct Target {
  Handle* handle = nullptr;
  std::optional<Descriptor> device = {};
};

/// A graph, built from the first operation to the last; the step that computes it stays valid when
/// the Graph is destroyed.
class Graph {
 public:
  using Dims = std::vector<std::int64_t>;
  /// A tensor of the graph.
  struct Node {
    Descriptor desc;
    Dims dims;
    std::int64_t id;
  };

  /// Adds a tensor of the call, whose address must be a multiple of 16.
  Node tensor(const Tensor& t);
  /// Adds a result that only the next operations read.
  Node between(const Dims& dims, int type = kFloat);
  /// Adds a result of floats that is stored in the workspace because cuDNN requires it to be
  /// stored.
  Node stored(const Dims& dims);
  /// Adds one float, with `rank` axes of extent 1.
  Node number(double value, std::size_t rank);

  struct Norm {
    int mode = kLayerNorm;
    Node x, y;
    std::optional<Node> scale = {}, bias = {};
    std::optional<std::pair<Node, Node>> statistics = {};  ///< mean and 1 / deviation are stored
    double epsilon = 0;
  };
  void norm(const Norm& n);
  struct NormGradient {
    int mode = kLayerNorm;
    Node x, gy, scale, inverse;  ///< 1 / deviation
    std::optional<Node> mean = {};
    Node gx, gscale;
    std::optional<Node> gbias = {};
  };
  void norm_gradient(const NormGradient& n);
  /// y = x * w over the axes after the first two, which are images and channels; w's channels are
  /// those of a group. Pads have the same width before and after.
  struct Convolution {
    Node x, w, y;
    Dims pads, strides, dilations;
  };
  void convolve(const Convolution& c);
  /// Computes c = a b for matrices in the last two axes.
  void matmul(const Node& a, const Node& b, const Node& c);
  /// Computes y as x reduced by kReduceAdd or kReduceMaximum along the axes in which y has fewer
  /// elements: each element of y reduces x's extent / y's extent neighbours.
  void reduce(int by, const Node& x, const Node& y);
  /// Returns the element's index along an axis.
  Node index_along(const Node& like, std::int64_t axis);
  /// Apply a function of one element, or of two: extents of 1 repeat.
  void map_into(const Node& y, int function, const Node& x);
  void map_into(const Node& y, int function, const Node& x, const Node& b);
  Node map(int function, const Node& x);
  Node map(int function, const Node& x, const Node& b);
  /// Returns the same elements in memory, with the extents, strides and dtype of another tensor.
  Node reshaped(const Node& x, const Tensor& as);
  /// Returns condition ? x : otherwise.
  Node select(const Node& condition, const Node& x, const Node& otherwise);

  /// Returns configurations of engines, the heuristic's best first, without those whose numerical
  /// notes the kind's contract forbids: engines that are not deterministic, convert operands to
  /// fewer bits or transform them, and, except for 16-bit reals, use tensor cores.
  std::vector<Descriptor> configurations(const Target& target, Kind kind) const;
  /// Returns a step with the first configuration that compiles and needs at most 256 MiB of
  /// workspace. Plans are kept, since some take a second to compile. Declines if there is none.
  Step step(Handle* handle, Kind kind) const;
  static constexpr std::int64_t kAlignment = 16;  ///< the alignment of all tensors' addresses
  /// True if a tensor may have that address.
  static bool may_lie_at(const void* address);

 private:
  Node made(const Tensor& t, int element, int flag);
  /// `what` holds everything by which it differs from other operations of its kind.
  Descriptor& operation(int kind, const std::vector<std::int64_t>& what);
  void map_into(const Node& y, int function, const Node& x, const Node* b, const Node* condition);
  Descriptor operation_graph(const Target& target) const;

  std::vector<std::int64_t> ids_;
  /// The source of each id: the tensor's slot in the call, its offset in the workspace, or its
  /// value.
  struct Location {
    enum class In : std::uint8_t { call, workspace, host } in = In::call;
    std::size_t at = 0;
    float value = 0;
  };
  std::vector<Location> locations_;
  std::int64_t next_id_ = 1;
  std::size_t stored_bytes_ = 0;
  std::vector<Descriptor> operations_;
  std::list<Descriptor> parts_;  ///< descriptors that operations refer to
  std::string text_;             ///< the tensors and operations: equal graphs have equal text
};

}  // namespace mote::cudnn
