// SPDX-License-Identifier: Apache-2.0
#include "schedule/block_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"

namespace mote {
namespace {

std::vector<std::string> names_of(const std::vector<Symbol>& variables) {
  std::vector<std::string> names;
  for (const Symbol v : variables) names.push_back(v.name());
  return names;
}

std::map<std::string, std::size_t> counted_accesses(const Body& body) {
  std::map<std::string, std::size_t> counts;
  for_each_access(body, [&](const std::string& tensor, const auto&, bool) { ++counts[tensor]; });
  return counts;
}

template <typename F>
void for_each_store(Body& body, const F& f) {
  for (Stmt& s : body) {
    if (auto* store = std::get_if<Store>(&s.kind)) f(*store);
    if (auto* reduce = std::get_if<StoreReduce>(&s.kind)) f(*reduce);
    if (Body* nested = nested_body(s)) for_each_store(*nested, f);
  }
}

}  // namespace

BlockArrays::BlockArrays(const LoopProgram& p, const Body& body, std::size_t position,
                         const std::vector<Loop>& loops) {
  std::vector<Symbol> variables;
  for (const Loop& l : loops) variables.push_back(l.variable);
  find(p, body, position, variables);
  if (names_.empty())
    throw NoBlocks{
        fmt::format("no loop behind it reads an array that {} fills", variables.back().name())};
  auto all = counted_accesses(p.body), here = counted_accesses(body);
  for (const std::string& name : names_)
    if (all[name] != here[name]) throw NoBlocks{fmt::format("{} is read elsewhere", name)};
  if (is_in_index(body, names_)) throw NoBlocks{"an element of its arrays is an index"};
  for (std::size_t k = 0; k < position; ++k)
    if (are_read(body[k])) throw NoBlocks{"a statement in front of it has its arrays"};
}

void BlockArrays::find(const LoopProgram& p, const Body& body, std::size_t position,
                       const std::vector<Symbol>& variables) {
  std::set<std::string> read;
  for (std::size_t k = position + 1; k < body.size(); ++k)
    read.merge(effects_of({&body[k], 1}).touched);
  for (const std::string& name : tensors_written({&body[position], 1})) {
    if (!read.contains(name) || find_tensor(p, name)->role != TensorRole::temporary) continue;
    names_.insert(name);
    axes_[name] = axes_along(body[position], name, variables);
  }
}

/// Returns the axes of the array along which the variables run, in every access of the statement.
BlockArrays::Axes BlockArrays::axes_along(const Stmt& s, const std::string& array,
                                          const std::vector<Symbol>& variables) const {
  std::optional<Axes> found;
  for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>& index, bool) {
    if (tensor != array) return;
    Axes axes;
    for (const Symbol v : variables)
      axes.push_back(static_cast<std::size_t>(std::ranges::find(index, Expr(v)) - index.begin()));
    if (std::ranges::find(axes, index.size()) != axes.end() || (found && *found != axes))
      throw NoBlocks{fmt::format("not every access of {} is at {}", array,
                                 fmt::join(names_of(variables), ", "))};
    found = axes;
  });
  return *found;
}

bool BlockArrays::are_read(const Stmt& s) const {
  const std::set<std::string> touched = effects_of({&s, 1}).touched;
  return std::ranges::any_of(names_, [&](const std::string& a) { return touched.contains(a); });
}

std::optional<std::vector<Symbol>> BlockArrays::variables_along(
    const Stmt& s, const std::vector<Loop>& loops) const {
  std::vector<Symbol> found;
  for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>& index, bool) {
    if (!found.empty() || !names_.contains(tensor)) return;
    for (const std::size_t axis : axes_.at(tensor))
      for (const Loop& l : loops)
        if (index[axis] == Expr(l.variable)) found.push_back(l.variable);
  });
  if (found.size() != axes_.begin()->second.size()) return std::nullopt;
  const std::set<std::string> touched = effects_of({&s, 1}).touched;
  for (const std::string& array : names_)
    if (touched.contains(array) && axes_along(s, array, found) != axes_.at(array))
      throw NoBlocks{fmt::format("{} is read along other axes", array)};
  return found;
}

std::vector<Expr> BlockArrays::in_block(const std::string& array, const std::vector<Expr>& index,
                                        const Expr& at) const {
  std::vector<Expr> now;
  const Axes& axes = axes_.at(array);
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (k == axes.back())
      now.push_back(at);
    else if (std::ranges::find(axes, k) == axes.end())
      now.push_back(index[k]);
  }
  return now;
}

void BlockArrays::access_block(Body& body, const Expr& at, Symbol start) const {
  const Expr in = at - Expr(start);
  rewrite_values(body, [&](const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (load == nullptr || !names_.contains(load->tensor)) return v;
    return load_value(load->tensor, in_block(load->tensor, load->index, in), v->dtype);
  });
  for_each_store(body, [&](auto& s) {
    if (names_.contains(s.tensor)) s.index = in_block(s.tensor, s.index, in);
  });
}

void BlockArrays::shrink(std::vector<TensorDecl>& tensors, std::int64_t amount,
                         Symbol start) const {
  for (TensorDecl& t : tensors) {
    if (!names_.contains(t.name)) continue;
    t.shape = in_block(t.name, t.shape, amount);
    t.axis_names.assign(t.shape.size(), "");
    t.per = start;
  }
}

}  // namespace mote
