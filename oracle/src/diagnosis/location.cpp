// SPDX-License-Identifier: Apache-2.0
// Hypotheses with right numbers from the wrong location.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"
#include "mote/oracle/layout.h"

namespace mote::diagnosis {
namespace {

Hypothesis with_input(
    std::string kind, std::string text, std::size_t input,
    std::function<std::optional<std::function<Indices(Indices)>>(const Indices&)> map) {
  return {std::move(kind), std::move(text),
          [input, map = std::move(map)](const Observed& of) -> std::optional<std::vector<Dense>> {
            const Indices& shape = of.of.inputs[input].shape;
            const auto from = map(shape);
            if (!from) return std::nullopt;
            std::vector<Dense> inputs = copies_of(of.inputs);
            inputs[input] = rearranged(of.inputs[input], shape, *from);
            return recompute(of.of, std::move(inputs));
          }};
}

/// If an axis has only two elements, each is both the neighbour and the mirror image of the other.
bool has_three(const CaseTensor& t, std::size_t axis) { return t.shape[axis] > 2; }

void add_axes(std::vector<Hypothesis>& all, const Observed& o, std::size_t input) {
  const CaseTensor& t = o.of.inputs[input];
  using From = std::optional<std::function<Indices(Indices)>>;
  for (std::size_t a = 0; a < t.shape.size(); ++a) {
    for (std::size_t b = a + 1; b < t.shape.size(); ++b) {
      all.push_back(with_input("transposed or swapped axis",
                               fmt::format("with {} and {} of {} exchanged", axis_name(o, input, a),
                                           axis_name(o, input, b), t.name),
                               input, [a, b](const Indices& shape) -> From {
                                 if (shape[a] != shape[b]) return std::nullopt;
                                 return [a, b](Indices i) {
                                   std::swap(i[a], i[b]);
                                   return i;
                                 };
                               }));
    }
    all.push_back(with_input("transposed or swapped axis",
                             fmt::format("with {} of {} reversed", axis_name(o, input, a), t.name),
                             input, [a](const Indices& shape) -> From {
                               if (shape[a] < 2) return std::nullopt;
                               const std::int64_t last = shape[a] - 1;
                               return [a, last](Indices i) {
                                 i[a] = last - i[a];
                                 return i;
                               };
                             }));
    all.back().strict = true;
    all.back().tells = [input, a](const Observed& of) { return has_three(of.of.inputs[input], a); };
    for (const std::int64_t step : {-1, 1}) {
      all.push_back(with_input("neighbour's value",
                               fmt::format("with {} read one {} along {}", t.name,
                                           step < 0 ? "before" : "after", axis_name(o, input, a)),
                               input, [a, step](const Indices& shape) -> From {
                                 if (shape[a] < 2) return std::nullopt;
                                 const std::int64_t extent = shape[a];
                                 return [a, step, extent](Indices i) {
                                   i[a] = std::clamp<std::int64_t>(i[a] + step, 0, extent - 1);
                                   return i;
                                 };
                               }));
      all.back().tells = [input, a](const Observed& of) {
        return has_three(of.of.inputs[input], a);
      };
    }
    all.push_back(with_input(
        "neighbour's value",
        fmt::format("with {} read at 0 along {} throughout", t.name, axis_name(o, input, a)), input,
        [a](const Indices& shape) -> From {
          if (shape[a] < 2) return std::nullopt;
          return [a](Indices i) {
            i[a] = 0;
            return i;
          };
        }));
  }
}

/// Adds the reference's value one or a few elements away, along an axis of an output.
void add_neighbours(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t output = 0; output < o.of.outputs.size(); ++output) {
    const CaseTensor& t = o.of.outputs[output];
    for (std::size_t a = 0; a < t.shape.size(); ++a) {
      for (const std::int64_t step : {-1, 1, 0}) {
        const std::string text = step == 0
                                     ? fmt::format("the value of {} at 0 along axis {}", t.name, a)
                                     : fmt::format("the value of {} one {} along axis {}", t.name,
                                                   step < 0 ? "before" : "after", a);
        all.push_back({"neighbour's value", text,
                       [=](const Observed& of) -> std::optional<std::vector<Dense>> {
                         const Indices& shape = of.of.outputs[output].shape;
                         if (shape[a] < 2) return std::nullopt;
                         const std::int64_t extent = shape[a];
                         std::vector<Dense> outputs = copies_of(of.expected);
                         outputs[output] = rearranged(of.expected[output], shape, [&](Indices i) {
                           i[a] =
                               step == 0 ? 0 : std::clamp<std::int64_t>(i[a] + step, 0, extent - 1);
                           return i;
                         });
                         return outputs;
                       }});
        if (step != 0)
          all.back().tells = [=](const Observed& of) {
            return has_three(of.of.outputs[output], a);
          };
      }
    }
  }
}

/// Adds the reference's value at the index that an index of that many bits wraps to.
void add_wraps(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t output = 0; output < o.of.outputs.size(); ++output)
    for (std::size_t a = 0; a < o.of.outputs[output].shape.size(); ++a)
      for (const int bits : {8, 16, 32})
        all.push_back({"index wraps",
                       fmt::format("with axis {} of {} counted in {} bits", a,
                                   o.of.outputs[output].name, bits),
                       [=](const Observed& of) -> std::optional<std::vector<Dense>> {
                         const Indices& shape = of.of.outputs[output].shape;
                         const auto wrap = std::int64_t{1} << static_cast<unsigned>(bits);
                         if (shape[a] <= wrap) return std::nullopt;
                         std::vector<Dense> outputs = copies_of(of.expected);
                         outputs[output] = rearranged(of.expected[output], shape, [&](Indices i) {
                           i[a] %= wrap;
                           return i;
                         });
                         return outputs;
                       }});
}

