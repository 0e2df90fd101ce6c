// SPDX-License-Identifier: Apache-2.0
// Solves equalities between sizes: each eliminates one symbol everywhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/node.h"

namespace mote {

class Unifier {
 public:
  /// `program` opens messages. `declared` are the sizes in order of declaration; of two equal sizes
  /// the later is eliminated, and an undeclared one before a declared one.
  Unifier(std::string program, std::vector<Symbol> declared);

  /// Makes symbol another name for value. Throws Error if the value mentions the symbol itself.
  void define(Symbol symbol, const Expr& value, const std::string& what, Culprit culprit);
  /// Requires left = right; `what` names the origin ("Map add: axis 1"), `culprit` its position.
  void require(const Constraint& constraint, const std::string& what, Culprit culprit);
  /// Solves the equalities that it can. Throws ProgramError "PROGRAM: WHAT: sizes 3 and 5 differ"
  /// for one that can never hold.
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
