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

const Stmt& at(const LoopProgram& p, const Path& path) {
  const Stmt* s = &p.body[path.front()];
  for (std::size_t depth = 1; depth < path.size(); ++depth) s = &(*nested_body(*s))[path[depth]];
  return *s;
}

std::optional<Path> find_loop(const LoopProgram& p, const std::string& variable) {
  for (const Path& path : loops_of(p))
    if (as_loop(at(p, path))->variable.name() == variable) return path;
  return std::nullopt;
}

std::vector<Path> outermost_loops(const LoopProgram& p) {
  std::vector<Path> all = loops_of(p);
  std::erase_if(all, [&](const Path& path) {
    for (std::size_t depth = 1; depth < path.size(); ++depth)
      if (as_loop(at(p, Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth)))) !=
          nullptr)
        return true;
    return false;
  });
  return all;
}

void replace(LoopProgram& p, const Path& path, Body by) {
  const Path above(path.begin(), path.end() - 1);
  Body& body = above.empty() ? p.body : *nested_body(at(p, above));
  const auto location = body.begin() + static_cast<std::ptrdiff_t>(path.back());
  body.insert(body.erase(location), std::make_move_iterator(by.begin()),
              std::make_move_iterator(by.end()));
}

std::vector<Path> loops_of(const LoopProgram& p) {
  std::vector<Path> out;
  collect_loops(p.body, {}, out);
  return out;
}

}  // namespace mote
