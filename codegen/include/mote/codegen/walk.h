// SPDX-License-Identifier: Apache-2.0
// Walks and rewrites loop programs: the few traversals that every pass uses.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// An element of a tensor that is read or written. Loads inside indices and conditions count as
/// reads (of a Let too, if an index names one); a StoreReduce counts as one write.
struct Access {
  std::string tensor;
  std::vector<Expr> index;
  bool write;
};

/// Calls f on every access, in the order of execution (reads of a statement before its write).
using AccessVisitor =
    std::function<void(const std::string& tensor, const std::vector<Expr>& index, bool write)>;
void for_each_access(const Body& body, const AccessVisitor& f);
void for_each_access(const Stmt& s, const AccessVisitor& f);
/// Returns copies of all accesses, in that order.
std::vector<Access> accesses(const Body& body);
std::vector<Access> accesses(const Stmt& s);
/// Returns the accumulators that loops in the body declare, or that values in it read.
std::set<std::string> accumulators_declared(const Body& body);
std::set<std::string> accumulators_read(const Body& body);
/// Returns the Let names read here (also as rank-0 loads in indices).
std::set<std::string> names_read(const Body& body);
std::set<std::string> names_read(const Stmt& s);

/// Calls f on every statement, outer first.
void for_each(const Body& body, const std::function<void(const Stmt&)>& f);
/// Calls f on every value node of the statement itself (not of nested bodies), outer first; a
/// shared node is visited once for each occurrence.
void for_each_value(const Stmt& s, const std::function<void(const Value&)>& f);
void for_each_value(const Value& v, const std::function<void(const Value&)>& f);
/// Calls f on every index expression of the statement itself: limits, indices, conditions, values.
void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& f);

/// Calls f on every load atom inside e, outer first, those inside other loads' indices included.
void for_each_load(const Expr& e, const std::function<void(const Atom&)>& f);

/// Rewrites every value bottom-up (shared nodes once); f gets a node whose operands are rebuilt.
Value rewrite(const Value& v, const std::function<Value(const Value&)>& f);
/// Rewrites every index expression, conditions and loads in values included.
Value rewrite_exprs(const Value& v, const std::function<Expr(const Expr&)>& f);
void rewrite_values(Body& body, const std::function<Value(const Value&)>& f);
void rewrite_exprs(Body& body, const std::function<Expr(const Expr&)>& f);
/// Replaces symbols in every index expression.
void substitute(Body& body, const std::map<Symbol, Expr>& env);
Value substitute(const Value& v, const std::map<Symbol, Expr>& env);
/// Returns true if an index expression in the value mentions the symbol.
bool mentions(const Value& v, Symbol symbol);

}  // namespace mote
