// SPDX-License-Identifier: Apache-2.0
#include "registry/size_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "mote/base/characters.h"
#include "mote/base/integer_arithmetic.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

/// The maximum depth of nesting; deeper texts are rejected.
constexpr int kMaxDepth = 32;

int location_of(std::vector<std::string>& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  const auto location = static_cast<int>(at - names.begin());
  if (at == names.end()) names.emplace_back(name);
  return location;
}

}  // namespace

/// A recursive-descent parser; each function appends the steps that it read.
class SizeTextParser {
 public:
  using Kind = SizeText::Kind;

  SizeTextParser(SizeText& result, SizeNames& names) : result_(result), names_(names) {}

  void parse() {
    sum(0);
    skip_blanks();
    if (at_ != text().size()) fail();
  }

 private:
  const std::string& text() const { return result_.text_; }
  [[noreturn]] void fail() const {
    throw StatusError(MOTE_INVALID, "axis '" + text() + "': no size can be read from character " +
                                        std::to_string(at_ + 1) + " on");
  }
  void skip_blanks() {
    while (at_ < text().size() && text()[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text().size() || text()[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  void push(Kind kind, std::int64_t value = 0) { result_.steps_.push_back({kind, value}); }

  void sum(int depth) {
    if (depth > kMaxDepth) fail();
    product(depth);
    while (true) {
      const Kind kind = take('+') ? Kind::add : take('-') ? Kind::sub : Kind::number;
      if (kind == Kind::number) return;
      product(depth);
      push(kind);
    }
  }
  void product(int depth) {
    factor(depth);
    while (true) {
      const Kind kind = take('*')   ? Kind::mul
                        : take('/') ? Kind::div
                        : take('%') ? Kind::mod
                                    : Kind::number;
      if (kind == Kind::number) return;
      factor(depth);
      push(kind);
    }
  }
  void factor(int depth) {
    if (take('-')) {
      if (depth >= kMaxDepth) fail();
      push(Kind::number, 0);
      factor(depth + 1);
      push(Kind::sub);
    } else if (take('(')) {
      sum(depth + 1);
      expect(')');
    } else if (take('$')) {
      push(Kind::param, location_of(names_.params, word()));
    } else {
      primary(depth);
    }
  }
  void primary(int depth) {
    const std::string_view name = word();
    if (is_digit(name.front())) {
      std::int64_t value = 0;
      const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), value);
      if (failed != std::errc() || end != name.data() + name.size()) fail();
      push(Kind::number, value);
    } else if ((name == "min" || name == "max") && take('(')) {
      sum(depth + 1);
      expect(',');
      sum(depth + 1);
      expect(')');
      push(name == "min" ? Kind::min : Kind::max);
    } else {
      push(Kind::size, location_of(names_.sizes, name));
    }
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text().size() && is_word(text()[at_])) ++at_;
    if (at_ == begin) fail();
    return std::string_view(text()).substr(begin, at_ - begin);
  }

  SizeText& result_;
  SizeNames& names_;
  std::size_t at_ = 0;
};

SizeText::SizeText(std::string_view text, SizeNames& names) : text_(text) {
  SizeTextParser(*this, names).parse();
}

namespace {

/// Arithmetic that detects overflow.
struct Checked {
  bool overflows = false;
  std::int64_t add(std::int64_t a, std::int64_t b) {
    overflows |= __builtin_add_overflow(a, b, &a);
    return a;
  }
  std::int64_t sub(std::int64_t a, std::int64_t b) {
    overflows |= __builtin_sub_overflow(a, b, &a);
    return a;
  }
  std::int64_t mul(std::int64_t a, std::int64_t b) {
    overflows |= __builtin_mul_overflow(a, b, &a);
    return a;
  }
};

}  // namespace

LinearForm SizeText::joined(Kind kind, const LinearForm& a, const LinearForm& b) const {
  Checked c;
  LinearForm r;
  r.size = a.size >= 0 ? a.size : b.size;
  if (kind == Kind::add) {
    r.scale = c.add(a.scale, b.scale);
    r.offset = c.add(a.offset, b.offset);
  } else if (kind == Kind::sub) {
    r.scale = c.sub(a.scale, b.scale);
    r.offset = c.sub(a.offset, b.offset);
  } else if (kind == Kind::mul) {
    r.scale = c.add(c.mul(a.scale, b.offset), c.mul(a.offset, b.scale));
    r.offset = c.mul(a.offset, b.offset);
  } else if (kind == Kind::min || kind == Kind::max) {
    r.offset = kind == Kind::min ? std::min(a.offset, b.offset) : std::max(a.offset, b.offset);
  } else {
    if (b.offset < 1)
      throw StatusError(MOTE_INVALID,
                        "axis '" + text_ + "' divides by " + std::to_string(b.offset));
    const std::int64_t quotient = floor_div(a.offset, b.offset);
    r.offset = kind == Kind::div ? quotient : a.offset - quotient * b.offset;
  }
  if (c.overflows) throw StatusError(MOTE_INVALID, "axis '" + text_ + "' overflows");
  return r;
}

std::optional<LinearForm> SizeText::evaluate(std::span<const std::optional<std::int64_t>> sizes,
                                             std::span<const std::int64_t> params) const {
  std::vector<LinearForm> stack;
  for (const Step& step : steps_) {
    const auto location = static_cast<std::size_t>(step.value);
    if (step.kind == Kind::number) {
      stack.push_back({.scale = 0, .offset = step.value, .size = -1});
    } else if (step.kind == Kind::param) {
      stack.push_back({.scale = 0, .offset = params[location], .size = -1});
    } else if (step.kind == Kind::size) {
      const bool known = sizes[location].has_value();
      stack.push_back(known ? LinearForm{0, *sizes[location], -1}
                            : LinearForm{1, 0, static_cast<int>(step.value)});
    } else {
      const LinearForm b = stack.back();
      stack.pop_back();
      LinearForm& a = stack.back();
      const bool sums = step.kind == Kind::add || step.kind == Kind::sub;
      const bool both = a.size >= 0 && b.size >= 0;
      const bool any = a.size >= 0 || b.size >= 0;
      if (any && !sums && (both || step.kind != Kind::mul)) return std::nullopt;
      if (both && a.size != b.size) return std::nullopt;
      a = joined(step.kind, a, b);
    }
  }
  return stack.back();
}

}  // namespace mote
