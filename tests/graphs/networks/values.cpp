// SPDX-License-Identifier: Apache-2.0
// Values for the inputs of a network, by a seed.
#include <cmath>
#include <span>

#include "mote/base/philox.h"
#include "networks.h"

namespace mote::networks {
namespace {

/// A stream of words that a seed determines.
class Words {
 public:
  explicit Words(std::int64_t seed) : seed_(seed) {}
  std::uint32_t next() { return static_cast<std::uint32_t>(philox_word(seed_, position_++)); }
  float real() { return static_cast<float>(next()) * 0x1p-31F - 1; }  ///< -1..1

 private:
  std::int64_t seed_, position_ = 0;
};

template <typename T, typename Draw>
Tensor drawn(const TensorForm& form, const Draw& draw) {
  Tensor tensor(form.dtype, form.shape);
  const std::span<T> elements(static_cast<T*>(tensor.data()),
                              static_cast<std::size_t>(element_count(form)));
  for (T& element : elements) element = draw();
  return tensor;
}

Tensor reals(const TensorForm& form, float scale, Words& words) {
  return drawn<float>(form, [&] { return scale * words.real(); });
}

Tensor integers(const TensorForm& form, std::int64_t below, Words& words) {
  return drawn<std::int64_t>(form, [&] { return static_cast<std::int64_t>(words.next()) % below; });
}

Tensor all(const TensorForm& form, float value) {
  Tensor tensor(form.dtype, form.shape);
  fill(tensor, value);
  return tensor;
}

/// A factor is named so, or a variance; all else of one axis is added.
Tensor vector_value(const std::string& name, const TensorForm& form) {
  return all(form, name.ends_with(".gamma") || name.ends_with(".variance") ? 1.0F : 0.0F);
}

}  // namespace

std::vector<TensorBinding> values(const Network& network, std::int64_t seed) {
  Words words(seed);
  const SymbolicGraph& g = network.graph;
  std::vector<TensorBinding> bindings;
  for (const TensorSymbol input : network.inputs) {
    const TensorForm& form = g.form(input);
    bindings.emplace_back(input, form.dtype == DType::i64 ? integers(form, network.classes, words)
                                                          : reals(form, 1, words));
  }
  for (const TensorSymbol parameter : network.parameters) {
    const TensorForm& form = g.form(parameter);
    if (form.shape.size() == 1) {
      bindings.emplace_back(parameter, vector_value(g.info(parameter).name, form));
      continue;
    }
    // A matrix [in, out] has its fan-in first, all others behind their first axis.
    std::int64_t fan_in = form.shape.size() == 2 ? form.shape[0] : 1;
    if (form.shape.size() > 2)
      for (int axis = 1; axis < form.shape.size(); ++axis) fan_in *= form.shape[axis];
    bindings.emplace_back(parameter, reals(form, 1 / std::sqrt(static_cast<float>(fan_in)), words));
  }
  for (const TensorSymbol state : network.state)
    bindings.emplace_back(state, vector_value(g.info(state).name, g.form(state)));
  return bindings;
}

}  // namespace mote::networks
