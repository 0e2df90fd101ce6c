// SPDX-License-Identifier: Apache-2.0
// Errors of graph text: each says line and column, what it got and what was expected. Text that
// asks for much memory or depth is refused or read, at once.
#include <gtest/gtest.h>

#include "mote/runtime/status.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

std::string error_of_text(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

/// Returns the error of statements behind the header of a graph with inputs x and w.
std::string error_in(const std::string& statements) {
  const std::string error = error_of_text("graph g(x f32[2,3], w f32[3,2]) -> (x)\n" + statements);
  const std::string prefix = "graph text: ";
  return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
}

TEST(TextErrors, OfTheHeader) {
  EXPECT_EQ(error_of_text(""),
            "graph text: line 1, column 1: expected 'graph', got the end of the text");
  EXPECT_EQ(error_of_text("op g"), "graph text: line 1, column 1: expected 'graph', got 'op'");
  EXPECT_EQ(error_of_text("graph g(x f31[2]) -> ()"),
            "graph text: line 1, column 11: unknown dtype 'f31', did you mean f32?");
  EXPECT_EQ(error_of_text("graph g(x f32[-2]) -> ()"),
            "graph text: line 1, column 15: expected an extent of at least 0, got -2");
  EXPECT_EQ(error_of_text("graph g(x f32[2,?]) -> ()"),
            "graph text: line 1, column 17: expected an extent, got '?': only a whole shape may be "
            "left open, as in f32[?]");
  EXPECT_EQ(error_of_text("graph g(x f32[2], x f32[2]) -> ()"),
            "graph text: line 1, column 19: two symbols of g would have the name 'x'");
  EXPECT_EQ(error_of_text("graph g(_ f32[2]) -> ()"),
            "graph text: line 1, column 9: expected the name of a new symbol, got '_'");
  EXPECT_EQ(error_of_text("graph g(input f32[2]) -> (inptu)"),
            "graph text: line 1, column 27: g has no symbol 'inptu', did you mean input?");
  EXPECT_EQ(error_of_text("graph g(x f32[2]@0:0) -> ()"),
            "graph text: line 1, column 18: expected a type of device in 1..31, got 0");
  EXPECT_EQ(error_of_text("graph g() -> () y = relu(x)"),
            "graph text: line 1, column 17: expected the end of the statement, got 'y'");
}

TEST(TextErrors, OfNodes) {
  EXPECT_EQ(error_in("y = matmul(x, v)"), "line 2, column 15: g has no symbol 'v'");
  EXPECT_EQ(error_in("y = matmull(x, w)"),
            "line 2, column 5: unknown op 'matmull': did you mean matmul, qmatmul?");
  EXPECT_EQ(error_in("y = softmax(x, axes=1)"),
            "line 2, column 5: softmax: unknown parameter 'axes'");
  EXPECT_EQ(error_in("y = leaky_relu(x, alfa=1)"),
            "line 2, column 5: leaky_relu: unknown parameter 'alfa', did you mean alpha?");
  EXPECT_EQ(error_in("y = softmax(x, axis=0.5)"),
            "line 2, column 21: expected the number of an axis, got 0.5");
  EXPECT_EQ(error_in("y, z = relu(x)"),
            "line 2, column 4: node 0 't2' (relu) has 1 outputs, got 2");
  EXPECT_EQ(error_in("x = relu(x)"), "line 2, column 1: two symbols of g would have the name 'x'");
  EXPECT_EQ(error_in("y = relu x"), "line 2, column 10: expected '(' behind relu, got 'x'");
  EXPECT_EQ(error_in("y = relu(x"), "line 2, column 11: expected ',', got the end of the text");
  EXPECT_EQ(error_in("y = tensor f32[2,3]\ny <- relu(x)\ny <- relu(x)"),
            "line 4, column 6: relu would write y, of which node 0 'y' (relu) writes elements");
  EXPECT_EQ(
      error_in("y = function \"f\"(x)"),
      "line 2, column 5: a function writes symbols that are declared: expected '<-', got '='");
  EXPECT_EQ(error_in("function \"f\"(x)"), "line 2, column 10: unknown function \"f\"");
  EXPECT_EQ(error_in("y = copy(x)"), "line 2, column 5: copy needs the form of y, got none");
  EXPECT_EQ(error_in("x <- copy(w, f32[2,3])"),
            "line 2, column 6: x has a form already, got another one");
  EXPECT_EQ(error_in("x <- fill(1)"), "line 2, column 6: fill would write x, which is an input");
}

TEST(TextErrors, OfSymbolsAndClauses) {
  EXPECT_EQ(error_in("y = x.slic(0, 0, 1, 1)"),
            "line 2, column 7: unknown view 'slic', did you mean slice?");
  EXPECT_EQ(error_in("y = x.slice(0, 0, 1)"), "line 2, column 7: slice needs 4 numbers, got 3");
  EXPECT_EQ(
      error_in("y = x.select(0, 2)"),
      "line 2, column 7: tensor: slice 2, count 1, step 1 along axis 0 of f32[2,3]: leaves 0..1");
  EXPECT_EQ(error_in("y, z = x.select(0, 1)"),
            "line 2, column 10: expected NAME = select: it makes one symbol");
  EXPECT_EQ(error_in("y = tensor f32[?]"),
            "line 2, column 12: expected extents, got '[?]': only inputs may lack them");
  EXPECT_EQ(error_in("c = constant f32[2] [1]"),
            "line 2, column 21: f32[2] needs 2 elements, got fewer");
  EXPECT_EQ(error_in("c = constant f32[2] [1, 2, 3]"),
            "line 2, column 21: f32[2] needs 2 elements, got more");
  EXPECT_EQ(error_in("c = constant u8[1] [256]"),
            "line 2, column 21: expected an integer in 0..255 for u8, got 256");
  EXPECT_EQ(error_in("c = constant f16[1] [65520]"),
            "line 2, column 22: 65520 is beyond the values of f16");
  EXPECT_EQ(error_in("y = relu(x) after z"), "line 2, column 19: g has no symbol 'z'");
  EXPECT_EQ(error_in("y = relu(x) after x"), "line 2, column 19: no node writes x");
  EXPECT_EQ(error_in("@step: y = relu(x)\nz = relu(x) after @stop"),
            "line 3, column 20: no node has the name @stop, did you mean step?");
  EXPECT_EQ(error_in("y = relu(x) after y"),
            "line 2, column 19: node 0 'y' (relu) would come after itself");
  EXPECT_EQ(error_in("@a: y = relu(x)\n@a: z = relu(x)"),
            "line 3, column 2: two nodes have the name @a");
  EXPECT_EQ(error_in("@a: y = x.select(0, 1)"), "line 2, column 2: @a names no node");
  EXPECT_EQ(error_in("y = relu(x) recompute 0"),
            "line 2, column 23: expected a segment from 1, got 0");
}

// ---- hostile text

TEST(TextErrors, SizesAreCheckedBeforeMemoryIsAskedFor) {
  EXPECT_EQ(error_in("c = constant f32[1000000000000] [1]"),
            "line 2, column 33: f32[1000000000000] needs 1000000000000 elements, got fewer");
  EXPECT_EQ(error_in("c = constant f32[2]:100000000000 [1, 2]"),
            "line 2, column 34: the gaps between the elements of f32[2]:100000000000 take too much "
            "memory: 399999999996 bytes");
  EXPECT_EQ(
      error_in("y = tensor f32[9223372036854775807,2]"),
      "line 2, column 12: tensor: the size of f32[9223372036854775807,2] is beyond 2^63-1 bytes "
      "(64-bit overflow)");
  EXPECT_NE(error_in("y = x.broadcast(9223372036854775807,2,3)"), "");
  EXPECT_NE(error_in("y = tensor f32[1]:9223372036854775807,1"), "");
  EXPECT_EQ(error_in("y = tensor f32[1,1,1,1,1,1,1,1,1,1,1,1,1]"),
            "line 2, column 40: a tensor has at most 12 axes, got one more");
}

TEST(TextErrors, GapsOfManyConstantsAreCountedTogether) {
  std::string text;
  for (int k = 0; k < 20; ++k)
    text += "c" + std::to_string(k) + " = constant u8[2]:" + std::to_string(kMaxConstantGaps / 16) +
            " [1, 2]\n";
  EXPECT_NE(error_in(text).find("line 18"), std::string::npos) << error_in(text);
}

TEST(TextErrors, DeepViewsAndLongListsAreRead) {
  constexpr std::size_t kDepth = 100000;
  std::string text = "graph g(x f32[2]) -> (v" + std::to_string(kDepth - 1) + ")\n";
  for (std::size_t k = 0; k < kDepth; ++k)
    text += "  v" + std::to_string(k) + " = " +
            (k == 0 ? std::string("x") : "v" + std::to_string(k - 1)) + ".permute(0)\n";
  EXPECT_EQ(to_text(parse_graph(text)), text);
  std::string arguments;
  for (std::size_t k = 0; k < kDepth; ++k) arguments += (k == 0 ? "x" : ", x");
  EXPECT_EQ(error_in("y = add(" + arguments + ")"),
            "line 2, column 5: add: takes at most 2 inputs, got 100000");
}

TEST(TextErrors, NamesOfAnyLengthAreCompared) {
  const std::string longest(10'000'000, 'a');
  EXPECT_EQ(error_in(longest + " = relu(x)\ny = relu(" + std::string(200, 'a') + ")"),
            "line 3, column 10: g has no symbol '" + std::string(200, 'a') + "'");
}

TEST(TextErrors, EachBrokenByteIsAnErrorOrAGraph) {
  const std::string text =
      "graph \"g\"(x f32[2,3,1,1], l i64[?], u f32[2]) -> (y, q)\n"
      "  p = tensor f32[2,3]:1,2@1:1\n  v = p.slice(0, 0, 1, -1)\n  v <- fill(-0.5)\n"
      "  c = constant f16[2] [1e-3, -nan]\n  @n \"\": y = leaky_relu(x, alpha=0.25) recompute 2\n"
      "  q, _ = mul.grad(x, x, x) after y, @n\n";
  ASSERT_EQ(error_of_text(text), "");
  for (std::size_t k = 0; k < text.size(); ++k)
    for (const char c :
         {'\0', '\n', ' ', '"', '(', ')', '[', ']', '_', '-', '9', ',', '\xFF', '@'}) {
      std::string broken = text;
      broken[k] = c;
      const std::string error = error_of_text(broken);
      EXPECT_EQ(error.find('\n'), std::string::npos);
      if (error.empty()) {
        const std::string printed = to_text(parse_graph(broken));
        EXPECT_EQ(to_text(parse_graph(printed)), printed);
      }
      const std::string cut = error_of_text(text.substr(0, k));
      EXPECT_EQ(cut.find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace mote
