// SPDX-License-Identifier: Apache-2.0
// Writes the copy of a square through transposed registers, and the functions that do it: they
// exchange halves of ever smaller squares between pairs of rows. Those for columns of a panel call
// them.
#include "ir/transposed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/helpers.h"
#include "c/writer.h"
#include "mote/base/dtype.h"

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

/// A processor with smaller vectors has no use for the function, which clang would warn of.
constexpr std::string_view kMayBeUnused = "__attribute__((unused))";

std::string text_of(int rows, const Elements& of) {
  std::string exchanges;
  for (int width = rows / 2; width > 0; width /= 2) exchanges += exchange_text(rows, width);
  return fmt::format(
      "/* y[i, k] = x[k, i] for i, k in 0..{0}, elements of {1} bits; rows are x_row and y_row "
      "elements\n"
      " * apart. */\n"
      "{7}\n"
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
      of.is_truth ? "(row)(r[i] != 0) & 1" : "r[i]", kMayBeUnused);
}

/// Returns the function that fills columns of a panel, whose rest is one by one.
std::string text_of_columns(DType dtype) {
  const int bits = 8 * static_cast<int>(size_of(dtype));
  const std::int64_t rows = size_of_square(dtype);
  return fmt::format(
      "/* y[term, lane] = x[lane, term] for lane in 0..lanes; rows of x are x_row elements apart, "
      "those of\n"
      " * y are adjacent. */\n"
      "{4}\n"
      "static inline void {0}(const {1} *x, int64_t x_row, int64_t terms,\n"
      "    {1} *y, int64_t lanes) {{\n"
      "  int64_t term = 0;\n"
      "  for (; term <= terms - {2}; term += {2})\n"
      "    for (int64_t lane = 0; lane < lanes; lane += {2})\n"
      "      {3}(&x[lane * x_row + term], x_row, &y[term * lanes + lane], lanes);\n"
      "  for (; term < terms; term++)\n"
      "    for (int64_t lane = 0; lane < lanes; lane++)\n"
      "      y[term * lanes + lane] = x[lane * x_row + term];\n"
      "}}\n",
      columns_function(dtype), dtype == DType::f32 ? "float" : "double", rows,
      transpose_function(rows, bits), kMayBeUnused);
}

}  // namespace

std::int64_t size_of_square(DType dtype) {
  constexpr std::int64_t kBytesOfRow = 32;
  return kBytesOfRow / static_cast<std::int64_t>(size_of(dtype));
}

std::string columns_function(DType dtype) {
  return fmt::format("mote_transpose_columns_{}", 8 * size_of(dtype));
}

std::string transpose_function(std::int64_t rows, int bits) {
  return fmt::format("mote_transpose_{0}x{0}_{1}", rows, bits);
}

std::span<const Helper> transpose_helpers() {
  struct Function {
    std::string name, text, calls;
  };
  static const std::vector<Function> functions = [] {
    std::vector<Function> all;
    for (const Elements& of : kElements)
      for (int rows = 2; rows <= kMaxTransposedLanes; rows *= 2)
        all.push_back({function_of(rows, of), text_of(rows, of), ""});
    for (const DType dtype : {DType::f32, DType::f64})
      all.push_back(
          {columns_function(dtype), text_of_columns(dtype),
           transpose_function(size_of_square(dtype), 8 * static_cast<int>(size_of(dtype)))});
    return all;
  }();
  static const std::vector<Helper> helpers = [] {
    std::vector<Helper> all;
    for (const Function& f : functions)
      all.push_back(
          {.name = f.name, .storage = Storage::none, .calls = {f.calls}, .function = f.text});
    return all;
  }();
  return helpers;
}

/// Returns the text of the element where symbols have these values.
std::string Writer::element_where(const std::string& tensor, std::vector<Expr> index,
                                  const std::map<Symbol, Expr>& values, const Facts& facts) const {
  for (Expr& e : index) e = e.substitute(values);
  return printer_.element(*find_tensor(p_, tensor), index, facts);
}

void Writer::transposed_loops(const Loop& l, const Facts& facts) {
  const auto square = transposed_square(p_, l);
  if (!square) {
    transposed_columns(l, facts);
    return;
  }
  const std::map<Symbol, Expr> first = {{square->rows->variable, square->rows->begin},
                                        {square->lanes->variable, square->lanes->begin}};
  const auto element = [&](const std::string& tensor, const std::vector<Expr>& index) {
    return element_where(tensor, index, first, facts);
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
