// SPDX-License-Identifier: Apache-2.0
// The forward pass replaces decided locations by others; the backward pass removes results that no
// step reads.
#include "decide.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mote::blocks {
namespace {

/// The argument that equals the result; null if none does.
const Location* result_of(const Step& step, const std::function<bool(const Location&)>& holds) {
  const auto* m = as<uop::Map>(step.node);
  if (m == nullptr || step.loop != nullptr || step.gathers || step.stores) return nullptr;
  const std::vector<Location>& args = step.args;
  if (m->op == MapOp::where) {
    if (!args[0].single) return nullptr;
    return holds(args[0]) ? &args[1] : &args[2];
  }
  if (m->op != MapOp::logical_and && m->op != MapOp::logical_or) return nullptr;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!args[k].single) continue;
    const bool settles = holds(args[k]) == (m->op == MapOp::logical_or);
    return &args[settles ? k : 1 - k];
  }
  return nullptr;
}

/// Makes the step that computes a block write its result to `to`.
void redirect(std::vector<Step>& steps, std::map<int, Location>& instead, const Location& block,
              const Location& to) {
  const auto is_block = [&](const Location& p) {
    return p.kind == Location::Kind::block && p.at == block.at;
  };
  for (auto& [from, location] : instead)
    if (is_block(location)) location = to;
  instead[block.at] = to;
  for (Step& step : steps) {
    for (Location& p : step.args)
      if (is_block(p)) p = to;
    if (is_block(step.result)) step.result = to;
  }
}

}  // namespace

bool is_decidable(const Step& step) {
  return result_of(step, [](const Location&) { return true; }) != nullptr;
}

std::vector<Step> decided(const std::vector<Step>& steps,
                          const std::function<bool(const Location&)>& holds) {
  std::map<int, Location> instead;  // the replacement of each block
  std::vector<Step> all;
  for (Step step : steps) {
    for (Location& p : step.args)
      if (p.kind == Location::Kind::block)
        if (const auto at = instead.find(p.at); at != instead.end()) p = at->second;
    const Location* same = result_of(step, holds);
    if (same != nullptr && step.result.kind == Location::Kind::block) {
      instead[step.result.at] = *same;
      continue;
    }
    if (same != nullptr && same->kind == Location::Kind::block) {
      redirect(all, instead, *same, step.result);
      continue;
    }
    // The result is an array: the decided branch is copied to it, since other steps may read its
    // source too.
    if (same != nullptr && as<uop::Map>(step.node)->op == MapOp::where)
      step.args = {step.args[0], *same, *same};
    all.push_back(std::move(step));
  }
  std::set<int> read;
  std::vector<Step> left;
  for (std::size_t k = all.size(); k-- > 0;) {
    Step& step = all[k];
    const bool is_block = step.result.kind == Location::Kind::block;
    if (is_block && !step.stores && !read.contains(step.result.at)) continue;
    for (const Location& p : step.args)
      if (p.kind == Location::Kind::block) read.insert(p.at);
    left.push_back(std::move(step));
  }
  std::ranges::reverse(left);
  return left;
}

}  // namespace mote::blocks
