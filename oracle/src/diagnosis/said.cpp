// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/said.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "mote/uops/map_ops.h"

namespace mote::diagnosis {
namespace {

constexpr std::size_t kLine = 76;  ///< characters
constexpr int kDeepest = 12;
constexpr int kMaxNodes = 500;  ///< the maximum that one text visits

using text::Precedence;
using enum text::Precedence;

struct Said {
  std::string text;
  Precedence precedence = kTight;
};

std::string within(const Said& s, Precedence around) {
  return s.precedence < around ? "(" + s.text + ")" : s.text;
}

/// The operator between two arguments; also % for mod, which program text writes as a function.
std::optional<Infix> infix(MapOp op) {
  return op == MapOp::mod ? Infix{"%", kProduct} : info(op).infix;
}

/// True for a cast that changes values and not only their storage. Positions and sizes are not
/// changed.
bool narrows(const Uop& from, DType to) {
  if (std::holds_alternative<uop::Iota>(from.node().kind)) return false;
  if (is_real(from.dtype())) return !is_real(to) || size_of(to) <= size_of(from.dtype());
  if (is_real(to)) return size_of(from.dtype()) >= 4 && size_of(to) <= size_of(from.dtype());
  return size_of(to) < size_of(from.dtype());
}

Expr named(const std::string& name) { return Expr::size(name); }

std::string text_of(const Expr& e) {
  std::string text = e.to_string();
  std::erase(text, '$');
  return text;
}

class Sayer {
 public:
  explicit Sayer(int depth) : deepest_(depth) {}

  std::string whole(const Uop& u) {
    std::vector<Expr> at;
    for (int axis = 0; axis < u.rank(); ++axis) at.push_back(named(fresh(u, axis)));
    return say(u, at, 0).text;
  }

 private:
  /// A name for an axis that is not yet in scope.
  std::string fresh(const Uop& u, int axis) {
    constexpr const char* kLetters = "ijklmnpqrstuvw";
    const auto& names = u.node().axis_names;
    const auto k = static_cast<std::size_t>(axis);
    std::string name = k < names.size() ? names[k] : "";
    if (name.empty()) name = std::string(1, kLetters[k % 14]);
    while (std::ranges::find(scope_, name) != scope_.end()) name += "'";
    scope_.push_back(name);
    return name;
  }

  Said say(const Uop& u, const std::vector<Expr>& at, int depth) {
    if (++seen_ > kMaxNodes) return {"…"};
    return std::visit([&](const auto& kind) { return say(u, kind, at, depth); }, u.node().kind);
  }

  Said say(const Uop&, const uop::Input& input, const std::vector<Expr>& at, int) {
    std::vector<std::string> index;
    for (const Expr& e : at) index.push_back(text_of(e));
    return {index.empty() ? input.name : fmt::format("{}[{}]", input.name, fmt::join(index, ", "))};
  }
  Said say(const Uop&, const uop::Scalar& s, const std::vector<Expr>&, int) {
    const bool negative = s.value.as_real() < 0;
    return {s.value.is_real() ? fmt::format("{}", s.value.real())
                              : fmt::format("{}", s.value.integer()),
            negative ? kUnary : kTight};
  }
  Said say(const Uop&, const uop::Param& p, const std::vector<Expr>&, int) { return {p.name}; }

  Said say(const Uop&, const uop::Iota& i, const std::vector<Expr>& at, int) {
    const Expr value = i.value.substitute(loops(at));
    const bool simple = value.terms().size() <= 1 && value.as_atom() != nullptr;
    return {text_of(value), simple || value.constant() ? kTight : kSum};
  }

  Said say(const Uop&, const uop::Reindex& r, const std::vector<Expr>& at, int depth) {
    std::vector<Expr> from;
    for (const Expr& e : r.from) from.push_back(e.substitute(loops(at)));
    return say(r.x, from, depth);
  }

  Said say(const Uop& u, const uop::Map& m, const std::vector<Expr>& at, int depth) {
    if (m.op == MapOp::cast && !narrows(m.args[0], u.dtype())) return say(m.args[0], at, depth);
    if (depth >= deepest_) return {"…"};
    std::vector<Said> args;
    for (const Uop& arg : m.args)
      args.push_back(say(arg, arg.rank() == 0 ? std::vector<Expr>() : at, depth + 1));
    if (const auto sign = infix(m.op)) {
      const Said& b = args[1];
      // A comparison of comparisons needs no parentheses here: only people read it.
      const Precedence own = sign->precedence == kEquality ? kRelation : sign->precedence;
      if (m.op == MapOp::mul && args[0].text == b.text && b.text != "…")
        return {within(b, kTight) + "^2", kProduct};
      if (m.op == MapOp::mul && b.text.starts_with("1/"))
        return {within(args[0], kProduct) + b.text.substr(1), kProduct};
      const bool closed = m.op == MapOp::sub || m.op == MapOp::div || m.op == MapOp::mod;
      const auto right = static_cast<Precedence>(own + (closed ? 1 : 0));
      const bool is_tight = own == kProduct && m.op != MapOp::mod;
      return {fmt::format("{}{}{}{}{}", within(args[0], own), is_tight ? "" : " ", sign->symbol,
                          is_tight ? "" : " ", within(b, right)),
              own};
    }
    switch (m.op) {
      case MapOp::neg:
        return {"-" + within(args[0], kUnary), kUnary};
      case MapOp::recip:
        return {"1/" + within(args[0], kUnary), kProduct};
      case MapOp::rsqrt:
        return {fmt::format("1/sqrt({})", args[0].text), kProduct};
      case MapOp::logical_not:
        return {"!" + within(args[0], kUnary), kUnary};
      case MapOp::where:
        return {fmt::format("{} ? {} : {}", within(args[0], kOr), within(args[1], kOr),
                            within(args[2], kTernary)),
                kTernary};
      case MapOp::cast:
        return {fmt::format("{}({})", name(u.dtype()), args[0].text)};
      default:
        break;
    }
    std::vector<std::string> texts;
    for (const Said& s : args) texts.push_back(s.text);
    return {fmt::format("{}({})", name(m.op), fmt::join(texts, ", "))};
  }

