// SPDX-License-Identifier: Apache-2.0
// Hypotheses with right elements in another order: an axis permuted or reversed in all inputs that
// have it, memory read with exchanged extents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "diagnosis/shared_axes.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMaxGates = 4;  ///< entries of an axis whose permutations are tried

void add_joint_reversal(std::vector<Hypothesis>& all, const Observed& o, const SharedAxis& axis) {
  if (axis.members.size() < 2) return;
  all.push_back(
      {"another order", fmt::format("with {} of {} reversed", axis.name, members_text(o, axis)),
       [axis](const Observed& of) -> std::optional<std::vector<Dense>> {
         const auto extent = extent_of(of, axis);
         if (extent.value_or(0) < 2) return std::nullopt;
         return recompute(of.of, moved_along(of, axis, [&](auto i) { return *extent - 1 - i; }));
       }});
}

/// The gates of a cell: axes of a constant extent, and the smallest of their extents.
struct Gates {
  SharedAxis axes;
  std::int64_t entries = kMaxGates + 1;
};

Gates gates_of(const Observed& o) {
  Gates gates;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    for (std::size_t a = 0; a < o.of.inputs[k].shape.size(); ++a) {
      const std::string name = axis_name(o, k, a);
      if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
      gates.axes.members.emplace_back(k, a);
      gates.entries = std::min(gates.entries, o.of.inputs[k].shape[a]);
    }
  return gates;
}

/// The outputs with one entry of the members times a factor, plus a summand.
std::optional<std::vector<Dense>> entry_moved(const Observed& of, const SharedAxis& axes,
                                              std::int64_t entry, double factor, double summand) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (const auto& [k, a] : axes.members) {
    if (!is_real(inputs[k].dtype())) return std::nullopt;
    for_each_along(of.of.inputs[k].shape, a, [&, k = k](std::int64_t linear, std::int64_t at) {
      if (at == entry)
        inputs[k].set(linear, Number(inputs[k].at(linear).real() * factor + summand));
    });
  }
  return recompute(of.of, std::move(inputs));
}

/// Adds hypotheses on a gate g computed as 1 - g (its entry times -1), and on an entry plus 1.
void add_gate_values(std::vector<Hypothesis>& all, const Observed& o, const Gates& gates) {
  for (std::int64_t entry = 0; entry < gates.entries; ++entry) {
    all.push_back({"constant factor",
                   fmt::format("with entry {} of {} times -1", entry, members_text(o, gates.axes)),
                   [=](const Observed& of) { return entry_moved(of, gates.axes, entry, -1, 0); }});
    for (const auto& member : gates.axes.members)
      all.push_back(
          {"off by one",
           fmt::format("with entry {} of {} plus 1", entry, members_text(o, {"", {member}})),
           [=](const Observed& of) {
             return entry_moved(of, {"", {member}}, entry, 1, 1);
           }});
  }
}

void add_gates(std::vector<Hypothesis>& all, const Observed& o) {
  const Gates gates = gates_of(o);
  if (gates.entries < 2 || gates.entries > kMaxGates) return;
  add_gate_values(all, o, gates);
  Indices order(static_cast<std::size_t>(gates.entries));
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found)
    all.push_back({"transposed or swapped axis",
                   fmt::format("with the entries 0 to {} of {} in the order {}", gates.entries - 1,
                               members_text(o, gates.axes), fmt::join(order, ", ")),
                   [axes = gates.axes, order](const Observed& of) {
                     return recompute(
                         of.of, moved_along(of, axes, [&](std::int64_t i) {
                           return i < std::ssize(order) ? order[static_cast<std::size_t>(i)] : i;
                         }));
                   }});
}

/// Adds an operand that is read at 0 along both axes of a batch.
void add_first_of_two(std::vector<Hypothesis>& all, const Observed& o, std::size_t input) {
  const CaseTensor& t = o.of.inputs[input];
  for (std::size_t a = 0; a < t.shape.size(); ++a)
    for (std::size_t b = a + 1; b < t.shape.size(); ++b)
      all.push_back({"neighbour's value",
                     fmt::format("with {} read at 0 along {} and {} throughout", t.name,
                                 axis_name(o, input, a), axis_name(o, input, b)),
                     [=](const Observed& of) {
                       std::vector<Dense> inputs = copies_of(of.inputs);
                       inputs[input] =
                           rearranged(inputs[input], of.of.inputs[input].shape, [=](Indices i) {
                             i[a] = i[b] = 0;
                             return i;
                           });
                       return recompute(of.of, std::move(inputs));
                     }});
}

