// SPDX-License-Identifier: Apache-2.0
// Proves that an input may share memory with an output: each read of the input precedes each write
// of the output in the iterations of the loops that hold both, and different iterations access
// different elements.
#include "mote/codegen/in_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/base/error.h"

namespace mote {
namespace {

const TensorDecl& tensor_at(const LoopProgram& p, TensorRole role, int position) {
  int k = 0;
  for (const TensorDecl& t : p.tensors)
    if (t.role == role && k++ == position) return t;
  throw InternalError(fmt::format("{}: no tensor {} for a pair in place", p.name, position));
}

std::string text(const TensorReference& r) {
  std::string out = r.tensor + "[";
  for (std::size_t k = 0; k < r.index.size(); ++k)
    out += (k > 0 ? ", " : "") + r.index[k].to_string();
  return out + "]";
}

/// Returns true if the index is the variable of the loop, or of a loop over a part of its range.
bool stays_in_iteration(const TensorReference& r, const Expr& index, const Loop& loop,
                        const Facts& facts) {
  const auto v = index.as_symbol();
  return v && (*v == loop.variable || loops_over_parts(r.path, loop, facts).contains(*v));
}

/// Returns true if different iterations of the loops that hold both access different elements: on
/// some axis, the index of each stays in its iteration.
bool iterations_are_apart(const TensorReference& read, const TensorReference& write,
                          const Facts& facts) {
  const std::size_t depth = shared_depth(read.path, write.path);
  return std::ranges::all_of(std::span(read.path).first(depth), [&](const Stmt* s) {
    const Loop* loop = as_loop(*s);
    if (loop == nullptr) return true;
    for (std::size_t k = 0; k < read.index.size(); ++k)
      if (stays_in_iteration(read, read.index[k], *loop, facts) &&
          stays_in_iteration(write, write.index[k], *loop, facts))
        return true;
    return false;
  });
}

std::optional<std::string> why_not(const LoopProgram& p, const InPlacePair& pair) {
  const TensorDecl& input = tensor_at(p, TensorRole::input, pair.first);
  const TensorDecl& output = tensor_at(p, TensorRole::output, pair.second);
  if (input.dtype != output.dtype || input.shape != output.shape)
    return fmt::format("{} and {} differ in dtype or shape", input.name, output.name);
  const Facts facts = base_facts(*p.source);
  const std::vector<TensorReference> reads = references(p.body, input.name);
  for (const TensorReference& write : references(p.body, output.name)) {
    if (!write.is_write()) continue;
    for (const TensorReference& read : reads)
      if (!precedes(read, write) || !iterations_are_apart(read, write, facts))
        return fmt::format("{} may be read after {} is written", text(read), text(write));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_in_place(const LoopProgram& p,
                                            std::span<const InPlacePair> pairs) {
  // An output is only written, so one pair does not access the memory of another.
  for (const InPlacePair& pair : pairs)
    if (auto reason = why_not(p, pair)) return reason;
  return std::nullopt;
}

std::vector<InPlacePair> pairs_in_place(const LoopProgram& p) {
  const auto inputs = std::ranges::count(p.tensors, TensorRole::input, &TensorDecl::role);
  const auto outputs = std::ranges::count(p.tensors, TensorRole::output, &TensorDecl::role);
  std::vector<InPlacePair> pairs;
  for (int in = 0; in < inputs; ++in)
    for (int out = 0; out < outputs; ++out) {
      const InPlacePair pair(in, out);
      if (!why_not_in_place(p, {&pair, 1})) pairs.push_back(pair);
    }
  return pairs;
}

}  // namespace mote
