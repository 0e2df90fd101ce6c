// SPDX-License-Identifier: Apache-2.0
// The variables of a random program with what they must be, and what is chosen of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/random/rng.h"
#include "model.h"
#include "mote/dynamic/dynamic_graph.h"
#include "program_functions.h"
#include "random_program.h"

namespace mote::test {

inline Context& program_context() {
  static Context context({.workers = 1});
  return context;
}

/// The functions of all programs: what they are compiled to is found again.
enum class Function { sum, product, loop, nested };
inline const StaticFunction& graph_function(Function which, DType dtype, int rank) {
  static std::map<std::tuple<Function, DType, int>, StaticFunction> functions;
  const std::tuple key(which, dtype, rank);
  const auto known = functions.find(key);
  if (known != functions.end()) return known->second;
  const auto make = [&] {
    if (which == Function::nested) return nested_function(program_context(), dtype, rank);
    if (which == Function::loop) return loop_function(dtype, rank);
    return which == Function::sum ? static_function(dtype, rank) : product_function(dtype, rank);
  };
  return functions.emplace(key, make()).first->second;
}

/// A variable and what it must be. A view has the variable that it is a view of.
struct Slot {
  std::size_t number = 0;
  Variable variable;
  Model value;
  std::uint64_t version = 0;
  std::shared_ptr<Slot> base;  ///< it may outlive the program's own variable
  ViewStep view;
  std::uint64_t base_version = 0;
  bool is_traced_view = true;  ///< it was not made within a NoGradient
  bool is_leaf = false;        ///< nothing has computed its value
  bool is_parameter =
      false;  ///< within a NoGradient, it stays one with respect to which is derived
};
using SlotPtr = std::shared_ptr<Slot>;

inline const Model& present(Slot& slot) {
  if (slot.base == nullptr) return slot.value;
  const Model base = present(*slot.base);
  if (slot.base_version != slot.base->version) {
    const bool is_free = std::exchange(model_no_gradient, !slot.is_traced_view);
    slot.value = model_view(base, slot.view);
    model_no_gradient = is_free;
    slot.base_version = slot.base->version;
    ++slot.version;
    slot.is_leaf = false;
  }
  return slot.value;
}

struct Difference {
  std::string what;
};

class ProgramSlots {
 protected:
  ProgramSlots(std::uint64_t seed, DynamicGraph& g, ProgramCounts& counts)
      : seed_(seed), g_(g), counts_(counts) {}

  bool has_memo() const { return g_.options().memo_bytes > 0; }
  void say(const std::string& what) {
    log_ += "  " + what + "\n";
    ++counts_[what.substr(0, what.find(' '))];
  }
  static std::string name(const Slot& slot) { return "v" + std::to_string(slot.number); }

  // ---- what is chosen

  std::vector<double> numbers(const AxisList& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    std::vector<double> values;
    for (std::int64_t k = 0; k < count; ++k) values.push_back(numbers_.below(5) - 2);
    return values;
  }
  Tensor tensor(const AxisList& shape, const std::vector<double>& elements) const {
    const Tensor made(dtype_, shape);
    const Tensor list = made.reshape({static_cast<std::int64_t>(elements.size())});
    for (std::size_t k = 0; k < elements.size(); ++k)
      list.set({static_cast<std::int64_t>(k)}, elements[k]);
    return made;
  }
  SlotPtr some() { return slots_.empty() ? nullptr : rng_.pick(slots_); }
  SlotPtr some_like(const AxisList& shape, int rank) {
    for (int attempt = 0; attempt < 4; ++attempt)
      if (const SlotPtr slot = some();
          slot && slot->value->shape.size() == rank && present(*slot)->shape == shape)
        return slot;
    return nullptr;
  }
  void add(Variable variable, Model value, bool is_leaf) {
    const auto slot = std::make_shared<Slot>();
    slot->variable = std::move(variable);
    slot->value = std::move(value);
    slot->is_leaf = is_leaf;
    append(slot);
  }
  void append(const SlotPtr& slot) {
    slot->number = ++last_number_;
    log_ += "    = " + name(*slot) + "\n";
    slots_.push_back(slot);
  }

  std::uint64_t seed_;
  DynamicGraph& g_;
  ProgramCounts& counts_;
  Rng rng_{0};
  Rng parts_{0};    ///< of parts of tensors, and axes
  Rng numbers_{0};  ///< of elements
  std::vector<std::int64_t> extents_;
  DType dtype_ = DType::f64;
  std::vector<SlotPtr> slots_;
  std::vector<SlotPtr> last_of_, last_wrt_;  ///< what a gradient was asked for last
  std::size_t last_number_ = 0;
  int count_ = 0;  ///< of steps
  std::string log_;
  bool has_traced_gradients_ = false;
  std::size_t forgotten_ = 0;  ///< steps, when they were looked for last
  bool has_written_parts_ = false;
};

}  // namespace mote::test