/// The index if two neighbouring axes of A x B elements are read as B x A.
Indices transposed_in_memory(const Indices& shape, std::size_t axis, Indices i, bool back) {
  const std::int64_t rows = shape[axis], columns = shape[axis + 1];
  const std::int64_t flat = i[axis] * columns + i[axis + 1];
  const std::int64_t from =
      back ? flat % columns * rows + flat / columns : flat % rows * columns + flat / rows;
  i[axis] = from / columns;
  i[axis + 1] = from % columns;
  return i;
}

void add_memory_order(std::vector<Hypothesis>& all, const Observed& o, std::size_t input,
                      std::size_t axis, bool back, bool outputs_too) {
  const std::string& name = o.of.inputs[input].name;
  all.push_back({"transposed or swapped axis",
                 fmt::format("with the memory of {} and {} of {}{} taken the other way round",
                             axis_name(o, input, axis), axis_name(o, input, axis + 1), name,
                             outputs_too ? " and the outputs" : ""),
                 [=](const Observed& of) -> std::optional<std::vector<Dense>> {
                   const Indices& shape = of.of.inputs[input].shape;
                   if (shape[axis] < 2 || shape[axis + 1] < 2) return std::nullopt;
                   std::vector<Dense> inputs = copies_of(of.inputs);
                   inputs[input] = rearranged(inputs[input], shape, [&](Indices i) {
                     return transposed_in_memory(shape, axis, std::move(i), back);
                   });
                   auto outputs = recompute(of.of, std::move(inputs));
                   for (std::size_t k = 0; outputs && outputs_too && k < outputs->size(); ++k) {
                     if (of.of.outputs[k].shape != shape) return std::nullopt;
                     (*outputs)[k] = rearranged((*outputs)[k], shape, [&](Indices i) {
                       return transposed_in_memory(shape, axis, std::move(i), !back);
                     });
                   }
                   return outputs;
                 }});
}

}  // namespace

std::vector<SharedAxis> shared_axes(const Observed& o) {
  std::map<std::string, SharedAxis> by_name;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    for (std::size_t axis = 0; axis < o.of.inputs[k].shape.size(); ++axis) {
      const std::string name = axis_name(o, k, axis);
      by_name[name].name = name;
      by_name[name].members.emplace_back(k, axis);
    }
  std::vector<SharedAxis> all;
  for (auto& [name, axis] : by_name) all.push_back(std::move(axis));
  return all;
}

std::string members_text(const Observed& o, const SharedAxis& axis) {
  std::vector<std::string> names;
  for (const auto& [k, a] : axis.members) names.push_back(o.of.inputs[k].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<Dense> moved_along(const Observed& of, const SharedAxis& axis,
                               const std::function<std::int64_t(std::int64_t)>& from) {
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (const auto& [k, a] : axis.members)
    inputs[k] = rearranged(inputs[k], of.of.inputs[k].shape, [&from, a = a](Indices i) {
      i[a] = from(i[a]);
      return i;
    });
  return inputs;
}

std::optional<std::int64_t> extent_of(const Observed& of, const SharedAxis& axis) {
  const auto at = [&](const auto& member) {
    return of.of.inputs[member.first].shape[member.second];
  };
  const std::int64_t extent = at(axis.members.front());
  if (std::ranges::any_of(axis.members, [&](const auto& m) { return at(m) != extent; }))
    return std::nullopt;
  return extent;
}

std::vector<Hypothesis> order_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const SharedAxis& axis : shared_axes(o)) add_joint_reversal(all, o, axis);
  add_gates(all, o);
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) add_first_of_two(all, o, k);
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k)
    for (std::size_t axis = 0; axis + 1 < o.of.inputs[k].shape.size(); ++axis)
      for (const bool back : {false, true})
        for (const bool outputs_too : {false, true})
          add_memory_order(all, o, k, axis, back, outputs_too);
  return all;
}

}  // namespace mote::diagnosis
