// SPDX-License-Identifier: Apache-2.0
// Draws random plain index trees and evaluates them directly.
#include "raw_index.h"

#include <algorithm>

namespace mote::test {

const std::vector<Symbol>& raw_symbols() {
  static const std::vector<Symbol> symbols = {
      Symbol(SymbolKind::loop, "i0"), Symbol(SymbolKind::loop, "i1"),
      Symbol(SymbolKind::loop, "i2"), Symbol(SymbolKind::size, "dA0"),
      Symbol(SymbolKind::size, "KH"), Symbol(SymbolKind::param, "p")};
  return symbols;
}

RawIndex draw_raw(Choices& choices, int depth) {
  static constexpr char kOps[] = {'+', '-', '*', '/', '%', 'm', 'M', 'n', '+', '/', '%', '*'};
  const int kind = choices.below(4);
  RawIndex raw;
  if (depth == 0 || kind == 0 || choices.done()) {
    raw.op = choices.below(3) == 0 ? 'c' : 's';
    raw.value = choices.between(-7, 7);
    raw.symbol = choices.below(static_cast<int>(raw_symbols().size()));
    return raw;
  }
  raw.op = kOps[choices.below(static_cast<int>(sizeof kOps))];
  raw.args.push_back(draw_raw(choices, depth - 1));
  if (raw.op == 'n') return raw;
  raw.args.push_back(draw_raw(choices, depth - 1));
  if (choices.below(4) == 0 && (raw.op == '/' || raw.op == '%')) {
    // This form triggers the rules: x/s·s + x%s, and multiples of s in the dividend.
    RawIndex multiple{'*', 0, 0, {raw.args[1], draw_raw(choices, 1)}};
    raw.args[0] = RawIndex{'+', 0, 0, {raw.args[0], multiple}};
    RawIndex other = raw;
    other.op = raw.op == '/' ? '%' : '/';
    RawIndex& quotient = raw.op == '/' ? raw : other;
    quotient = RawIndex{'*', 0, 0, {quotient, quotient.args[1]}};
    return RawIndex{'+', 0, 0, {raw, other}};
  }
  return raw;
}

Expr build(const RawIndex& raw) {
  if (raw.op == 'c') return raw.value;
  if (raw.op == 's') return raw_symbols()[static_cast<std::size_t>(raw.symbol)];
  const Expr a = build(raw.args[0]);
  if (raw.op == 'n') return -a;
  const Expr b = build(raw.args[1]);
  switch (raw.op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case 'm':
      return min(a, b);
    default:
      return max(a, b);
  }
}

std::optional<std::int64_t> evaluate_raw(const RawIndex& raw, const std::vector<std::int64_t>& at) {
  if (raw.op == 'c') return raw.value;
  if (raw.op == 's') return at[static_cast<std::size_t>(raw.symbol)];
  const auto left = evaluate_raw(raw.args[0], at);
  if (!left) return {};
  if (raw.op == 'n') return -*left;
  const auto right = evaluate_raw(raw.args[1], at);
  if (!right) return {};
  const std::int64_t a = *left, b = *right;
  std::int64_t result = 0;
  if (raw.op == '+') result = a + b;
  if (raw.op == '-') result = a - b;
  if (raw.op == '*' && __builtin_mul_overflow(a, b, &result)) return {};
  if (raw.op == 'm') result = std::min(a, b);
  if (raw.op == 'M') result = std::max(a, b);
  if (raw.op == '/' || raw.op == '%') {
    if (b == 0) return {};
    std::int64_t quotient = a / b;
    const std::int64_t rest = a - b * quotient;
    if (rest != 0 && (rest < 0) != (b < 0)) --quotient;  // the remainder has the divisor's sign
    result = raw.op == '/' ? quotient : a - b * quotient;
  }
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  if (result > kLimit || result < -kLimit) return {};
  return result;
}

std::string to_string(const RawIndex& raw) {
  if (raw.op == 'c') return std::to_string(raw.value);
  if (raw.op == 's') return raw_symbols()[static_cast<std::size_t>(raw.symbol)].to_string();
  const std::string a = to_string(raw.args[0]);
  if (raw.op == 'n') return "(-" + a + ")";
  const std::string b = to_string(raw.args[1]);
  if (raw.op == 'm' || raw.op == 'M') {
    return (raw.op == 'm' ? "min(" : "max(") + a + ", " + b + ")";
  }
  return "(" + a + " " + raw.op + " " + b + ")";
}

std::vector<std::int64_t> draw_point(Choices& choices, int low, int high) {
  std::vector<std::int64_t> point;
  for (std::size_t i = 0; i < raw_symbols().size(); ++i)
    point.push_back(choices.between(low, high));
  return point;
}

std::map<Symbol, std::int64_t> as_map(const std::vector<std::int64_t>& point) {
  std::map<Symbol, std::int64_t> values;
  for (std::size_t i = 0; i < point.size(); ++i) values[raw_symbols()[i]] = point[i];
  return values;
}

}  // namespace mote::test
