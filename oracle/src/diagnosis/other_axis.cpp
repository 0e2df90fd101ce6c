// SPDX-License-Identifier: Apache-2.0
// Hypotheses in which one input, or all that share an axis, is read at a wrong index of the output:
// a bias by its location in the group, the keys of another head.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/shared_axes.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

constexpr std::size_t kMaxSlices = 256;  ///< slices of an axis, each computed alone

/// A rule that gives the index read in an input from one index of the output.
struct ReadAt {
  std::string text;
  /// Takes (case, index along the output's axis, its extent, the input's extent).
  std::function<std::optional<std::int64_t>(const Case&, std::int64_t, std::int64_t, std::int64_t)>
      of;
};

std::vector<ReadAt> reads_at(const Observed& o) {
  using Read = std::optional<std::int64_t>;
  std::vector<ReadAt> all = {{"at the index of axis {}",
                              [](const Case&, auto i, auto, auto extent) -> Read {
                                if (i >= extent) return std::nullopt;
                                return i;
                              }},
                             {"at the index of axis {} modulo its extent",
                              [](const Case&, auto i, auto whole, auto extent) -> Read {
                                if (whole <= extent) return std::nullopt;
                                return i % extent;
                              }},
                             {"at the index of axis {} in blocks",
                              [](const Case&, auto i, auto whole, auto extent) -> Read {
                                if (whole <= extent || whole % extent != 0) return std::nullopt;
                                return i / (whole / extent);
                              }}};
  for (const ParamDecl& p : o.of.program->params) {
    if (!p.is_integer) continue;
    const auto group = [name = p.name](const Case& c, std::int64_t extent) -> Read {
      const std::int64_t parts = c.params.at(name).integer();
      if (parts < 2 || extent % parts != 0) return std::nullopt;
      return extent / parts;
    };
    all.push_back({"at the index of axis {} within one of " + p.name + " parts",
                   [group](const Case& c, auto i, auto, auto extent) -> Read {
                     const Read size = group(c, extent);
                     if (!size) return std::nullopt;
                     return i % *size;
                   }});
    all.push_back({"at the part of axis {}, one of " + p.name,
                   [group](const Case& c, auto i, auto, auto extent) -> Read {
                     const Read size = group(c, extent);
                     if (!size || i / *size >= extent) return std::nullopt;
                     return i / *size;
                   }});
  }
  return all;
}

/// The outputs with each wrong element replaced by the reference's for inputs that are constant
/// along their axis, with the values at one index of it.
std::optional<std::vector<Dense>> read_at(const Observed& of, const SharedAxis& axis,
                                          std::size_t output_axis, const ReadAt& read) {
  const auto extent = extent_of(of, axis);
  if (extent.value_or(0) < 2) return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  std::map<std::int64_t, std::vector<Dense>> by_slice;
  for (const Difference& d : of.outcome.differences) {
    const auto t = std::ranges::find(of.of.outputs, d.tensor, &CaseTensor::name);
    if (t == of.of.outputs.end() || output_axis >= t->shape.size()) return std::nullopt;
    const auto at = read.of(of.of, d.index[output_axis], t->shape[output_axis], *extent);
    if (!at) return std::nullopt;
    if (!by_slice.contains(*at)) {
      if (by_slice.size() == kMaxSlices) return std::nullopt;
      auto computed = recompute(of.of, moved_along(of, axis, [&](auto) { return *at; }));
      if (!computed) return std::nullopt;
      by_slice.emplace(*at, *std::move(computed));
    }
    const auto k = static_cast<std::size_t>(t - of.of.outputs.begin());
    const std::int64_t linear = position(d, t->shape);
    outputs[k].set(linear, by_slice.at(*at)[k].at(linear));
  }
  return outputs;
}

void add_reads(std::vector<Hypothesis>& all, const Observed& o, const SharedAxis& axis) {
  std::size_t rank = 0;
  for (const CaseTensor& t : o.of.outputs) rank = std::max(rank, t.shape.size());
  for (const ReadAt& read : reads_at(o))
    for (std::size_t b = 0; b < rank; ++b)
      all.push_back({"another index",
                     fmt::format("with {} of {} read {} of the output", axis.name,
                                 members_text(o, axis), fmt::format(fmt::runtime(read.text), b)),
                     [=](const Observed& of) { return read_at(of, axis, b, read); }});
}

/// The axes of a tensor whose extents are two given sizes; nullopt: none.
struct TwoAxes {
  std::optional<std::size_t> a, b;
};
TwoAxes axes_of(const std::vector<Expr>& shape, Symbol a, Symbol b) {
  TwoAxes axes;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k].as_symbol() == a) axes.a = k;
    if (shape[k].as_symbol() == b) axes.b = k;
  }
  return axes;
}

/// A tensor of that shape with the two axes exchanged.
Dense exchanged(const Dense& x, const Indices& shape, const TwoAxes& axes) {
  Indices result = shape;
  std::swap(result[*axes.a], result[*axes.b]);
  Dense y(x.dtype(), x.count());
  std::vector<std::int64_t> strides = place(shape, {}).strides;
  std::swap(strides[*axes.a], strides[*axes.b]);
  for_each_element(result, strides,
                   [&](std::int64_t to, std::int64_t from) { y.set(to, x.at(from)); });
  return y;
}

/// The op along the other of two axes, which are exchanged before and after it.
std::optional<std::vector<Dense>> along_other_axis(const Observed& of, Symbol a, Symbol b) {
  const Program& program = *of.of.program;
  const std::int64_t na = of.of.binding.values.at(a), nb = of.of.binding.values.at(b);
  Case c = of.of;
  std::vector<Dense> inputs = copies_of(of.inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const TwoAxes axes = axes_of(program.inputs[k].shape(), a, b);
    if (axes.a && axes.b) {
      inputs[k] = exchanged(inputs[k], c.inputs[k].shape, axes);
      std::swap(c.inputs[k].shape[*axes.a], c.inputs[k].shape[*axes.b]);
    } else if ((axes.a || axes.b) && na != nb) {
      return std::nullopt;
    }
  }
  try {
    complete(c);
  } catch (const Error&) {
    return std::nullopt;
  }
  auto outputs = recompute(c, std::move(inputs));
  for (std::size_t k = 0; outputs && k < outputs->size(); ++k) {
    const TwoAxes axes = axes_of(program.outputs[k].value.shape(), a, b);
    if (axes.a && axes.b)
      (*outputs)[k] = exchanged((*outputs)[k], c.outputs[k].shape, axes);
    else if ((axes.a || axes.b) && na != nb)
      return std::nullopt;
  }
  return outputs;
}

}  // namespace

std::vector<Hypothesis> along_other_axis_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  const auto& values = o.of.binding.values;
  for (auto a = values.begin(); a != values.end(); ++a)
    for (auto b = std::next(a); b != values.end(); ++b)
      if (a->first.kind() == SymbolKind::size && b->first.kind() == SymbolKind::size)
        all.push_back(
            {"another axis",
             fmt::format("with {} and {} in each other's place,", a->first.name(), b->first.name()),
             [a = a->first, b = b->first](const Observed& of) {
               return along_other_axis(of, a, b);
             }});
  return all;
}

std::vector<Hypothesis> index_of_other_axis_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  for (const SharedAxis& axis : shared_axes(o)) {
    add_reads(all, o, axis);
    if (axis.members.size() < 2) continue;
    for (const auto& member : axis.members) add_reads(all, o, {axis.name, {member}});
  }
  return all;
}

}  // namespace mote::diagnosis
