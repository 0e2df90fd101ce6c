// SPDX-License-Identifier: Apache-2.0
// Predicates of a case's parameters, layouts, optional inputs, dtype and data.
#include <fmt/format.h>

#include <algorithm>

#include "case/like.h"
#include "diagnosis/find_condition.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

using Predicates = std::vector<Predicate>;

/// Drawn cases replace a variation if the case cannot be varied.
constexpr std::uint64_t kFirstStandIn = 5000;

const CaseTensor* find(const Case& c, const std::string& name) {
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& t : *tensors)
      if (t.name == name) return &t;
  return nullptr;
}

CaseTensor* find(Case& c, const std::string& name) {
  return const_cast<CaseTensor*>(find(std::as_const(c), name));
}

void add_reals(Predicates& all, const Case& c) {
  for (const ParamDecl& p : c.program->params) {
    if (p.is_integer) continue;
    const double own = c.params.at(p.name).as_real();
    const std::vector<double> tried = {own, p.default_value.value_or(1), 0, 1, 2, -1, 0.5, 3, -2};
    const auto vary = [name = p.name, tried](const Case& from, std::uint64_t k) {
      return with_param(from, name, Number(tried[k % tried.size()]));
    };
    const auto add = [&](std::string text, int cost, const std::function<bool(double)>& holds) {
      all.push_back({std::move(text),
                     [name = p.name, holds](const Sample& s) {
                       const auto at = s.of.params.find(name);
                       return at != s.of.params.end() && holds(at->second.as_real());
                     },
                     vary, cost});
    };
    if (p.default_value)
      add(fmt::format("{} != {}", p.name, *p.default_value), 1,
          [d = *p.default_value](double v) { return v != d; });
    add(fmt::format("{} != 0", p.name), 2, [](double v) { return v != 0; });
    add(fmt::format("{} == {}", p.name, own), 1, [own](double v) { return v == own; });
    add(fmt::format("{} > 0", p.name), 2, [](double v) { return v > 0; });
    add(fmt::format("{} < 0", p.name), 2, [](double v) { return v < 0; });
  }
}

std::vector<CaseLayout> layouts_of(int rank, bool is_input) {
  std::vector<CaseLayout> all = {{}};
  for (const std::int64_t pad : {1, 3, 5})
    all.push_back({.order = {}, .pad = pad, .offset = 0, .repeated = {}});
  all.push_back({.order = {}, .pad = 0, .offset = 1, .repeated = {}});
  if (rank >= 2)
    for (const std::int64_t pad : {0, 2})
      all.push_back({.order = swapped_order(rank), .pad = pad, .offset = 0, .repeated = {}});
  if (rank >= 3) all.push_back({.order = nhwc_order(rank), .pad = 0, .offset = 0, .repeated = {}});
  for (int axis = 0; axis < rank && is_input; ++axis)
    all.push_back({.order = {}, .pad = 0, .offset = 0, .repeated = {axis}});
  return all;
}

void add_layouts(Predicates& all, const Case& c) {
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& tensor : *tensors) {
      const std::string name = tensor.name;
      const bool is_input = tensors == &c.inputs;
      const auto vary = [name, is_input](const Case& from, std::uint64_t k) -> std::optional<Case> {
        Case next = from;
        CaseTensor* t = find(next, name);
        if (t == nullptr || t->left_out || !t->in_place.empty()) return std::nullopt;
        const auto layouts = layouts_of(static_cast<int>(t->shape.size()), is_input);
        t->layout = layouts[k % layouts.size()];
        return next;
      };
      const auto add = [&](std::string text, const std::function<bool(const CaseTensor&)>& holds) {
        all.push_back({std::move(text),
                       [name, holds](const Sample& s) {
                         const CaseTensor* t = find(s.of, name);
                         return t != nullptr && holds(*t);
                       },
                       vary, 1});
      };
      const auto is_unit = [](const CaseTensor& t) {
        return t.shape.empty() || place(t.shape, t.layout).strides.back() == 1;
      };
      add(fmt::format("stride of the last axis of {} != 1", name),
          [=](const CaseTensor& t) { return !is_unit(t); });
      add(fmt::format("gaps between the rows of {}", name),
          [](const CaseTensor& t) { return t.layout.has_gaps(); });
      add(fmt::format("an axis of {} repeats", name),
          [](const CaseTensor& t) { return !t.layout.repeated.empty(); });
      add(fmt::format("{} is not row-major", name),
          [](const CaseTensor& t) { return !t.layout.contiguous(); });
      add(fmt::format("{} is row-major", name),
          [](const CaseTensor& t) { return t.layout.contiguous(); });
      add(fmt::format("stride of the last axis of {} == 1", name), is_unit);
    }
}

