// SPDX-License-Identifier: Apache-2.0
#include "array_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace mote::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kManyElements = 1000;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kColumns = 100;

/// The shortest text that reads back as that element.
std::string element_text(const TensorValues& t, std::int64_t linear) {
  const Number n = t.at(linear);
  if (t.dtype == DType::boolean) return n.integer() != 0 ? "true" : "false";
  if (!n.is_real()) return std::to_string(n.integer());
  if (std::isnan(n.real())) return "nan";
  return t.dtype == DType::f64 ? fmt::format("{}", n.real())
                               : fmt::format("{}", static_cast<float>(n.real()));
}

class ArrayPrinter {
 public:
  ArrayPrinter(const TensorValues& t, bool whole)
      : t_(t), cuts_(!whole && t.count() > kManyElements) {
    visit_all(0, 0, [&](std::int64_t linear) {
      width_ = std::max(width_, element_text(t_, linear).size());
    });
  }

  std::string text() {
    if (t_.shape.empty()) return element_text(t_, 0);
    brackets(0, 0);
    return out_;
  }

 private:
  /// The indices of an axis that are shown; -1 stands for those that are left out.
  std::vector<std::int64_t> shown(std::size_t axis) const {
    const std::int64_t extent = t_.shape[axis];
    std::vector<std::int64_t> indices;
    for (std::int64_t k = 0; k < extent; ++k) {
      const bool is_left_out = cuts_ && extent > 2 * kEdge && k >= kEdge && k < extent - kEdge;
      if (!is_left_out) indices.push_back(k);
      if (is_left_out && k == kEdge) indices.push_back(-1);
      if (is_left_out) k = extent - kEdge - 1;
    }
    return indices;
  }

  template <typename F>
  void visit_all(std::size_t axis, std::int64_t linear, const F& f) const {
    if (axis == t_.shape.size()) return f(linear);
    for (const std::int64_t k : shown(axis))
      if (k >= 0) visit_all(axis + 1, linear * t_.shape[axis] + k, f);
  }

  void brackets(std::size_t axis, std::int64_t linear) {
    const std::string margin(axis + 1, ' ');
    out_ += '[';
    bool is_first = true;
    const bool is_row = axis + 1 == t_.shape.size();
    for (const std::int64_t k : shown(axis)) {
      if (!is_first)
        out_ += is_row ? "," : ",\n" + (axis + 2 < t_.shape.size() ? "\n" + margin : margin);
      const std::int64_t at = linear * t_.shape[axis] + std::max<std::int64_t>(k, 0);
      if (k < 0) {
        out_ += is_row && !is_first ? " …" : "…";
      } else if (is_row) {
        add_element(element_text(t_, at), is_first, margin);
      } else {
        brackets(axis + 1, at);
      }
      is_first = false;
    }
    out_ += ']';
  }

  /// Adds an element on the same line if it is short enough.
  void add_element(const std::string& text, bool is_first, const std::string& margin) {
    const std::string padded = std::string(width_ - text.size(), ' ') + text;
    const std::size_t line = out_.size() - (out_.rfind('\n') + 1);
    if (is_first)
      out_ += padded;
    else if (line + 1 + padded.size() + 1 > kColumns)
      out_ += "\n" + margin + padded;
    else
      out_ += " " + padded;
  }

  const TensorValues& t_;
  bool cuts_;
  std::size_t width_ = 0;
  std::string out_;
};

OrderedJson element_json(const TensorValues& t, std::int64_t linear) {
  const Number n = t.at(linear);
  if (t.dtype == DType::boolean) return n.integer() != 0;
  if (!n.is_real()) return n.integer();
  return std::isfinite(n.real()) ? OrderedJson(n.real()) : OrderedJson(element_text(t, linear));
}

OrderedJson nested_json(const TensorValues& t, std::size_t axis, std::int64_t linear) {
  if (axis == t.shape.size()) return element_json(t, linear);
  OrderedJson all = OrderedJson::array();
  for (std::int64_t k = 0; k < t.shape[axis]; ++k)
    all.push_back(nested_json(t, axis + 1, linear * t.shape[axis] + k));
  return all;
}

}  // namespace

std::string array_text(const TensorValues& t, bool whole) {
  return fmt::format("{} {}[{}]\n{}\n", t.name, name(t.dtype), fmt::join(t.shape, ","),
                     ArrayPrinter(t, whole).text());
}

std::string array_json(const TensorValues& t, const char* role) {
  const OrderedJson all = {{"tensor", t.name},
                           {"role", role},
                           {"dtype", name(t.dtype)},
                           {"shape", t.shape},
                           {"values", nested_json(t, 0, 0)}};
  return all.dump() + "\n";
}

}  // namespace mote::tool
