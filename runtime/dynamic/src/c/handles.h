// SPDX-License-Identifier: Apache-2.0
// The handles of mote/mote_dynamic.h, and lists of variables.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "c/guard.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/mote_dynamic.h"
#include "mote/symbolic/symbolic_graph.h"

struct mote_dynamic {
  mote::DynamicGraph graph;
};

struct mote_variable {
  mote::Variable variable;
};

struct mote_static_function {
  mote::StaticFunction function;
  std::size_t output_count;
};

/// Equal steps are known by the address of the function, which graphs share.
struct mote_graph_function {
  std::shared_ptr<const mote::NamedFunction> function;
};

namespace mote::c {

inline const Variable& variable_of(const mote_variable* handle, const char* what) {
  return given(handle, what).variable;
}

/// Variables that a call is given, as the C++ interface takes them. A null entry is one that is
/// left out.
inline std::vector<VariableRef> references(const mote_variable* const* variables, std::size_t count,
                                           const char* what) {
  if (count > 0) given(variables, what);
  std::vector<VariableRef> list;
  for (const mote_variable* variable : std::span(variables, count))
    list.push_back(variable == nullptr ? VariableRef() : VariableRef(variable->variable));
  return list;
}

/// Returns the variables; none where an entry is null.
template <typename Handle>
std::vector<Variable> variables_of(Handle* const* variables, std::size_t count, const char* what) {
  if (count > 0) given(variables, what);
  std::vector<Variable> list;
  for (const mote_variable* variable : std::span(variables, count))
    list.push_back(variable == nullptr ? Variable() : variable->variable);
  return list;
}

/// Handles of results, which are the caller's only when all are made.
class NewHandles {
 public:
  explicit NewHandles(std::span<const Variable> variables) {
    for (const Variable& variable : variables)
      made_.push_back(variable ? std::make_unique<mote_variable>(variable) : nullptr);
  }
  void give(mote_variable** outputs) {
    for (std::unique_ptr<mote_variable>& one : made_) *outputs++ = one.release();
  }

 private:
  std::vector<std::unique_ptr<mote_variable>> made_;
};

inline mote_variable* new_handle(Variable variable) {
  return new mote_variable{std::move(variable)};
}

/// Runs the caller's code, for checkpoints and nodes of symbolic graphs. Throws StatusError with
/// its status, and `name`, if it fails.
std::vector<Variable> run_work(mote_dynamic_work work, void* argument, const char* name,
                               DynamicGraph& graph, std::span<const Variable> inputs,
                               std::size_t output_count);

}  // namespace mote::c
