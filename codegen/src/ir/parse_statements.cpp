// SPDX-License-Identifier: Apache-2.0
// Reads the statements of a loop program by recursive descent.
//
//   loop   = [kind] "for" i "in" A ".." B ["step" S] {"," j "in" A ".." B ["step" S]}
//            ["of number" N] ["," "where" W "is large"] ["," "adjacent if" …] {"," "prefetches"
//            x[…]}
//            ["with" m "=" "max" ["of" dtype] {"," …}] "{" statements "}"
//   branch = "if" conditions "{" statements "}"
//   others = x[…] "=" value | x[…] "+=" value | m "max=" value ["at" index] | t "=" value
//          | "barrier" | "wait until at most" N "copies are under way"
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/parse.h"
#include "ir/text_words.h"
#include "mote/base/near_names.h"
#include "mote/uops/language.h"

namespace mote::loop_text {
namespace {

using Meaning = Names::Meaning;

/// The loops and branches inside each other that are read: kernels have less than 20.
constexpr int kMaxBlocks = 200;

constexpr std::string_view kStatements =
    "a statement: a loop, a branch, `x[…] = `, `sum += `, `t = `, `barrier` or `wait until`";

class StatementParser {
 public:
  StatementParser(Cursor& text, Names& names) : text_(text), names_(names) {}

  Body run() {
    Body all;
    for (text_.next_statement(); !text_.at_end(); text_.next_statement()) add(all);
    return all;
  }

 private:
  void add(Body& body) {
    body.push_back(statement());
    if (!text_.at_statement_end() && !text_.peek("}")) text_.expected("the end of the statement");
  }

  Body block() {
    const std::size_t at = text_.position();
    text_.expect("{");
    if (++depth_ > kMaxBlocks)
      text_.fail(at, fmt::format("more than {} loops and branches inside each other", kMaxBlocks));
    Body all;
    for (text_.next_statement(); !text_.accept("}"); text_.next_statement()) {
      if (text_.at_end()) text_.fail(at, "expected '}' for this '{', got the end of the text");
      add(all);
    }
    --depth_;
    return all;
  }

  Stmt statement() {
    for (const words::LoopWord& one : words::kLoops) {
      if (one.word.empty() ? is_loop() : text_.accept_phrase(fmt::format("{} for", one.word)))
        return {loop(one.kind)};
    }
    if (text_.accept_word("if")) return {branch()};
    if (text_.accept_phrase("wait until at most")) return {wait()};
    if (text_.peek_word() == "barrier" && !names_.known.contains("barrier")) {
      text_.accept_word("barrier");
      return {Barrier{}};
    }
    return assignment();
  }

  bool is_loop() { return text_.accept_word("for"); }

  Expr index() { return index_of(parse_syntax(text_, names_), text_, names_); }
  Value value(std::optional<DType> known) {
    return value_of(parse_syntax(text_, names_), text_, names_, known);
  }

  std::vector<Expr> element_index() {
    std::vector<Expr> all;
    text_.open("[");
    if (!text_.peek("]")) {
      do all.push_back(index());
      while (text_.accept(","));
    }
    text_.close("]");
    return all;
  }

  // ---- loops

  struct Range {
    Symbol variable;
    Expr begin, end, step;
  };

  Range range(const std::string& variable) {
    Range out{Symbol(SymbolKind::loop, variable), index(), {}, 1};
    text_.expect("..");
    out.end = index();
    if (text_.accept_word("step")) out.step = index();
    return out;
  }

  void bind(const std::string& name, Meaning meaning) { names_.known[name] = meaning; }

  Loop loop(LoopKind kind) {
    const std::string variable = text_.word("a loop's variable");
    text_.expect_phrase("in");
    Range r = range(variable);
    Loop out{r.variable, std::move(r.begin), std::move(r.end), std::move(r.step), {}, {}, kind};
    bind(variable, {Meaning::Kind::variable});
    while (text_.accept(",")) clause(out);
    if (text_.accept_word("with")) {
      do out.accumulators.push_back(accumulator());
      while (text_.accept(","));
    }
    const std::size_t at = text_.position();
    if (!text_.peek("{")) text_.expected("'{'");
    out.body = block();
    for (Accumulator& a : out.accumulators) a.dtype = folded_dtype(at, a);
    return out;
  }

  /// Reads what stands behind a comma of a loop's head.
  void clause(Loop& loop) {
    if (text_.accept_phrase("adjacent if")) return adjacent(loop);
    if (text_.accept_word("prefetches")) {
      const std::string tensor = text_.word("a tensor");
      loop.prefetched.push_back({tensor, element_index()});
      return;
    }
    const std::string word = text_.word("'where', 'adjacent if', 'prefetches' or a variable");
    if (!text_.peek_phrase("in") && word == "where") {
      loop.work = index();
      return text_.expect_phrase("is large");
    }
    digits(loop, word);
  }

  /// Reads `in 0..N, oh in 0..OH of number column`, behind the first digit's variable.
  void digits(Loop& loop, std::string variable) {
    for (;;) {
      text_.expect_phrase("in");
      Range r = range(variable);
      loop.digits.push_back({r.variable, std::move(r.begin), std::move(r.end), std::move(r.step)});
      if (text_.accept_phrase("of number")) break;
      if (!text_.accept(",")) text_.expected("'of number', or a comma and a further variable");
      variable = text_.word("a variable");
    }
    loop.number = index();
    for (const LoopDigit& d : loop.digits) bind(d.variable.name(), {Meaning::Kind::variable});
  }

