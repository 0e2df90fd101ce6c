// SPDX-License-Identifier: Apache-2.0
// Tries whether a kernel takes a tensor for row-major: it reads, or writes, the elements one after
// another from the first on, whatever lies there.
#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "diagnosis/found.h"
#include "judge/outcome.h"
#include "run/buffer.h"

namespace mote::diagnosis {
namespace {

constexpr std::int64_t kMostElements = 4096;

/// For each element the one that lies where it would be in a row-major tensor; nothing lies in a
/// gap.
std::vector<std::optional<std::int64_t>> in_memory(const std::vector<std::int64_t>& shape,
                                                   const CaseLayout& layout) {
  std::unordered_map<std::int64_t, std::int64_t> elements;
  for_each_element(shape, place(shape, layout).strides,
                   [&](std::int64_t linear, std::int64_t at) { elements.emplace(at, linear); });
  std::vector<std::optional<std::int64_t>> found(static_cast<std::size_t>(volume(shape)));
  for (std::size_t k = 0; k < found.size(); ++k)
    if (const auto at = elements.find(static_cast<std::int64_t>(k)); at != elements.end())
      found[k] = at->second;
  return found;
}

Dense poisoned(DType dtype, std::int64_t count, Poison poison, Role role) {
  Dense all(dtype, count);
  const std::uint64_t bits = poison_bits(poison, role, dtype);
  const std::size_t size = size_of(dtype);
  for (std::int64_t k = 0; k < count; ++k)
    std::memcpy(static_cast<char*>(all.data()) + static_cast<std::size_t>(k) * size, &bits, size);
  return all;
}

bool has_strides(const CaseTensor& t) {
  return !t.layout.contiguous() && t.in_place.empty() && volume(t.shape) > 0 &&
         volume(t.shape) <= kMostElements;
}

Dense as_read(const Dense& x, const CaseTensor& t, Poison poison) {
  Dense read = poisoned(x.dtype(), x.count(), poison, Role::input);
  const auto from = in_memory(t.shape, t.layout);
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k]) read.set(static_cast<std::int64_t>(k), x.at(*from[k]));
  return read;
}

Dense as_written(const Dense& y, const CaseTensor& t, Poison poison) {
  Dense written = poisoned(y.dtype(), y.count(), poison, Role::output);
  const auto to = in_memory(t.shape, t.layout);
  for (std::size_t k = 0; k < to.size(); ++k)
    if (to[k]) written.set(*to[k], y.at(static_cast<std::int64_t>(k)));
  return written;
}

/// True if the kernel's results are those of one that takes these inputs for row-major.
bool explains_inputs(const Observed& o, const std::vector<std::size_t>& inputs) {
  for (const Poison poison : {Poison::first, Poison::second}) {
    std::vector<Dense> read = copies_of(o.inputs);
    for (const std::size_t k : inputs) read[k] = as_read(o.inputs[k], o.of.inputs[k], poison);
    const auto outputs = recompute(o.of, std::move(read));
    if (outputs && explains(o, *outputs)) return true;
  }
  return false;
}

bool explains_output(const Observed& o, std::size_t output) {
  for (const Poison poison : {Poison::first, Poison::second}) {
    std::vector<Dense> outputs = copies_of(o.expected);
    outputs[output] = as_written(o.expected[output], o.of.outputs[output], poison);
    if (explains(o, outputs)) return true;
  }
  return false;
}

Found ignored(const std::string& names, const char* done) {
  return {"strides ignored",
          fmt::format("with the elements of {} {} one after another from the first, as if it were "
                      "row-major, the reference gives what was got",
                      names, done)};
}

std::optional<Found> explanation(const Observed& o) {
  std::vector<std::size_t> all;
  std::string names;
  for (std::size_t k = 0; k < o.of.inputs.size(); ++k) {
    if (!has_strides(o.of.inputs[k])) continue;
    if (explains_inputs(o, {k})) return ignored(o.of.inputs[k].name, "read");
    all.push_back(k);
    names += (names.empty() ? "" : " and of ") + o.of.inputs[k].name;
  }
  if (all.size() > 1 && explains_inputs(o, all)) return ignored(names, "read");
  for (std::size_t k = 0; k < o.of.outputs.size(); ++k)
    if (has_strides(o.of.outputs[k]) && explains_output(o, k))
      return ignored(o.of.outputs[k].name, "written");
  return std::nullopt;
}

}  // namespace

std::optional<Found> by_strides(const Case& c, const Outcome& outcome, const Judge& judge) {
  if (outcome.verdict != Verdict::failed && outcome.verdict != Verdict::nondeterministic)
    return std::nullopt;
  Case plain = c;
  for (auto* tensors : {&plain.inputs, &plain.outputs})
    for (CaseTensor& t : *tensors) t.layout = {};
  const std::optional<Observed> observed = observe(c, outcome);
  if (!observed) return std::nullopt;
  std::optional<Found> found = explanation(*observed);
  return found && !is_failure(judge(plain).verdict) ? found : std::nullopt;
}

}  // namespace mote::diagnosis
