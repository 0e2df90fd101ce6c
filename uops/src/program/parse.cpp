// SPDX-License-Identifier: Apache-2.0
// Parses program text: one statement after another, then make_program.
//
//   op NAME ["equation"]                              size OH = INDEX
//   param NAME int|real [= default] [in LO..HI] ["meaning"]
//   input x f32[N, ci: $groups*CG, 1|P]               input x f32 rank 3
//   require INDEX = INDEX                             name = VALUE
//   output y = VALUE                                  output y
//
// `#` opens a comment; a statement may continue over lines inside brackets; `;` ends one, too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "graph/node.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/uops/element_type.h"
#include "mote/uops/language.h"
#include "program/language.h"
#include "program/value_parse.h"

namespace mote {
namespace {

class ProgramParser {
 public:
  ProgramParser(std::string_view text, std::optional<std::pair<DType, DType>> element_type)
      : text_(text) {
    scope_.element_type = element_type;
  }

  Program run() {
    text_.next_statement();
    while (!text_.at_end()) {
      statement();
      if (!text_.at_statement_end()) text_.expected("the end of the statement");
      text_.next_statement();
    }
    if (spec_.name.empty()) text_.fail(0, "there is no 'op NAME'");
    spec_.params = scope_.params;
    try {
      return make_program(std::move(spec_));
    } catch (const ProgramError& error) {
      text_.fail(place(error.culprit()), error.what());
    }
  }

 private:
  // Returns the position of the node's text, or of the statement.
  std::size_t place(const Culprit& culprit) const {
    switch (culprit.kind) {
      case Culprit::Kind::node:
        return positions_.find(culprit.node).value_or(op_at_);
      case Culprit::Kind::param:
        return params_at_.at(culprit.entry);
      case Culprit::Kind::input:
        return inputs_at_.at(culprit.entry);
      case Culprit::Kind::output:
        return outputs_at_.at(culprit.entry);
      case Culprit::Kind::size:
        return sizes_at_.at(culprit.entry);
      case Culprit::Kind::require:
        return requires_at_.at(culprit.entry);
      case Culprit::Kind::program:
        break;
    }
    return op_at_;
  }

  void statement() {
    const std::size_t at = statement_at_ = text_.position();
    const std::string word =
        text_.word("a statement (op, param, input, size, require, output or NAME =)");
    if (const std::optional<Statement> known = find_statement(word)) return statement(at, *known);
    if (!text_.peek("=") || text_.peek("==")) unknown_statement(at, word);
    text_.expect("=");
    define(at, word, parse_value(text_, scope_, positions_));
  }

  void statement(std::size_t at, Statement known) {
    switch (known) {
      case Statement::op:
        return op(at);
      case Statement::param:
        return param();
      case Statement::input:
        return input();
      case Statement::size:
        return size();
      case Statement::require:
        return require();
      case Statement::output:
        return output();
    }
  }

  [[noreturn]] void unknown_statement(std::size_t at, const std::string& word) const {
    const std::vector<std::string_view> words = language_words().statements;
    text_.fail(at,
               fmt::format("unknown statement '{}'{} (known: {}, NAME = VALUE)", word.substr(0, 32),
                           did_you_mean(word, std::vector<std::string>(words.begin(), words.end())),
                           fmt::join(words, ", ")));
  }

  void op(std::size_t at) {
    if (!spec_.name.empty()) text_.fail(at, "a second 'op'");
    op_at_ = at;
    spec_.name = text_.word("the op's name");
    while (text_.accept(".")) spec_.name += "." + text_.word("the op's name");
    if (text_.peek("\"")) spec_.equation = text_.string();
  }

  void param() {
    const std::size_t at = text_.position();
    ParamDecl p;
    p.name = text_.word("the parameter's name");
    for (const ParamDecl& other : scope_.params)
      if (other.name == p.name) text_.fail(at, fmt::format("a second parameter '{}'", p.name));
    p.is_integer = text_.accept_word("int");
    if (!p.is_integer && !text_.accept_word("real")) text_.expected("'int' or 'real'");
    if (text_.accept("=")) {
      const std::size_t value_at = text_.position();
      const Literal value = text_.literal(text_.accept("-"));
      if (p.is_integer && !value.is_integer)
        text_.fail(value_at, fmt::format("{} is not an integer", value.text));
      p.default_value = value.real;
    }
    if (text_.accept_word("in")) range(p);
    if (text_.peek("\"")) p.meaning = text_.string();
    scope_.params.push_back(std::move(p));
    params_at_.push_back(statement_at_);
  }

