// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's graph API: a descriptor is its attributes, copied as they are set.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "fake_cudnn.h"

namespace fake::cudnn {

struct BackendDesc {
  int kind = 0;
  bool is_final = false;
  std::map<int, std::vector<char>> attributes;
  std::map<int, std::vector<std::shared_ptr<const BackendDesc>>> links;

  bool has(int name) const { return attributes.contains(name) || links.contains(name); }
  /// Returns the first value, or `otherwise` if there is none.
  template <typename T>
  T value(int name, T otherwise = {}) const {
    const auto at = attributes.find(name);
    if (at != attributes.end() && at->second.size() >= sizeof(T))
      std::memcpy(&otherwise, at->second.data(), sizeof(T));
    return otherwise;
  }
  template <typename T>
  std::vector<T> values(int name) const {
    const auto at = attributes.find(name);
    if (at == attributes.end()) return {};
    std::vector<T> all(at->second.size() / sizeof(T));
    std::memcpy(all.data(), at->second.data(), all.size() * sizeof(T));
    return all;
  }
  const BackendDesc& link(int name) const { return *links.at(name).at(0); }
  /// The tensor that this is, or that is linked.
  TensorDesc tensor() const {
    return {value<int>(attribute::kTensorType), values<std::int64_t>(attribute::kTensorDims),
            values<std::int64_t>(attribute::kTensorStrides)};
  }
  TensorDesc tensor(int name) const { return link(name).tensor(); }
};

/// The catalogue's parameters of an operation that is a convolution, and its op.
Params convolution_params(const BackendDesc& operation);
std::string convolution_op(const BackendDesc& operation);
/// Throws Refused if the manual forbids the operation.
void check_operation(const BackendDesc& operation);
/// The rows that a norm is of, with an extent of 1 along the axes within them.
Dims rows_of(int mode, const Dims& x);
/// Returns true if the fake's engines compute the operations together: one norm or its gradient; a
/// convolution and its bias; attention, whose softmax's sums are stored, and whose heads are of
/// eights; or the gradient of that.
bool is_known(const BackendDesc& graph);
/// Returns true if some tensor of the graph has 16 bits.
bool is_narrow(const BackendDesc& graph);
/// Runs the graph's operations in order, with the data of tensors by their ids.
void run_graph(const BackendDesc& graph, const std::map<std::int64_t, void*>& data);

}  // namespace fake::cudnn