  Said say(const Uop&, const uop::Reduce& r, const std::vector<Expr>& at, int depth) {
    if (depth >= deepest_) return {"…"};
    const std::size_t outer = scope_.size();
    std::vector<Expr> inner;
    std::vector<std::string> over;
    std::size_t kept = 0;
    for (int axis = 0; axis < r.x.rank(); ++axis) {
      if (std::ranges::find(r.axes, axis) == r.axes.end()) {
        inner.push_back(at[kept++]);
        continue;
      }
      over.push_back(fresh(r.x, axis));
      inner.push_back(named(over.back()));
    }
    const std::string x = say(r.x, inner, depth + 1).text;
    scope_.resize(outer);
    return {fmt::format("{}_{}({})", name(r.op), fmt::join(over, ","), x)};
  }

  Said say(const Uop&, const uop::Select& s, const std::vector<Expr>& at, int depth) {
    std::vector<Expr> from = at;
    from[static_cast<std::size_t>(s.axis)] = named(say(s.index, at, depth + 1).text);
    return say(s.x, from, depth);
  }

  Said say(const Uop&, const uop::Scatter& s, const std::vector<Expr>& at, int depth) {
    return scattered(s.op, s.base, s.x, at, "", depth);
  }
  Said say(const Uop&, const uop::SelectScatter& s, const std::vector<Expr>& at, int depth) {
    const std::size_t outer = scope_.size();
    std::vector<Expr> from;
    for (int axis = 0; axis < s.x.rank(); ++axis) from.push_back(named(fresh(s.x, axis)));
    const std::string index = say(s.index, from, depth + 1).text;
    scope_.resize(outer);
    return scattered(s.op, s.base, s.x, at, " at " + index, depth);
  }
  Said scattered(ScatterOp op, const Uop& base, const Uop& x, const std::vector<Expr>& at,
                 const std::string& where, int depth) {
    if (depth >= deepest_) return {"…"};
    const std::size_t outer = scope_.size();
    std::vector<Expr> from;
    for (int axis = 0; axis < x.rank(); ++axis) from.push_back(named(fresh(x, axis)));
    const std::string written = say(x, from, depth + 1).text;
    scope_.resize(outer);
    return {
        fmt::format("({}, then {} {}{})", say(base, at, depth + 1).text, name(op), written, where)};
  }

  Said say(const Uop&, const uop::StopGradient& s, const std::vector<Expr>& at, int depth) {
    return say(s.x, at, depth);
  }

  static std::map<Symbol, Expr> loops(const std::vector<Expr>& at) {
    std::map<Symbol, Expr> all;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      all.emplace(*Expr::loop(static_cast<int>(axis)).as_symbol(), at[axis]);
    return all;
  }

  int deepest_;
  int seen_ = 0;
  std::vector<std::string> scope_;
};

/// The number of characters, of which "…" is one.
std::size_t length(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut(std::string text) {
  if (length(text) <= kLine) return text;
  text.resize(kLine - 1);
  while (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
  return text + "…";
}

/// True if the text may be cut at that position: no name, number or "…" crosses it.
bool may_be_cut(const std::string& text, std::size_t at) {
  constexpr const char* kEnds = " ([,+-*/";
  return at > 0 && at < text.size() && std::string_view(kEnds).find(text[at]) != std::string::npos;
}

/// Two texts longer than a line, from shortly before the position at which they differ. They stay
/// as they are if they differ near the beginning.
std::pair<std::string, std::string> from_first_difference(const std::string& a,
                                                          const std::string& b) {
  constexpr std::ptrdiff_t kContext = 24;  ///< characters that both have
  if (length(a) <= kLine && length(b) <= kLine) return {a, b};
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(differ - kContext, 0));
  while (at > 0 && !may_be_cut(a, at)) --at;
  if (at == 0) return {a, b};
  return {"…" + a.substr(at), "…" + b.substr(at)};
}

}  // namespace

std::pair<std::string, std::string> said(const Uop& value, const Uop& instead) {
  std::pair<std::string, std::string> best;
  for (int depth = kDeepest; depth > 0; --depth) {
    const std::string was = Sayer(depth).whole(value), is = Sayer(depth).whole(instead);
    if (was == is && !best.first.empty()) break;
    best = from_first_difference(was, is);
    if (length(best.first) <= kLine && length(best.second) <= kLine) break;
  }
  return {cut(best.first), cut(best.second)};
}

std::string said(const Uop& value) {
  std::string text;
  for (int depth = kDeepest; depth > 0; --depth) {
    text = Sayer(depth).whole(value);
    if (length(text) <= kLine) break;
  }
  return cut(text);
}

}  // namespace mote::diagnosis