/// The outputs of the reference for an input that repeats along the other of two axes.
std::optional<std::vector<Dense>> repeated_elsewhere(const Observed& of, std::size_t input,
                                                     std::size_t a, std::size_t b) {
  const Indices& own = of.of.inputs[input].shape;
  if ((own[a] == 1) == (own[b] == 1)) return std::nullopt;
  Case other = of.of;
  Indices& moved = other.inputs[input].shape;
  std::swap(moved[a], moved[b]);
  other.inputs[input].layout = {};
  try {
    complete(other);
  } catch (const Error&) {  // the extents match no size there
    return std::nullopt;
  }
  for (std::size_t k = 0; k < other.outputs.size(); ++k)
    if (other.outputs[k].shape != of.of.outputs[k].shape) return std::nullopt;
  std::vector<Dense> inputs = copies_of(of.inputs);
  std::vector<std::int64_t> strides = place(own, {}).strides;
  std::swap(strides[a], strides[b]);
  for_each_element(moved, strides, [&](std::int64_t to, std::int64_t from) {
    inputs[input].set(to, of.inputs[input].at(from));
  });
  return recompute(other, std::move(inputs));
}

void add_repeated(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    const Indices& shape = o.of.inputs[k].shape;
    if (std::ranges::find(shape, 1) == shape.end()) continue;
    for (std::size_t a = 0; a < shape.size(); ++a)
      for (std::size_t b = a + 1; b < shape.size(); ++b) {
        all.push_back({"another axis",
                       fmt::format("with {} repeated along the other of its axes {} and {}",
                                   o.of.inputs[k].name, a, b),
                       [=](const Observed& of) { return repeated_elsewhere(of, k, a, b); }});
        all.back().strict = true;
      }
  }
}

}  // namespace

std::vector<Hypothesis> location_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) add_axes(all, o, k);
  add_neighbours(all, o);
  add_wraps(all, o);
  add_repeated(all, o);
  return all;
}

Dense rearranged(const Dense& x, const Indices& shape,
                 const std::function<Indices(Indices)>& from) {
  Dense y(x.dtype(), x.count());
  Indices index(shape.size(), 0);
  for (std::int64_t linear = 0; linear < x.count(); ++linear) {
    std::int64_t rest = linear;
    for (std::size_t k = shape.size(); k-- > 0; rest /= shape[k]) index[k] = rest % shape[k];
    const Indices source = from(index);
    std::int64_t at = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) at = at * shape[k] + source[k];
    y.set(linear, x.at(at));
  }
  return y;
}

std::string axis_name(const Observed& o, std::size_t input, std::size_t axis) {
  return o.of.program->inputs[input].shape()[axis].to_string();
}

}  // namespace mote::diagnosis
