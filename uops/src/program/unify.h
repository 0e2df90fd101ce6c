// SPDX-License-Identifier: Apache-2.0
// Solves equalities between sizes: one symbol is eliminated for each, everywhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/node.h"

namespace mote {

class Unifier {
 public:
  /// `program` opens messages. `declared` are the sizes in order of declaration; of two that are
  /// equal, the later one is eliminated, one that is not declared before any that is.
  Unifier(std::string program, std::vector<Symbol> declared);

  /// symbol is just another name for value. Error when the value mentions the symbol itself.
  void define(Symbol symbol, const Expr& value, const std::string& what, Culprit culprit);
  /// left = right is to hold; `what` says who wants it ("Map add: axis 1"), `culprit` where.
  void require(const Constraint& constraint, const std::string& what, Culprit culprit);
  /// Solves what it can. ProgramError "PROGRAM: WHAT: sizes 3 and 5 differ" for what can never
  /// hold.
  void solve();

  const std::map<Symbol, Expr>& solution() const { return solution_; }
  std::vector<Constraint> unsolved() const;

 private:
  struct Pending {
    Constraint constraint;
    std::string what;
    Culprit culprit;
  };
  bool solve_one(const Pending& pending);
  void eliminate(Symbol symbol, const Expr& value);
  std::size_t position(Symbol symbol) const;

  std::string program_;
  std::vector<Symbol> declared_;
  std::map<Symbol, Expr> solution_;  ///< values mention no key
  std::vector<Pending> pending_;
};

}  // namespace mote
