// SPDX-License-Identifier: Apache-2.0
// Writes the copy of a square through transposed registers, and the functions that do it: they
// exchange halves of ever smaller squares between pairs of rows.
#include "ir/transposed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "c/helpers.h"
#include "c/writer.h"
#include "mote/base/dtype.h"
#include "mote/base/error.h"

namespace mote::emit {
namespace {

/// The elements of a square; truths that are read may be any byte.
struct Elements {
  int bytes;
  bool is_truth = false;
};
constexpr std::array kElements = {Elements{1}, Elements{1, true}, Elements{2}, Elements{4},
                                  Elements{8}};

Elements elements_of(DType dtype) {
  return {static_cast<int>(size_of(dtype)), dtype == DType::boolean};
}

std::string function_of(std::int64_t rows, const Elements& of) {
  if (of.is_truth) return fmt::format("mote_transpose_{0}x{0}_bool", rows);
  return transpose_function(rows, 8 * of.bytes);
}

/// Returns the lanes of rows a and b (those of b count on from a's) of which row `half` of a pair
/// consists, where squares of `width` rows exchange halves.
std::vector<int> exchanged_lanes(int rows, int width, int half) {
  std::vector<int> lanes;
  for (int k = 0; k < rows; ++k) {
    const bool is_of_b = k / width % 2 == 1;
    lanes.push_back(k + (is_of_b ? rows - width : 0) + half * width);
  }
  return lanes;
}

std::string exchange_text(int rows, int width) {
  const auto row = [&](const char* name, int half) {
    return wrap(fmt::format("      {} = __builtin_shufflevector(a, b, {});", name,
                            fmt::join(exchanged_lanes(rows, width, half), ", "))) +
           "\n";
  };
  return fmt::format(
      "#pragma GCC unroll {0}\n"
      "  for (int i = 0; i < {0}; i++)\n"
      "    if ((i & {1}) == 0) {{\n"
      "      const row a = r[i], b = r[i + {1}];\n{2}{3}    }}\n",
      rows, width, row("r[i]", 0), row(fmt::format("r[i + {}]", width).c_str(), 1));
}

std::string text_of(int rows, const Elements& of) {
  std::string exchanges;
  for (int width = rows / 2; width > 0; width /= 2) exchanges += exchange_text(rows, width);
  return fmt::format(
      "/* y[i, k] = x[k, i] for i, k in 0..{0}, elements of {1} bits; rows are x_row and y_row "
      "elements\n"
      " * apart. */\n"
      "static inline void {2}(const void *x, int64_t x_row, void *y, int64_t y_row) {{\n"
      "  typedef uint{1}_t row __attribute__((vector_size({3}), aligned({4}), may_alias));\n"
      "  row r[{0}];\n"
      "#pragma GCC unroll {0}\n"
      "  for (int i = 0; i < {0}; i++) r[i] = *(const row *)((const char *)x + i * x_row * {4});\n"
      "{5}"
      "#pragma GCC unroll {0}\n"
      "  for (int i = 0; i < {0}; i++) *(row *)((char *)y + i * y_row * {4}) = {6};\n"
      "}}\n",
      rows, 8 * of.bytes, function_of(rows, of), rows * of.bytes, of.bytes, exchanges,
      of.is_truth ? "(row)(r[i] != 0) & 1" : "r[i]");
}

}  // namespace

std::string transpose_function(std::int64_t rows, int bits) {
  return fmt::format("mote_transpose_{0}x{0}_{1}", rows, bits);
}

std::span<const Helper> transpose_helpers() {
  static const std::vector<std::pair<std::string, std::string>> texts = [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Elements& of : kElements)
      for (int rows = 2; rows <= kMaxTransposedLanes; rows *= 2)
        all.emplace_back(function_of(rows, of), text_of(rows, of));
    return all;
  }();
  static const std::vector<Helper> helpers = [] {
    std::vector<Helper> all;
    for (const auto& [name, text] : texts)
      all.push_back({.name = name, .storage = Storage::none, .function = text});
    return all;
  }();
  return helpers;
}

void Writer::transposed_loops(const Loop& l, const Facts& facts) {
  const auto square = transposed_square(p_, l);
  if (!square) throw InternalError("emit_c: a transposed loop copies no square");
  const std::map<Symbol, Expr> first = {{square->rows->variable, square->rows->begin},
                                        {square->lanes->variable, square->lanes->begin}};
  const auto element = [&](const std::string& tensor, std::vector<Expr> index) {
    for (Expr& e : index) e = e.substitute(first);
    return printer_.element(*find_tensor(p_, tensor), index, facts);
  };
  const std::string& x = square->load->tensor;
  const std::string& y = square->store->tensor;
  const std::string function = function_of(square->size, elements_of(find_tensor(p_, x)->dtype));
  printer_.uses().call(function);
  line(fmt::format("{}(&{}, {}, &{}, {});", function, element(x, square->load->index),
                   printer_.named_stride(x, square->lane_axis), element(y, square->store->index),
                   printer_.named_stride(y, square->row_axis)));
}

}  // namespace mote::emit