  void range(ParamDecl& p) {
    if (!p.is_integer) text_.fail(text_.position(), "a range is for integers");
    if (!text_.peek("..")) p.lower = text_.integer();
    text_.expect("..");
    if (text_.at_number() || text_.peek("-")) p.upper = text_.integer();
  }

  void input() {
    const std::size_t at = text_.position();
    const std::string name = text_.word("the input's name");
    const std::size_t dtype_at = text_.position();
    const std::string word = text_.word("a dtype");
    const std::optional<DType> dtype = scope_.dtype(word);
    if (!dtype) unknown_dtype(dtype_at, word);
    Uop u;
    if (text_.accept_word("rank")) {
      const std::int64_t rank = text_.integer();
      if (rank > kMaxRank) text_.fail(at, fmt::format("rank {} is above {}", rank, kMaxRank));
      u = text_.build(at, [&] { return mote::input(name, *dtype, static_cast<int>(rank)); });
    } else {
      text_.open("[");
      const Shape shape = text_.axes();
      text_.close("]");
      u = text_.build(at, [&] { return mote::input(name, *dtype, shape); });
    }
    define(at, name, u);
    positions_.note(u, statement_at_);
    spec_.inputs.push_back(u);
    inputs_at_.push_back(statement_at_);
  }

  [[noreturn]] void unknown_dtype(std::size_t at, const std::string& word) const {
    std::vector<std::string> known;
    for (const DType d : all_dtypes()) known.emplace_back(name(d));
    text_.fail(at, fmt::format("unknown dtype '{}'{} (known: {})", word, did_you_mean(word, known),
                               fmt::join(known, ", ")));
  }

  void size() {
    NamedSize s;
    s.name = text_.word("the size's name");
    text_.expect("=");
    ParsedExpr parsed = text_.index("");
    s.value = std::move(parsed.expr);
    add(parsed.constraints);
    spec_.sizes.push_back(std::move(s));
    sizes_at_.push_back(statement_at_);
  }

  void require() {
    ParsedExpr left = text_.index("=");
    text_.expect("=");
    ParsedExpr right = text_.index("");
    add(left.constraints);
    add(right.constraints);
    add({{std::move(left.expr), std::move(right.expr)}});
  }

  void add(const std::vector<Constraint>& constraints) {
    for (const Constraint& c : constraints) {
      spec_.constraints.push_back(c);
      requires_at_.push_back(statement_at_);
    }
  }

  void output() {
    const std::size_t at = text_.position();
    const std::string name = text_.word("the output's name");
    for (const Output& o : spec_.outputs)
      if (o.name == name) text_.fail(at, fmt::format("a second output '{}'", name));
    if (text_.accept("=")) {
      define(at, name, parse_value(text_, scope_, positions_));
    } else if (!scope_.values.contains(name)) {
      text_.fail(at, fmt::format("output '{}' is no earlier value, write output {} = VALUE{}", name,
                                 name, did_you_mean(name, scope_.order)));
    }
    spec_.outputs.push_back({name, scope_.values.at(name)});
    outputs_at_.push_back(statement_at_);
  }

  void define(std::size_t at, const std::string& name, Uop u) {
    if (is_reserved_word(name))
      text_.fail(at, fmt::format("'{}' is a word of the language, not a name", name));
    if (!scope_.values.emplace(name, std::move(u)).second)
      text_.fail(at, fmt::format("'{}' has a value already", name));
    scope_.order.push_back(name);
  }

  ProgramCursor text_;
  Scope scope_;
  ProgramSpec spec_;
  Positions positions_;
  std::size_t op_at_ = 0;
  std::size_t statement_at_ = 0;  ///< position of the statement that is being read
  std::vector<std::size_t> params_at_, inputs_at_, outputs_at_, sizes_at_, requires_at_;
};

}  // namespace

Program parse_program(std::string_view text) { return ProgramParser(text, std::nullopt).run(); }

DType element_type(const Program& program) {
  for (const Uop& input : program.inputs)
    if (is_real(input.dtype())) return input.dtype();
  return program.inputs.empty() ? program.outputs.at(0).value.dtype()
                                : program.inputs.front().dtype();
}

Program parse_program(std::string_view text, DType dtype) {
  Program own = parse_program(text);
  const DType said = element_type(own);
  if (said == dtype) return own;
  return ProgramParser(text, std::pair(said, dtype)).run();
}

Program parse_program_file(std::string_view file, std::string_view text,
                           std::optional<DType> dtype) {
  std::string where(file);
  try {
    Program own = parse_program(text);
    const DType said = element_type(own);
    if (!dtype || *dtype == said) return own;
    where += fmt::format(": with {} in place of {}", name(*dtype), name(said));
    return parse_program(text, *dtype);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", where, e.what()));
  }
}

}  // namespace mote
