// SPDX-License-Identifier: Apache-2.0
// The writer of a thunk: its statements are steps, which read the call's operands and parameters
// (thunk.cpp), and checks of sizes, extents and indices (thunk_shapes.cpp).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c/checked_call.h"
#include "c/internal.h"

namespace mote::emit {

/// Writes the functions of one kernel: the one that checks a call, and those that run it.
class Thunk {
 public:
  Thunk(const LoopProgram& p, const Names& names, const EmitOptions& options);

  std::string text(std::set<std::string>& calls);
  const Uses& uses() const { return printer_.uses(); }

 private:
  void line(const std::string& text) { out_ += wrap("  " + text) + "\n"; }
  void step(std::string type, std::string name, std::string value) {
    steps_.push_back({std::move(type), std::move(name), std::move(value)});
  }
  std::string list(const char* what, const std::vector<std::string>& names);
  std::string tables();
  void inputs();
  void outputs();
  bool is_optional(const Output& o) const;
  std::uint64_t all_outputs() const;
  std::uint64_t readers_of(const Uop& input) const;
  void params();
  void sizes();
  void extents();
  void nodes();
  std::string checks(const std::string& signature);
  std::string code(const Expr& e);
  std::string meaning(const Expr& e) const;
  void divisors(const Expr& e);
  void index_divisors(const Expr& e, const std::vector<Expr>& shape);
  std::vector<Expr> divisors_in(const Expr& e) const;
  bool is_new(const Expr& e, int least);
  bool is_index(const std::string& param) const;
  std::string view(const TensorDecl& t) const { return "&" + printer_.read(names_.tensor(t.name)); }
  const TensorDecl& tensor(const std::string& name) const { return *find_tensor(p_, name); }

  const LoopProgram& p_;
  const Program& source_;
  const Names& names_;
  const std::string function_;
  Printer printer_;
  const Facts facts_;
  const EmitOptions& options_;
  const CallNames call_;
  std::vector<Uop> nodes_;
  std::vector<std::set<const UopNode*>> output_nodes_;  ///< the nodes of each output
  std::uint64_t always_ = 0;                            ///< the outputs that every call has
  std::vector<Expr> checked_;  ///< expressions that a check found to be >= 0
  /// The divisors of indices that are checked if there are elements: their number and the divisor.
  std::vector<std::pair<Expr, Expr>> guarded_;
  std::vector<Step> steps_;  ///< the statements that open the function
  std::string out_;
};

inline const uop::Input& as_input(const Uop& u) { return std::get<uop::Input>(u.node().kind); }

}  // namespace mote::emit
