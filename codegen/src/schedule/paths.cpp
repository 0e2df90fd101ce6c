// SPDX-License-Identifier: Apache-2.0
#include "schedule/paths.h"

#include "ir/dependence.h"

namespace mote {
namespace {

/// Collects every loop, outer first.
void collect_loops(const Body& body, const Path& above, std::vector<Path>& out) {
  for (std::size_t k = 0; k < body.size(); ++k) {
    Path path = above;
    path.push_back(k);
    if (as_loop(body[k]) != nullptr) out.push_back(path);
    if (const Body* inner = nested_body(body[k])) collect_loops(*inner, path, out);
  }
}

}  // namespace

Stmt& at(LoopProgram& p, const Path& path) {
  Stmt* s = &p.body[path.front()];
  for (std::size_t depth = 1; depth < path.size(); ++depth) s = &(*nested_body(*s))[path[depth]];
  return *s;
}

std::vector<Path> loops_of(const LoopProgram& p) {
  std::vector<Path> out;
  collect_loops(p.body, {}, out);
  return out;
}

}  // namespace mote
