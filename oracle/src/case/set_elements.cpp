// SPDX-License-Identifier: Apache-2.0
#include "case/set_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "mote/base/error.h"
#include "mote/oracle/text.h"

namespace mote {
namespace {

template <typename T>
bool read(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

/// Removes and returns the part before the separator.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

std::vector<std::int64_t> parse_index(const CaseTensor& t, std::string_view text) {
  std::vector<std::int64_t> index;
  bool inside = true;
  while (!text.empty() && inside) {
    const std::string_view word = cut(text, ',');
    const std::size_t axis = index.size();
    std::int64_t at = -1;
    inside = axis < t.shape.size() && read(word, at) && at >= 0 && at < t.shape[axis];
    index.push_back(at);
  }
  if (!inside || index.size() != t.shape.size())
    throw Error(fmt::format("set: expected an index of {}[{}]", t.name, fmt::join(t.shape, ",")));
  return index;
}

Number parse_value(const CaseTensor& t, std::string_view text) {
  double real = 0;
  std::int64_t whole = 0;
  if (is_real(t.dtype) && read(text, real)) return real;
  if (!is_real(t.dtype) && read(text, whole)) return whole;
  throw Error(
      fmt::format("set: expected a value of {} for {}, got '{}'", name(t.dtype), t.name, text));
}

SetElement parse_element(const Case& c, std::string_view text) {
  std::string_view rest = text;
  const std::string tensor(cut(rest, '['));
  const std::string_view index = cut(rest, ']');
  const auto t = std::ranges::find(c.inputs, tensor, &CaseTensor::name);
  if (t == c.inputs.end() || !rest.starts_with('='))
    throw Error(fmt::format("set: expected INPUT[INDEX]=VALUE, got '{}'", text));
  return {tensor, parse_index(*t, index), parse_value(*t, rest.substr(1))};
}

bool repeats(const CaseTensor& t, std::size_t axis) {
  return std::ranges::count(t.layout.repeated, static_cast<int>(axis)) > 0;
}

}  // namespace

std::vector<SetElement> parse_set(const Case& c, std::string_view text) {
  std::vector<SetElement> set;
  while (!text.empty()) set.push_back(parse_element(c, cut(text, ';')));
  return set;
}

std::string to_string(const std::vector<SetElement>& set) {
  std::vector<std::string> parts;
  for (const SetElement& e : set)
    parts.push_back(
        fmt::format("{}[{}]={}", e.tensor, fmt::join(e.index, ","), number_text(e.value)));
  return fmt::format("{}", fmt::join(parts, ";"));
}

void apply_set(const Case& c, const CaseTensor& t, Dense& values) {
  const std::vector<std::int64_t> strides = place(t.shape, {}).strides;
  for (const SetElement& e : c.set) {
    if (e.tensor != t.name) continue;
    std::vector<std::int64_t> repeated(t.shape.size(), 1);  // the extents of its block
    std::int64_t first = 0;
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      if (repeats(t, axis))
        repeated[axis] = t.shape[axis];
      else
        first += e.index[axis] * strides[axis];
    }
    for_each_element(repeated, strides,
                     [&](std::int64_t, std::int64_t at) { values.set(first + at, e.value); });
  }
}

std::vector<SetElement> moved_elements(const Case& to, const Case& from) {
  std::vector<SetElement> moved;
  for (SetElement e : from.set) {
    const auto t = std::ranges::find(to.inputs, e.tensor, &CaseTensor::name);
    if (t == to.inputs.end() || t->shape.size() < e.index.size() || volume(t->shape) == 0) continue;
    e.index.insert(e.index.begin(), t->shape.size() - e.index.size(), 0);
    for (std::size_t axis = 0; axis < e.index.size(); ++axis)
      e.index[axis] = std::min(e.index[axis], t->shape[axis] - 1);
    std::erase_if(moved, [&](const SetElement& before) {
      return before.tensor == e.tensor && before.index == e.index;
    });
    moved.push_back(std::move(e));
  }
  return moved;
}

}  // namespace mote
