// SPDX-License-Identifier: Apache-2.0
// Lists the references of a program to its tensors, with the loops, branches and guards that
// enclose each. demand and coalesce ask whether a store runs before a read, in the same iteration
// of the loops that hold both.
#pragma once

#include <map>
#include <span>

#include "mote/codegen/walk.h"

namespace mote {

/// A read or write of an element in the text.
struct TensorReference {
  enum class Kind : std::uint8_t { load, index_load, store, store_reduce };
  Kind kind;
  std::string tensor;
  std::vector<Expr> index;
  std::vector<const Stmt*> path;  ///< loops and branches around it, outermost first
  Conditions guards;              ///< guards of the value around it
  int order;                      ///< position of its statement in the text
  const Stmt* statement;
  bool is_stored_in_iteration =
      false;  ///< true if it is known to read a value stored in the same iteration

  bool is_write() const { return kind == Kind::store || kind == Kind::store_reduce; }
};

/// Returns all references in the order of the text, a statement's reads before its write. Loads in
/// limits of a loop and in conditions of a branch are placed outside that loop or branch.
std::vector<TensorReference> references(const Body& body);
std::vector<TensorReference> references(const Body& body, const std::string& tensor);
std::map<std::string, std::vector<TensorReference>> references_by_tensor(const Body& body);

/// Returns true if a runs before b, when both run in one iteration of all loops that they share.
bool precedes(const TensorReference& a, const TensorReference& b);

/// Returns the loop variables that the index consists of, each once; nullopt for any other index.
std::optional<std::vector<Symbol>> plain_variables(const std::vector<Expr>& index);

/// Returns the number of loops and branches that both paths begin with.
std::size_t shared_depth(const std::vector<const Stmt*>& a, const std::vector<const Stmt*>& b);
std::set<Symbol> variables_of(std::span<const Stmt* const> path);

/// Returns the variables of the loops of the path that run over parts of one iteration of the outer
/// loop: each begins at the outer one's variable, or at that of such a loop, and ends not beyond
/// the start of the outer one's next iteration.
std::set<Symbol> loops_over_parts(std::span<const Stmt* const> path, const Loop& outer,
                                  const Facts& facts);

/// Returns the facts that hold at the reference.
Facts facts_at(const TensorReference& r, Facts facts);

/// Returns true if the loops and branches of the path run for the values of their variables in
/// `element`: the values are in range and the conditions hold. Each value must be given, other than
/// those of loops over parts, which loops over a part in the path determine.
bool runs_for(std::span<const Stmt* const> path, std::map<Symbol, Expr> element, Facts facts);

/// Returns true if the store, each of whose indices adds at most one variable to what does not
/// change in an iteration of all loops that enclose both, has stored the element that `read` reads
/// in the same iteration: it precedes the read and runs for that element.
bool is_stored_in_iteration_of(const TensorReference& read, const TensorReference& store,
                               const Facts& facts);
/// Returns true if one of the stores has, or if one has up to where a loop of it ends and another
/// from there on, as the halves of an array that is filled in two parts.
bool is_stored_in_iteration_of(const TensorReference& read,
                               std::span<const TensorReference* const> stores, const Facts& facts);

}  // namespace mote
