// SPDX-License-Identifier: Apache-2.0
// From uops to loops, and the passes over loops. Each pass is in a file of its own, keeps the
// meaning bit for bit, and leaves a program that verify() accepts.
#pragma once

#include <functional>
#include <utility>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// Pulls values through Map and Reindex, composing index maps; materialises what must be: outputs,
/// reductions used more than once or at a non-injective index, indices of Select.
LoopProgram lower(std::shared_ptr<const Program> program);
/// One nest per uop: the plainest loops there are, as a reference for lower().
LoopProgram lower_per_uop(std::shared_ptr<const Program> program);

LoopProgram unguard(
    LoopProgram p);  ///< t = c ? v : f becomes a store under c; loads become c ? t : f
LoopProgram split(LoopProgram p);  ///< a loop over A·c whose body has v/c, v%c becomes two
LoopProgram fuse(LoopProgram p);   ///< merges loops with equal limits where dependences allow
LoopProgram substitute(
    LoopProgram p);  ///< a temporary written once and read once, or trivial: its value
LoopProgram contract(
    LoopProgram p);  ///< temporaries lose the axes of common loops; rank 0 becomes Let
LoopProgram eliminate_dead_code(LoopProgram p);
LoopProgram simplify(LoopProgram p);  ///< conditions and expressions that the context decides
LoopProgram tighten(LoopProgram p);   ///< range guards become loop limits, divisibility a stride
/// This is the name that tighten() had; it goes with version 0.3.
inline LoopProgram bound(LoopProgram p) { return tighten(std::move(p)); }
/// A temporary that is read only under conditions is stored only under them, and what only that
/// store needs is computed only under them.
LoopProgram demand(LoopProgram p);
/// A body computes what it stores in outputs before it stores the first that shares memory with an
/// input, in a call in place (in_place.h), which the others read.
LoopProgram defer(LoopProgram p);
/// A temporary takes the storage of a later temporary, or of an output that rounds nothing, when
/// its life ends there before the other's begins.
LoopProgram coalesce(LoopProgram p);

struct Pass {
  const char* name;
  LoopProgram (*run)(LoopProgram);
};
/// The passes in their order, after lower.
std::span<const Pass> passes();

/// lower, then every pass; verify after each in debug builds. `observe` sees the program after
/// lower and after each pass that changed it. Errors get "while lowering NAME" or "in pass P of
/// NAME".
LoopProgram compile(const std::shared_ptr<const Program>& program,
                    const std::function<void(const char* stage, const LoopProgram&)>& observe = {});

}  // namespace mote