  void adjacent(Loop& loop) {
    do {
      if (text_.accept_word("axis")) {
        KnownStride known{"", text_.small_integer("an axis"), 0};
        text_.expect_phrase("of");
        known.tensor = text_.word("a tensor");
        text_.expect_phrase("has stride");
        known.stride = text_.integer();
        loop.adjacent_under.push_back(std::move(known));
        continue;
      }
      const bool is_param = text_.accept("$");
      const std::string name = text_.word("'axis', or a size or parameter that is 1");
      loop.adjacent_under_ones.push_back({is_param ? SymbolKind::param : SymbolKind::size, name});
      text_.expect("==");
      const std::size_t at = text_.position();
      if (text_.integer() != 1) text_.fail(at, "expected 1");
    } while (text_.accept_word("and"));
  }

  ReduceOp reduce_op(std::size_t at, const std::string& word) const {
    if (const std::optional<ReduceOp> op = find_reduce_op(word)) return *op;
    text_.fail(at, fmt::format("unknown reduction '{}' (known: sum, prod, max, min, argmax, "
                               "argmin, any, all)",
                               word));
  }

  Accumulator accumulator() {
    Accumulator out{text_.word("an accumulator"), ReduceOp::sum, DType::f32};
    text_.expect("=");
    const std::size_t at = text_.position();
    out.op = reduce_op(at, text_.word("a reduction"));
    Meaning meaning{Meaning::Kind::accumulator, {}, out.op};
    if (text_.accept_word("of")) meaning.dtype = text_.dtype();
    bind(out.name, meaning);
    return out;
  }

  DType folded_dtype(std::size_t at, const Accumulator& a) const {
    const Meaning* meaning = names_.find(a.name);
    if (meaning == nullptr || meaning->kind != Meaning::Kind::accumulator || !meaning->dtype)
      text_.fail(at, fmt::format("nothing tells the dtype of {}: write `{} = {} of f32`, for "
                                 "example, behind `with`",
                                 a.name, a.name, name(a.op)));
    return *meaning->dtype;
  }

  // ---- the others

  If branch() {
    If out;
    if (!text_.peek("{"))
      out.conditions = conditions_of(parse_syntax(text_, names_), text_, names_);
    out.body = block();
    return out;
  }

  WaitForCopies wait() {
    const WaitForCopies out{text_.small_integer("a number of copies")};
    text_.expect_phrase("copies are under way");
    return out;
  }

  Stmt assignment() {
    const std::size_t at = text_.position();
    const std::string name = text_.word(kStatements);
    if (text_.peek("[")) return store(at, name);
    if (text_.accept("=")) {
      Let let{name, value(std::nullopt)};
      bind(name, {Meaning::Kind::let, let.value->dtype});
      return {std::move(let)};
    }
    return fold(at, name);
  }

  Stmt store(std::size_t at, const std::string& tensor) {
    const Meaning* known = names_.find(tensor);
    if (known == nullptr || known->kind != Meaning::Kind::tensor) {
      const std::vector<std::string> all = names_.all();
      text_.fail(at, fmt::format("unknown tensor '{}'{}", tensor, did_you_mean(tensor, all)));
    }
    const std::optional<DType> dtype = known->dtype;
    std::vector<Expr> index = element_index();
    if (text_.accept("=")) return {Store{tensor, std::move(index), value(dtype)}};
    const std::size_t sign_at = text_.position();
    const std::string word = sign("'=', '+=', '*=', 'max=', 'min=' or 'set='");
    const std::optional<ScatterOp> op = find_scatter_op(word);
    if (!op)
      text_.fail(sign_at, fmt::format("unknown assignment '{}=' (known: =, +=, *=, max=, min=, "
                                      "set=)",
                                      word));
    return {StoreReduce{tensor, std::move(index), *op, value(dtype)}};
  }

  Stmt fold(std::size_t at, const std::string& name) {
    const std::size_t sign_at = text_.position();
    const std::string word = sign("'[', '=', '+=' or 'max=', for example");
    Meaning* known = names_.known.contains(name) ? &names_.known[name] : nullptr;
    if (known == nullptr || known->kind != Meaning::Kind::accumulator)
      text_.fail(at, fmt::format("'{}' is no accumulator: a loop around it must declare it behind "
                                 "`with`",
                                 name));
    const ReduceOp op = reduce_op(sign_at, word == "add" ? "sum" : word == "mul" ? "prod" : word);
    Fold out{name, op, value(known->dtype), 0};
    known->dtype = known->dtype.value_or(out.value->dtype);
    const bool has_position = op == ReduceOp::argmax || op == ReduceOp::argmin;
    if (has_position) {
      text_.expect_phrase("at");
      out.position = index();
    }
    return {std::move(out)};
  }

  /// Reads `+=` as add, `*=` as mul, `max=` as max.
  std::string sign(std::string_view what) {
    if (text_.accept("+=")) return "add";
    if (text_.accept("*=")) return "mul";
    std::string word = text_.word(what);
    text_.expect("=");
    return word;
  }

  Cursor& text_;
  Names& names_;
  int depth_ = 0;
};

}  // namespace

Body parse_body(Cursor& text, Names& names) { return StatementParser(text, names).run(); }

}  // namespace mote::loop_text
