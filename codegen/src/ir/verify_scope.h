// SPDX-License-Identifier: Apache-2.0
// Holds the state of verify() at one point of a program: the names in scope and the tensors stored
// so far. It decides whether index expressions, conditions and values are legal there. Failures are
// InternalErrors that name the program, the statement and its loops.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::verification {

/// The meaning of a name in scope.
struct Name {
  enum class Kind : std::uint8_t { variable, let, open_accumulator, closed_accumulator };
  Kind kind;
  DType dtype = DType::i64;
  ReduceOp op = ReduceOp::sum;
};

class Scope {
 public:
  explicit Scope(const LoopProgram& p) : p_(p) {}

 protected:
  [[noreturn]] void fail(const std::string& what) const;
  template <typename... Args>
  void check(bool holds, fmt::format_string<Args...> what, Args&&... args) const {
    if (!holds) fail(fmt::format(what, std::forward<Args>(args)...));
  }
  void read(const TensorDecl& t, std::size_t rank) const;
  void expr(const Expr& e) const;
  void conditions(const Conditions& c) const;
  void value(const Value& v) const;

  const LoopProgram& p_;
  std::set<std::string> symbols_;  ///< sizes, and $parameters that are integers
  std::map<std::string, Name> visible_;
  std::set<std::string> stored_;    ///< every tensor stored so far
  std::vector<std::string> loops_;  ///< variables of the enclosing loops
  const Stmt* current_ = nullptr;

 private:
  void index_load(const Atom& a) const;
  void node(const value::Constant& c, DType dtype) const;
  void node(const value::Index& i, DType dtype) const;
  void node(const value::Param& p, DType dtype) const;
  void node(const value::Load& l, DType dtype) const;
  void node(const value::Op& op, DType dtype) const;
  void node(const value::Guard& g, DType dtype) const;
  void node(const value::Accumulated& a, DType dtype) const;
  void node(const value::Named& b, DType dtype) const;
};

}  // namespace mote::verification
