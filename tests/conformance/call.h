// SPDX-License-Identifier: Apache-2.0
// One node of a model as an adapter sees it: its inputs, its attributes by name with their
// defaults, and short functions that run mote's ops on tensors of any rank.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels.h"
#include "model.h"
#include "shapes.h"

namespace mote::onnx {

class Call {
 public:
  Call(const Node& node, std::int64_t opset, std::vector<const Array*> inputs, Kernels& kernels)
      : node_(node), opset_(opset), inputs_(std::move(inputs)), kernels_(kernels) {}

  const Node& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  Kernels& kernels() const { return kernels_; }

  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k] != nullptr; }
  const Array* find(std::size_t k) const { return has(k) ? inputs_[k] : nullptr; }
  const Array& in(std::size_t k) const;  ///< Throws mote::Error if it is absent.
  DType dtype() const { return in(0).dtype; }
  bool wants(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }

  bool has_attribute(const std::string& name) const { return node_.attributes.contains(name); }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
  double real(const std::string& name, double otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  Dims dims(const std::string& name, const Dims& otherwise = {}) const;
  /// Returns the list of integers in input k, or in older versions in the attribute.
  Dims dims(std::size_t k, const std::string& name, const Dims& otherwise = {}) const;
  const Attribute& attribute(const std::string& name) const;  ///< Throws mote::Error.

  // These ops run over the dtype of their first argument; arguments broadcast as in NumPy and may
  // be constants of rank 0.
  Array map(const std::string& op, const std::vector<const Array*>& args, const Params& params = {},
            std::optional<DType> instance = {}) const;
  Array unary(const std::string& op, const Array& x, const Params& params = {}) const {
    return map(op, {&x}, params);
  }
  Array binary(const std::string& op, const Array& a, const Array& b) const {
    return map(op, {&a, &b});
  }
  Array binary(const std::string& op, const Array& a, double b) const {
    return binary(op, a, constant(a.dtype, b));
  }
  Array binary(const std::string& op, double a, const Array& b) const {
    return binary(op, constant(b.dtype, a), b);
  }
  Array choose(const Array& condition, const Array& a, const Array& b) const {
    return map("where", {&condition, &a, &b}, {}, a.dtype);
  }
  Array cast(const Array& x, DType to) const;  ///< returns x itself if it has that dtype
  /// Returns x[start], x[start + step], …: `count` of them along the axis.
  Array slice(const Array& x, std::size_t axis, std::int64_t start, std::int64_t count,
              std::int64_t step = 1) const;
  /// Returns x at each position[i] of the axis, whose extent becomes the number of positions.
  Array gather(const Array& x, std::size_t axis, const Array& position) const;
  Array concat(const std::vector<Array>& parts, std::size_t axis) const;
  /// Repeats every axis; 0 repeats leave no elements. Unrepeated axes merge with those before them;
  /// at most 4 axes may remain.
  Array tile(const Array& x, const Dims& repeats) const;
  /// Pads by the op pad_`mode`; pads are all begins, then all ends, and negative ones crop. At most
  /// 4 axes.
  Array pad(const std::string& mode, const Array& x, const Dims& pads, double value = 0) const;
  Array transpose(const Array& x, const std::vector<std::size_t>& order) const;
  /// Reduces over the axes, which keep extent 1 if `keep`.
  Array reduce(const std::string& op, const Array& x, const std::vector<std::size_t>& axes,
               bool keep, const Params& params = {}) const;
  /// Multiplies over the last two axes and broadcasts the others; ranks are at least 2.
  Array matmul(const Array& a, const Array& b) const;

 private:
  const Node& node_;
  std::int64_t opset_;
  std::vector<const Array*> inputs_;
  Kernels& kernels_;
};

/// Computes the outputs of a node that are wanted.
using Adapter = std::function<std::vector<Array>(const Call&)>;
using Adapters = std::map<std::string, Adapter>;

// Return adapters by operator; "domain::" is in front if the domain is not ai.onnx.
Adapters elementwise_adapters();
Adapters reduce_adapters();
Adapters move_adapters();
Adapters generate_adapters();
Adapters index_adapters();
Adapters random_adapters();
Adapters linear_adapters();
Adapters attention_adapters();
Adapters conv_transpose_adapters();
Adapters einsum_adapters();
Adapters spatial_adapters();
Adapters resize_adapters();
Adapters normalise_adapters();
Adapters loss_adapters();
Adapters training_adapters();
Adapters recurrent_adapters();
Adapters quantise_adapters();
Adapters view_adapters();

}  // namespace mote::onnx
