// SPDX-License-Identifier: Apache-2.0
// Makes the versions in which another loop than the last of a nest is the one of adjacent results,
// as the channels of NHWC are.
#include <algorithm>
#include <bit>

#include "ir/dependence.h"
#include "ir/integer_range.h"
#include "mote/codegen/walk.h"
#include "schedule/innermost.h"
#include "schedule/iterations.h"
#include "schedule/paths.h"
#include "schedule/take.h"
#include "schedule/versions.h"

namespace mote {
namespace {

/// Returns the number of iterations whose sums a loop keeps in registers; 0 if there are none. Only
/// f32 and integers have such versions, to limit the library's size.
std::int64_t iterations_in_registers(const LoopProgram& p, const Body& body,
                                     const ScheduleOptions& options) {
  const std::set<std::string> in_32_bits = short_extrema(p, body);
  unsigned words = 0;
  bool all = true;
  for_each(body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (l == nullptr) return;
    for (const Accumulator& a : l->accumulators) {
      all = all && (a.dtype == DType::f32 || is_integer(a.dtype));
      words += a.dtype == DType::f32 || in_32_bits.contains(a.name) ? 1 : 2;
    }
  });
  return !all || words == 0 ? 0 : options.sums / static_cast<std::int64_t>(std::bit_ceil(words));
}

/// Takes a loop innermost in each nest at top level: the innermost that can be taken among those
/// that demand sizes of 1, or among the others. Returns false if there is no nest for it.
bool take_innermost(Version& v, const ScheduleOptions& options, bool demands_ones,
                    bool in_registers) {
  bool found = false;
  for (const std::string& nest : names_of_loops(v.program, outermost_loops(v.program))) {
    LoopProgram& p = v.program;
    const Path path = *find_loop(p, nest);
    if (path.size() > 1) continue;
    const auto chain = shared_loops(p, at(p, path));
    if (!chain) continue;
    TileOfIterations tile = {kTile, options.least_iterations};
    if (in_registers) {
      const std::int64_t whole = iterations_in_registers(p, chain->loops.back()->body, options);
      if (whole < 2) continue;
      tile = {whole, whole, true};
    }
    for (auto loop = chain->loops.rbegin(); loop != chain->loops.rend(); ++loop) {
      const std::vector<TensorDecl> before = p.tensors;
      auto taken = taken_innermost(p, *chain, **loop, tile);
      auto* inner = std::get_if<Innermost>(&taken);
      const bool is_wanted = inner != nullptr && demands_ones == (inner->demands.size() > 1);
      if (is_wanted && !put_innermost(p, path, *inner)) {
        v.steps.push_back(inner->step);
        found = true;
        break;
      }
      p.tensors = before;
      if (is_wanted) break;
    }
  }
  if (found) remove_loops_that_run_once(v.program);
  return found;
}

/// Runs the loops in vectors that have constant limits; the version asks for the strides.
void mark_whole_loops(Version& v, const ScheduleOptions& options) {
  for (const std::string& name : names_of_loops(v.program, loops_of(v.program)))
    if (as_loop(at(v.program, *find_loop(v.program, name)))->end.constant())
      (void)take(v, {StepKind::simd, {{name}}}, options);
}

}  // namespace

std::vector<Version> innermost_versions(const Version& start, const ScheduleOptions& options,
                                        bool is_tiled) {
  std::vector<Version> found;
  for (const bool demands_ones : {true, false}) {
    if (is_tiled && !demands_ones) break;
    for (const bool in_registers : {true, false}) {
      Version other = start;
      if (!take_innermost(other, options, demands_ones, in_registers)) continue;
      other.name = in_registers ? "registers" : "innermost";
      if (demands_ones) other.name += "_of_ones";
      if (in_registers) mark_whole_loops(other, options);
      mark_simd(other, StepKind::simd_if_adjacent, options);
      share_outermost(other, options);
      found.push_back(std::move(other));
    }
  }
  return found;
}

}  // namespace mote
