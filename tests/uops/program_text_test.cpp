// SPDX-License-Identifier: Apache-2.0
// Tests the text form: parse(print(p)) equals p, printed text is stable and looks as a person
// writes it, errors give line and column, and no text makes the parser crash.
#include <gtest/gtest.h>

#include <algorithm>

#include "caught.h"
#include "property.h"

namespace mote {
namespace {

using test::error_of;

const std::map<std::string, std::string>& programs() {
  static const std::map<std::string, std::string> all = {{"conv2d", R"(op conv2d "y = sum x*w"
param stride_h int = 1 in 1.. "rows"
param stride_w int = 1 in 1..
param dilation_h int = 1 in 1..8
param pad_top int
param pad_left int = -1 in ..4
param groups int = 1 in 1..
input x f32[N, ci: $groups*CG, H, W]
input w f32[co: $groups*CO, CG, KH, KW]
size OH = (H + 2*$pad_top - $dilation_h*(KH - 1) - 1)/$stride_h + 1
size OW = (W + 2*$pad_left - (KW - 1) - 1)/$stride_w + 1
xw = x[i0, i1*CG + i5, i3*$stride_h + i6*$dilation_h - $pad_top, i4*$stride_w + i7 - $pad_left
       over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
ww = w[i1*CO + i2, i5, i6, i7 over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
row = iota(i3*$stride_h + i6*$dilation_h - $pad_top over N, $groups, CO, OH, OW, CG, KH, KW)
inside = row >= 0 && row < iota(H over N, $groups, CO, OH, OW, CG, KH, KW)
s = sum[5, 6, 7](where(inside, xw*ww, 0))
output y = s[i0, i1/CO, i1%CO, i2, i3 over N, co: $groups*CO, OH, OW]
)"},
                                                         {"softmax", R"(op softmax
input x f32[R, C]
m = max[1](x)     # the greatest
e = exp(x - stop_gradient(m[i0 over R, C]))
output y = e / sum[1 keep](e)
)"},
                                                         {"layer_norm", R"(op layer_norm
param eps real = 1e-5 "added to the variance"
input x f32[R, C]; input gamma f32[C]; input beta f32[C]
d = x - mean[1 keep](x)
output y = d * rsqrt(mean[1 keep](d*d) + $eps) * gamma[i1 over R, C] + beta[i1 over R, C]
)"},
                                                         {"best", R"(op best
input x f64[R, C]
i = argmax[1](x)
output y = select[1](x, i[i0 over R, 1] else -1)
output position = i
)"},
                                                         {"matmul", R"(op matmul
input a f32 rank 2
input b f32 rank 2
output y = sum[2](a[i0, i2 over da0, db1, da1[=db0]] * b[i2, i1 over da0, db1, db0])
)"},
                                                         {"broadcast", R"(op broadcast
input a i32[1|A, b: 1|B]
input b i32[1|C, 1|D]
output y = where(a < b, a*2, b - -3)
)"},
                                                         {"precedence", R"(op precedence
input a f64[N]
input b f64[N]
input p bool[N]
output y = -(a + b)*a - (b - a)/(a/b) - -a - (-1)*b
output z = (a < b || p) && (p || a >= b) || !=
)"},
                                                         {"functions", R"(op functions
param alpha real
param k int = 3
input x f32[N]
input n i64[N]
input p bool[N]
output a = pow(x, 2) + mod(x, $alpha) - erf(x)*max(x, $k)
output b = n/2 + mod(n, 3)*$k
output c = logical_not(p) && logical_xor(p, true) == isnan(x)
output d = f64(x) + f64(n)
output e = f32($alpha)*2 - f32(1)
output f = i32(i64($k))
)"},
                                                         {"scatters", R"(op scatters
param k real
input x f16[N, M]
input n i64[N, M]
input b f16[K]
output a = scatter[add](b, x to 2*i0 + i1)
output c = scatter[set](b, 0.5*x + b[i1 over N, M] to i0)
output d = select_scatter[1, max](x, x*2, n)
output e = scatter[mul](sum[0, 1](x), x[i0, 1 over N] to)
output f = bf16(x) + bf16($k)
output g = shift_left(u8(n), 3)
output h = philox(n, i64(12))
)"},
                                                         {"constants", R"(op constants
input x f64[N]
input n i64[N]
output a = f64(where(x > 0.1, inf, -inf))
output b = x*(1/3) + nan*-0.0
output c = x[i0 - 1 over N + 1 else -inf]
output d = n[-i0 + 3 over 4 else -9223372036854775808]
output e = f32(2.5)
output f = i32(2147483647)[over N] + i32(1)
output g = x + 1e300 + 1e-300
)"},
                                                         {"reductions", R"(op reductions
input x f32[A, B, C]
input p bool[A, B, C]
output a = x / sum[0, 1, 2](x)
output b = sum[0, 2 keep](x)
output c = x - sum[0, 2 keep](x) - max[1 keep](x) * prod[1](x)[i0, i2 over A, B, C]
output d = any[0](p) && all[0](p)
output e = min[1](x)[0, i0 over C]
output f = argmin[0, 2](x)
output g = mean[0](x) + mean[1 keep](x)[0, 0, 0 over]
)"},
                                                         {"constraints", R"(op constraints
input a f32[A*B]
input b f32[C*D]
input s f32[A, B, C, D]
size Q = A*B + 1
require A + B = C*D + 1
output y = a + b
output z = a[i0 - 1 over q: Q]
)"},
                                                         {"outputs", R"(op outputs.grad
input x f32[N]
e = exp(x)
output y = e
output z = e
output w = y*y
output v = x
output u = w
)"},
                                                         {"long", R"(op long
input x f32[N]
a = exp(x)*2 + log(x)*3 + sqrt(x)*4 + tanh(x)*5 + sin(x)*6 + cos(x)*7 + tan(x)*8 + erf(x)*9 + abs(x)
output y = where(a > 0 && a < 1 && x > 0 && x < 100000 && a + x > 2 && a - x < 3, a*x, a + x + 1)
)"}};
  return all;
}

std::string text_of(const std::string& name) {
  std::string text = programs().at(name);
  const std::size_t bad = text.find(" || !=");
  return bad == std::string::npos ? text : text.erase(bad, 6);
}

TEST(ProgramText, ParsesBackToAnEqualProgram) {
  for (const auto& [name, text] : programs()) {
    const Program p = parse_program(text_of(name));
    const std::string printed = to_string(p);
    const Program q = parse_program(printed);
    EXPECT_TRUE(equal(p, q)) << printed;
    EXPECT_EQ(to_string(q), printed);
    EXPECT_EQ(q.equation, p.equation);
    for (std::size_t k = 0; k < p.params.size(); ++k)
      EXPECT_EQ(q.params[k].meaning, p.params[k].meaning);
  }
}

TEST(ProgramText, ReadsAsWritten) {
  const char* softmax = R"(op softmax
input x f32[R, C]
v1 = exp(x - max[1 keep](x))
output y = v1/sum[1 keep](v1)
)";
  EXPECT_EQ(to_string(parse_program(softmax)), softmax);
  const char* norm = R"(op layer_norm
param eps real = 1e-05
input x f32[R, C]
input gamma f32[C]
v1 = x - mean[1 keep](x)
output y = v1*rsqrt(mean[1 keep](v1*v1) + $eps)*gamma[i1 over R, C]
)";
  EXPECT_EQ(to_string(parse_program(norm)), norm);
  const char* add = R"(op add
input a f32[1|A, 1|B]
input b f32[1|A, 1|B]
output y = a + b
)";
  EXPECT_EQ(to_string(parse_program(add)), add);
  const char* pad = R"(op pad
param pad int in 0..
input x f32[N, C]
size M = N + 2*$pad
output y = x[i0 - $pad, i1 over M, C else -inf]
)";
  EXPECT_EQ(to_string(parse_program(pad)), pad);
}

TEST(ProgramText, LinesStayShort) {
  const std::string printed = to_string(parse_program(text_of("long")));
  std::size_t start = 0;
  for (std::size_t end; (end = printed.find('\n', start)) != std::string::npos; start = end + 1)
    EXPECT_LE(end - start, 100U) << printed;
}

TEST(ProgramText, MeansAndKeptAxesAreThoseOfTheBuilders) {
  const Uop x = input("x", DType::f32, {"R", "C"});
  const Uop d = x - mean(x, {1});
  const Program built = make_program({"p", "", {}, {x}, {{"y", d * sum(d, {0})}}, {}, {}});
  const Program read = parse_program(
      "op p\ninput x f32[R, C]\nd = x - mean[1 keep](x)\noutput y = d*sum[0 keep](d)");
  EXPECT_TRUE(equal(built, read)) << to_string(built) << to_string(read);
}

TEST(ProgramText, LiteralsTakeTheDtypeThatTheyMeet) {
  const Program p = parse_program("op p\ninput n i32[N]\noutput y = n*(7/2)");
  const auto& mul = std::get<uop::Map>(p.outputs[0].value.node().kind);
  EXPECT_EQ(std::get<uop::Scalar>(mul.args[1].node().kind).value.integer(), 3);
  const Program q = parse_program("op q\ninput x f32[N]\noutput y = x*(7/2)");
  const auto& half = std::get<uop::Map>(q.outputs[0].value.node().kind);
  EXPECT_EQ(std::get<uop::Scalar>(half.args[1].node().kind).value.real(), 3.5);
}

// Makes random edits of valid programs: delete, double, swap, overwrite, splice from another one.
std::string mutated(test::Choices& choices) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : programs()) texts.push_back(text_of(name));
  const auto pick = [&](std::size_t n) {
    const int high = choices.below(256);
    return n == 0 ? 0 : static_cast<std::size_t>(high * 256 + choices.below(256)) % n;
  };
  std::string text = texts[pick(texts.size())];
  const std::string symbols = "()[]{}|<>=!&+-*/%.,:;#$\"\\ \n019eixN_\x80";
  for (int edits = choices.between(1, 6); edits > 0; --edits) {
    const std::size_t at = pick(text.size());
    const std::size_t length = std::min<std::size_t>(pick(24), text.size() - at);
    const std::string& other = texts[pick(texts.size())];
    switch (choices.below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.insert(at, 1, symbols[pick(symbols.size())]);
        break;
      case 3:
        text.replace(at, length, std::string(1, symbols[pick(symbols.size())]));
        break;
      default:
        text.insert(at, other.substr(pick(other.size()), pick(24)));
    }
  }
  return text;
}

TEST(ProgramText, MutatedTextIsReadOrRefused) {
  int read = 0;
  const bool held = test::holds(
      "mutated program text parses, or throws Error", 3000,
      [&](test::Choices& choices) {
        const std::string text = mutated(choices);
        std::optional<Program> p;
        try {
          p = parse_program(text);
        } catch (const Error& error) {
          return std::string_view(error.what()).starts_with("program text: line ");
        }
        ++read;
        return equal(*p, parse_program(to_string(*p)));
      },
      80);
  EXPECT_TRUE(held);
  EXPECT_GT(read, 0);  // some texts were accepted
}

}  // namespace
}  // namespace mote
