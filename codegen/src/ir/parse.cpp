// SPDX-License-Identifier: Apache-2.0
// Reads a loop program: what it declares, then its statements. In: text, the source; out: the
// program. What the text says of sizes and parameters must agree with the source.
//
//   softmax(x f32[R, N], $alpha) -> (y f32[R, N])
//   where OH = (H - 3)/$stride + 1                     size count = I*J
//   temporary t f32[R, 64] in each r in registers, u f32    stride 1 of x, axis 1
//   demands N >= 32 && M >= 8                          vectors of 64 bytes, where none are larger
//   native                      multiplies padding                     part of a program
#include "ir/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/text_words.h"
#include "mote/base/error.h"
#include "mote/codegen/parse_loops.h"

namespace mote::loop_text {
namespace {

class HeadParser {
 public:
  HeadParser(Cursor& text, Names& names, LoopProgram& p) : text_(text), names_(names), p_(p) {}

  void run() {
    text_.next_statement();
    p_.name = text_.name_before_bracket();
    text_.open("(");
    if (!text_.peek(")")) {
      do {
        text_.accept("$") ? param() : tensor(TensorRole::input);
      } while (text_.accept(","));
    }
    text_.close(")");
    text_.expect("->");
    text_.open("(");
    if (!text_.peek(")")) tensors(TensorRole::output);
    text_.close(")");
    names_.real = real_dtype_of(p_.tensors);
    do {
      if (!text_.at_statement_end()) text_.expected("the end of the line");
      text_.next_statement();
    } while (line());
    for (const auto& [tensor, extents] : shapes_)
      for (std::size_t k = 0; k < extents.size(); ++k)
        p_.tensors[tensor].shape[k] = index_of(extents[k], text_, names_);
  }

 private:
  bool line() {
    for (const std::string_view word : {"where", "size"})
      if (is_word(word)) return size(word);
    if (is_word("temporary")) {
      text_.accept_word("temporary");
      tensors(TensorRole::temporary);
      return true;
    }
    if (is_word("stride")) return stride();
    if (is_word("demands")) {
      text_.accept_word("demands");
      const Conditions more = conditions_of(parse_syntax(text_, names_), text_, names_);
      p_.demands.insert(p_.demands.end(), more.begin(), more.end());
      return true;
    }
    if (text_.accept_phrase("vectors of")) return vectors();
    return flag(words::kNative, p_.native) || flag(words::kPart, p_.is_part) ||
           flag(words::kMultipliesPadding, p_.multiplies_padding);
  }

  /// Returns true if a line begins with the word; `where = 3` is a statement.
  bool is_word(std::string_view word) {
    if (text_.peek_word() != word) return false;
    const std::string then = text_.behind_word();
    return !then.empty() && then[0] != '=' && then[0] != '[';
  }

  bool flag(std::string_view phrase, bool& holds) {
    if (!text_.peek_phrase(phrase)) return false;
    const std::string then = text_.behind_word();
    if (then.starts_with('=') || then.starts_with('[')) return false;
    text_.accept_phrase(phrase);
    return holds = true;
  }

  void param() {
    const std::size_t at = text_.position();
    const std::string name = text_.word("a parameter's name");
    if (!find_param(*p_.source, name))
      text_.fail(at, fmt::format("unknown parameter '${}': {} has none of that name", name,
                                 p_.source->name));
  }

  /// Reads `where OH = …`, which must be what the source says: OH is short for that value. Behind
  /// `size` it is the size of that name, which is another expression with the same value.
  bool size(std::string_view word) {
    text_.accept_word(word);
    const std::size_t at = text_.position();
    const std::string name = text_.word("a size");
    text_.expect("=");
    const Expr value = index_of(parse_syntax(text_, names_), text_, names_);
    const auto known = std::ranges::find(p_.source->sizes, name, &NamedSize::name);
    if (known == p_.source->sizes.end())
      text_.fail(at, fmt::format("{} has no size {}", p_.source->name, name));
    if (known->value != value)
      text_.fail(at, fmt::format("expected {} = {}, as {} says, got {}", name,
                                 known->value.to_string(), p_.source->name, value.to_string()));
    if (word == "size") names_.sizes[name] = Expr::size(name);
    return true;
  }

  bool stride() {
    text_.accept_word("stride");
    KnownStride known{"", 0, text_.integer()};
    text_.expect_phrase("of");
    known.tensor = text_.word("a tensor");
    text_.expect(",");
    text_.expect_phrase("axis");
    known.axis = text_.small_integer("an axis");
    p_.strides.push_back(std::move(known));
    return true;
  }

