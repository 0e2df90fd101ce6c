// SPDX-License-Identifier: Apache-2.0
// Hypotheses that leave out terms: inputs with zeros that a kernel did not read.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/hypotheses.h"

namespace mote::diagnosis {
namespace {

/// The outputs with zeros from a position along an axis onwards.
std::optional<std::vector<Dense>> without_tail(const Observed& o, std::size_t input,
                                               std::size_t axis, std::int64_t from) {
  std::vector<Dense> inputs = copies_of(o.inputs);
  for_each_along(o.of.inputs[input].shape, axis, [&](std::int64_t linear, std::int64_t at) {
    if (at >= from) inputs[input].set(linear, Number(0.0));
  });
  return recompute(o.of, std::move(inputs));
}

/// The start of the part that is left out, for an extent; nullopt: nothing is left out.
struct Tail {
  std::string text;
  std::function<std::optional<std::int64_t>(std::int64_t)> from;
};

std::vector<Tail> tails() {
  std::vector<Tail> all;
  for (const std::int64_t step : {8, 16, 4, 32, 64, 2}) {
    all.push_back({fmt::format("the last {{0}} % {} of {{0}}", step),
                   [step](std::int64_t n) -> std::optional<std::int64_t> {
                     if (n % step == 0) return std::nullopt;
                     return n - n % step;
                   }});
  }
  all.push_back({"the last of {0}", [](std::int64_t n) -> std::optional<std::int64_t> {
                   if (n < 1) return std::nullopt;
                   return n - 1;
                 }});
  all.push_back({"all but the first of {0}", [](std::int64_t n) -> std::optional<std::int64_t> {
                   if (n < 2) return std::nullopt;
                   return 1;
                 }});
  return all;
}

void add_tails(std::vector<Hypothesis>& all, const Observed& o, std::size_t input,
               std::size_t axis) {
  const CaseTensor& t = o.of.inputs[input];
  for (const Tail& tail : tails()) {
    const std::string what = fmt::format(fmt::runtime(tail.text), axis_name(o, input, axis));
    all.push_back({"missing term", fmt::format("without {} in {}", what, t.name),
                   [=](const Observed& of) -> std::optional<std::vector<Dense>> {
                     const auto from = tail.from(of.of.inputs[input].shape[axis]);
                     if (!from) return std::nullopt;
                     return without_tail(of, input, axis, *from);
                   }});
  }
}

}  // namespace

bool is_reduced(const Observed& o, std::size_t input, std::size_t axis) {
  const Expr& extent = o.of.program->inputs[input].shape()[axis];
  const std::vector<Uop> roots = mote::roots(*o.of.program);
  const auto is_along = [&](const Expr& reduced) {
    return reduced == extent ||
           std::ranges::any_of(reduced.symbols(), [&](Symbol s) { return extent.mentions(s); });
  };
  return std::ranges::any_of(topological(roots), [&](const Uop& u) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    return r != nullptr && std::ranges::any_of(r->axes, [&](int reduced) {
             return is_along(r->x.shape()[static_cast<std::size_t>(reduced)]);
           });
  });
}

std::vector<Hypothesis> missing_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (!is_real(o.of.inputs[k].dtype) && o.of.inputs[k].dtype == DType::i64) continue;
    for (std::size_t axis = 0; axis < o.of.inputs[k].shape.size(); ++axis)
      if (is_reduced(o, k, axis)) add_tails(all, o, k, axis);
  }
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    all.push_back({"missing term", fmt::format("with {} all 0", o.of.inputs[k].name),
                   [k](const Observed& of) {
                     std::vector<Dense> inputs = copies_of(of.inputs);
                     for (std::int64_t at = 0; at < inputs[k].count(); ++at)
                       inputs[k].set(
                           at, is_real(inputs[k].dtype()) ? Number(0.0) : Number(std::int64_t{0}));
                     return recompute(of.of, std::move(inputs));
                   }});
  }
  return all;
}

}  // namespace mote::diagnosis
