// SPDX-License-Identifier: Apache-2.0
// What can be said of a case: of its sizes, parameters, layouts, fill and optional inputs.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/mine.h"

namespace mote::diagnosis {
namespace {

using Predicates = std::vector<Predicate>;

std::int64_t size_of_axis(const Case& c, Symbol size) {
  const auto at = c.binding.values.find(size);
  return at == c.binding.values.end() ? -1 : at->second;
}

void add_sizes(Predicates& all, const Case& c) {
  for (const auto& [size, value] : c.binding.values) {
    if (size.kind() != SymbolKind::size) continue;
    const Symbol s = size;
    const auto add = [&](std::string text, const std::function<bool(std::int64_t)>& holds) {
      all.push_back(
          {std::move(text), [s, holds](const Case& of) { return holds(size_of_axis(of, s)); }});
    };
    for (const std::int64_t step : {2, 4, 8, 16, 32, 64})
      add(fmt::format("{} % {} != 0", s.name(), step),
          [step](std::int64_t v) { return v % step != 0; });
    add(fmt::format("{} == 0", s.name()), [](std::int64_t v) { return v == 0; });
    for (const std::int64_t least : {2, 3, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 65'537})
      add(fmt::format("{} >= {}", s.name(), least), [least](std::int64_t v) { return v >= least; });
    add(fmt::format("{} == {}", s.name(), value), [v = value](std::int64_t of) { return of == v; });
    for (const auto& [other, unused] : c.binding.values) {
      if (other.kind() != SymbolKind::size || !(s.name() < other.name())) continue;
      all.push_back(
          {fmt::format("{} == {}", s.name(), other.name()),
           [s, o = other](const Case& of) { return size_of_axis(of, s) == size_of_axis(of, o); }});
    }
  }
}

double value_of(const Case& c, const std::string& name) {
  const auto at = c.params.find(name);
  if (at == c.params.end()) return 0;
  return at->second.is_real() ? at->second.real() : static_cast<double>(at->second.integer());
}

void add_params(Predicates& all, const Case& c) {
  for (const ParamDecl& p : c.program->params) {
    const std::string name = p.name;
    if (p.default_value)
      all.push_back(
          {fmt::format("{} != {}", name, *p.default_value),
           [name, d = *p.default_value](const Case& of) { return value_of(of, name) != d; }});
    all.push_back(
        {fmt::format("{} == {}", name, value_of(c, name)),
         [name, v = value_of(c, name)](const Case& of) { return value_of(of, name) == v; }});
    if (p.is_integer)
      all.push_back({fmt::format("{} >= 2", name),
                     [name](const Case& of) { return value_of(of, name) >= 2; }});
  }
  for (const ParamList& list : param_lists(*c.program))
    for (const std::string& a : list.members)
      for (const std::string& b : list.members)
        if (a < b)
          all.push_back({fmt::format("{} != {}", a, b),
                         [a, b](const Case& of) { return value_of(of, a) != value_of(of, b); }});
}

const CaseTensor* find(const Case& c, const std::string& name) {
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& t : *tensors)
      if (t.name == name) return &t;
  return nullptr;
}

void add_layouts(Predicates& all, const Case& c) {
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& tensor : *tensors) {
      const std::string name = tensor.name;
      const auto add = [&](std::string text, const std::function<bool(const CaseTensor&)>& holds) {
        all.push_back({std::move(text), [name, holds](const Case& of) {
                         const CaseTensor* t = find(of, name);
                         return t != nullptr && holds(*t);
                       }});
      };
      add(fmt::format("stride of the last axis of {} != 1", name), [](const CaseTensor& t) {
        return !t.shape.empty() && place(t.shape, t.layout).strides.back() != 1;
      });
      add(fmt::format("gaps between the rows of {}", name),
          [](const CaseTensor& t) { return t.layout.pad != 0; });
      add(fmt::format("an axis of {} repeats", name),
          [](const CaseTensor& t) { return !t.layout.repeated.empty(); });
      add(fmt::format("{} is not row-major", name),
          [](const CaseTensor& t) { return !t.layout.contiguous(); });
    }
}

void add_inputs(Predicates& all, const Case& c) {
  for (const InputDecl& input : c.target->inputs()) {
    if (!input.optional) continue;
    const std::string name = input.name;
    const bool there = find(c, name) != nullptr;
    all.push_back({there ? fmt::format("there is {}", name) : fmt::format("there is no {}", name),
                   [name, there](const Case& of) { return (find(of, name) != nullptr) == there; }});
  }
  for (const CaseTensor& t : c.outputs)
    if (!t.in_place.empty())
      all.push_back(
          {fmt::format("{} takes the memory of an input", t.name), [name = t.name](const Case& of) {
             const CaseTensor* tensor = find(of, name);
             return tensor != nullptr && !tensor->in_place.empty();
           }});
  for (const CaseTensor& t : c.inputs)
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
      if (t.shape[axis] == 1)
        all.push_back({fmt::format("{} has extent 1 along axis {}", t.name, axis),
                       [name = t.name, axis](const Case& of) {
                         const CaseTensor* tensor = find(of, name);
                         return tensor != nullptr && axis < tensor->shape.size() &&
                                tensor->shape[axis] == 1;
                       }});
}

}  // namespace

std::vector<Predicate> predicates(const Case& smallest) {
  Predicates all;
  add_params(all, smallest);
  add_inputs(all, smallest);
  add_layouts(all, smallest);
  add_sizes(all, smallest);
  all.push_back({fmt::format("the data is {}", name(smallest.fill.kind)),
                 [kind = smallest.fill.kind](const Case& of) { return of.fill.kind == kind; }});
  std::erase_if(all, [&](const Predicate& p) { return !p.holds(smallest); });
  return all;
}

}  // namespace mote::diagnosis