  bool vectors() {
    p_.vector_bytes = text_.small_integer("a number of bytes");
    text_.expect_phrase("bytes");
    if (text_.accept(",")) {
      text_.expect_phrase("where none are larger");
      p_.is_for_no_larger_vectors = true;
    }
    return true;
  }

  void tensors(TensorRole role) {
    do tensor(role);
    while (text_.accept(","));
  }

  void tensor(TensorRole role) {
    const std::size_t at = text_.position();
    TensorDecl t{text_.word("a tensor's name"), role, DType::f32, {}, {}};
    if (find_tensor(p_, t.name) != nullptr)
      text_.fail(at, fmt::format("a second tensor '{}'", t.name));
    t.dtype = text_.dtype();
    if (text_.peek("[")) shape(t);
    t.axis_names.resize(t.shape.size());
    while (property(t)) continue;
    names_.known[t.name] = {Names::Meaning::Kind::tensor, t.dtype};
    p_.tensors.push_back(std::move(t));
  }

  void shape(TensorDecl& t) {
    const std::size_t at = text_.position();
    text_.open("[");
    std::vector<Syntax> extents;
    do extents.push_back(parse_syntax(text_, names_));
    while (text_.accept(","));
    text_.close("]");
    if (extents.size() > kMaxRank)
      text_.fail(at, fmt::format("rank {} is above {}", extents.size(), kMaxRank));
    t.shape.resize(extents.size());
    shapes_.emplace_back(p_.tensors.size(), std::move(extents));
  }

  /// Reads what stands behind the shape of a tensor.
  bool property(TensorDecl& t) {
    for (const words::MemoryWords& one : words::kMemories) {
      if (one.words.empty() || !text_.accept_phrase(one.words)) continue;
      t.memory = one.memory;
      return true;
    }
    if (text_.accept_phrase("in each")) {
      t.per = Symbol(SymbolKind::loop, text_.word("a loop's variable"));
      return true;
    }
    if (text_.accept_phrase("in place of")) {
      t.in_place_of = text_.word("a tensor");
      return true;
    }
    if (text_.accept_phrase("for tensor cores")) return t.is_for_tensor_cores = true;
    if (text_.accept_phrase("ordered like axes")) {
      AxesOfInput axes{"", text_.small_integer("an axis"), 0};
      text_.expect_phrase("and");
      axes.last = text_.small_integer("an axis");
      text_.expect_phrase("of");
      axes.tensor = text_.word("an input");
      t.ordered_like = std::move(axes);
      return true;
    }
    if (!text_.accept_word("in")) return false;
    const std::size_t at = text_.position();
    if (!text_.at_number())
      text_.expected(
          "'each', 'registers', 'shared memory', 'local memory', 'fragments', 'place "
          "of' or a number of bits");
    t.integer_bits = text_.small_integer("a number of bits");
    if (t.integer_bits < 1 || t.integer_bits > 64)
      text_.fail(at, fmt::format("expected 1 to 64 bits, got {}", t.integer_bits));
    text_.expect_phrase("bits");
    return true;
  }

  Cursor& text_;
  Names& names_;
  LoopProgram& p_;
  /// The extents of tensors, by position: lines behind them say what the names of sizes mean.
  std::vector<std::pair<std::size_t, std::vector<Syntax>>> shapes_;
};

Names names_of(const Program& source) {
  Names names;
  for (const SizeRule& rule : source.size_rules)
    names.sizes.emplace(rule.size.name(), Expr(rule.size));
  for (const NamedSize& size : source.sizes) names.sizes.emplace(size.name, size.value);
  for (const ParamDecl& param : source.params) names.params.emplace(param.name, param.is_integer);
  return names;
}

}  // namespace

void parse_head(Cursor& text, Names& names, LoopProgram& p) { HeadParser(text, names, p).run(); }

}  // namespace mote::loop_text

namespace mote {

LoopProgram parse_loops(std::string_view text, std::shared_ptr<const Program> source) {
  if (source == nullptr) throw InternalError("parse_loops: there is no source");
  LoopProgram p;
  p.source = std::move(source);
  loop_text::Cursor cursor(text);
  loop_text::Names names = loop_text::names_of(*p.source);
  loop_text::parse_head(cursor, names, p);
  p.body = loop_text::parse_body(cursor, names);
  return p;
}

}  // namespace mote