std::optional<Case> drawn(const Case& smallest, std::uint64_t k) {
  try {
    return drawn_like(smallest, kFirstStandIn + k);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add_optional_inputs(Predicates& all, const Case& smallest) {
  for (const InputDecl& input : smallest.target->inputs()) {
    if (!input.optional) continue;
    const std::string name = input.name;
    const bool there = find(smallest, name) != nullptr;
    all.push_back(
        {there ? fmt::format("there is {}", name) : fmt::format("there is no {}", name),
         [name, there](const Sample& s) { return (find(s.of, name) != nullptr) == there; },
         [smallest](const Case&, std::uint64_t k) { return drawn(smallest, k); }, 1});
  }
}

void add_in_place(Predicates& all, const Case& smallest) {
  for (std::size_t k = 0; k < smallest.outputs.size(); ++k) {
    const CaseTensor& y = smallest.outputs[k];
    if (y.in_place.empty()) continue;
    const auto vary = [k, input = y.in_place](const Case& from,
                                              std::uint64_t n) -> std::optional<Case> {
      Case next = from;
      if (k >= next.outputs.size()) return std::nullopt;
      CaseTensor& t = next.outputs[k];
      t.in_place = n % 2 == 0 ? "" : input;
      t.layout = {};
      const auto shared = shared_input(next, t);
      if (n % 2 != 0 && (!shared || !may_share(next, *shared, k))) return std::nullopt;
      return next;
    };
    all.push_back({fmt::format("{} takes the memory of an input", y.name),
                   [name = y.name](const Sample& s) {
                     const CaseTensor* t = find(s.of, name);
                     return t != nullptr && !t->in_place.empty();
                   },
                   vary, 1});
  }
}

void add_ones(Predicates& all, const Case& smallest) {
  for (std::size_t input = 0; input < smallest.inputs.size(); ++input) {
    const CaseTensor& t = smallest.inputs[input];
    const auto& flags = std::get<uop::Input>(smallest.program->inputs[input].node().kind).broadcast;
    for (std::size_t axis = 0; axis < t.shape.size() && axis < flags.size(); ++axis) {
      if (t.shape[axis] != 1 || !flags[axis]) continue;
      all.push_back(
          {fmt::format("{} has extent 1 along axis {}", t.name, axis),
           [name = t.name, axis](const Sample& s) {
             const CaseTensor* of = find(s.of, name);
             return of != nullptr && axis < of->shape.size() && of->shape[axis] == 1;
           },
           [smallest, input, axis](const Case& from, std::uint64_t k) -> std::optional<Case> {
             if (k % 3 == 2 || from.program != smallest.program) return drawn(smallest, k);
             Draft draft = to_draft(from);
             const std::pair one(static_cast<int>(input), static_cast<int>(axis));
             if (k % 3 == 0)
               draft.ones.erase(one);
             else
               draft.ones.insert(one);
             return like(draft, from);
           },
           1});
    }
  }
}

void add_dtype(Predicates& all, const Case& smallest) {
  const DType own = smallest.instance.dtype;
  const std::vector<DType> dtypes = smallest.target->dtypes();
  if (dtypes.size() < 2) return;
  all.push_back({fmt::format("the dtype is {}", name(own)),
                 [own](const Sample& s) { return s.of.instance.dtype == own; },
                 [smallest, dtypes](const Case&, std::uint64_t k) -> std::optional<Case> {
                   try {
                     return drawn_like(smallest, dtypes[k % dtypes.size()],
                                       kFirstStandIn + k / dtypes.size());
                   } catch (const Error&) {
                     return std::nullopt;
                   }
                 },
                 1});
}

}  // namespace

std::vector<Predicate> predicates(const Case& smallest, const std::vector<const Sample*>& failing,
                                  const std::vector<const Sample*>& passing) {
  Predicates all;
  add_reals(all, smallest);
  add_optional_inputs(all, smallest);
  add_in_place(all, smallest);
  add_ones(all, smallest);
  add_layouts(all, smallest);
  add_dtype(all, smallest);
  add_data_predicates(all, smallest, failing);
  std::erase_if(all, [&](const Predicate& p) {
    const auto holds = [&](const Sample* s) { return p.holds(*s); };
    return !std::ranges::all_of(failing, holds) || std::ranges::all_of(passing, holds);
  });
  add_quantity_predicates(all, smallest, failing, passing);
  return all;
}

}  // namespace mote::diagnosis
