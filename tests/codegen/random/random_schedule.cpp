// SPDX-License-Identifier: Apache-2.0
// Draws a step's loops among those that the program has by then, and its amounts among small ones.
#include "random_schedule.h"

#include <fmt/format.h>

#include "mote/base/error.h"
#include "mote/codegen/walk.h"
#include "mote/generated/level.h"

namespace mote::test {
namespace {

std::vector<std::string> loops_of(const LoopProgram& p) {
  std::vector<std::string> names;
  for_each(p.body, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) names.push_back(loop->variable.name());
  });
  return names;
}

std::vector<std::string> outermost_loops_of(const LoopProgram& p) {
  std::vector<std::string> names;
  for (const Stmt& s : p.body)
    if (const auto* loop = std::get_if<Loop>(&s.kind)) names.push_back(loop->variable.name());
  return names;
}

/// Returns a loop for the step: mostly one around which no other loop stands, if the step takes
/// parts of iterations that fill arrays or add up sums.
std::string some_loop(const LoopProgram& p, StepKind kind, Rng& rng) {
  const bool takes_parts = kind == StepKind::blocks || kind == StepKind::partial;
  const std::vector<std::string> outermost =
      takes_parts && rng.chance(70) ? outermost_loops_of(p) : std::vector<std::string>();
  return rng.pick(outermost.empty() ? loops_of(p) : outermost);
}

std::vector<std::string> tensors_of(const LoopProgram& p, TensorRole role) {
  std::vector<std::string> names;
  for (const TensorDecl& t : p.tensors)
    if (t.role == role) names.push_back(t.name);
  return names;
}

/// Returns the loop of that name and those directly below it, as many as are drawn.
std::vector<StepTarget> some_chain(const LoopProgram& p, const std::string& first, Rng& rng) {
  std::vector<StepTarget> chain;
  for_each(p.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop == nullptr || loop->variable.name() != first) return;
    while (loop != nullptr) {
      chain.push_back({loop->variable.name()});
      const bool goes_on = loop->body.size() == 1 && rng.chance(60);
      loop = goes_on ? std::get_if<Loop>(&loop->body.front().kind) : nullptr;
    }
  });
  return chain;
}

Step some_step(const LoopProgram& p, Rng& rng) {
  const std::vector<std::string> loops = loops_of(p);
  const StepKind kind =
      rng.pick({StepKind::blocks,  StepKind::blocks,      StepKind::outward,
                StepKind::outward, StepKind::blocks,      StepKind::split,
                StepKind::split,   StepKind::interchange, StepKind::inward,
                StepKind::inward,  StepKind::innermost,   StepKind::registers,
                StepKind::tile,    StepKind::tile,        StepKind::tile_window,
                StepKind::simd,    StepKind::simd,        StepKind::simd_if_adjacent,
                StepKind::threads, StepKind::threads,     StepKind::scan,
                StepKind::keep,    StepKind::adjacent,    StepKind::repeat,
                StepKind::vectors, StepKind::transpose,   StepKind::tile_rows,
                StepKind::slide,   StepKind::positions,   StepKind::jam,
                StepKind::hoist,   StepKind::simd_apart,  StepKind::prefetch,
                StepKind::partial, StepKind::partial,     StepKind::scatter,
                StepKind::scatter, StepKind::narrow});
  if (kind == StepKind::keep) return {kind, {{rng.pick(tensors_of(p, TensorRole::output))}}};
  if (kind == StepKind::repeat)
    return {kind, {{rng.pick(tensors_of(p, TensorRole::input)), rng.below(3)}}};
  if (kind == StepKind::vectors) return {kind, {{"", 8}}};
  if (kind == StepKind::positions || kind == StepKind::hoist || kind == StepKind::scatter)
    return {kind, {{"", -1}}};
  if (kind == StepKind::slide || kind == StepKind::jam) return {kind, {{"", rng.below(2) + 1}}};
  if (kind == StepKind::narrow) return {kind, {{"", rng.below(4) + 1}}};
  const std::string loop = some_loop(p, kind, rng);
  switch (kind) {
    case StepKind::blocks:
    case StepKind::split:
    case StepKind::inward:
    case StepKind::outward:
    case StepKind::partial:
    case StepKind::innermost:
    case StepKind::registers:
    case StepKind::tile_rows:
    case StepKind::simd_apart:
      return {kind, {{loop, rng.below(4) + 1}}};
    case StepKind::transpose:
      return {kind, {{loop, 8 * (rng.below(2) + 1)}}};
    case StepKind::tile:
    case StepKind::tile_window:
      return {kind, {{loop, rng.below(3) + 1}, {rng.pick(loops), 2 * (rng.below(2) + 1)}}};
    case StepKind::threads:
      return {kind, some_chain(p, loop, rng)};
    default:
      return {kind, {{loop}}};
  }
}

/// Returns the step `blocks` on each outermost loop: few programs have one that it can be taken on,
/// and fewer behind other steps.
std::vector<Step> blocks_of_each(const LoopProgram& p, Rng& rng) {
  std::vector<Step> steps;
  for (const std::string& loop : outermost_loops_of(p))
    steps.push_back({StepKind::blocks, {{loop, rng.below(4) + 1}}});
  return steps;
}

/// Returns the first steps of a version that schedule() gives, or `once` or `blocks`, which are
/// mostly refused behind others, or none.
std::vector<Step> some_opening(const LoopProgram& p, Rng& rng) {
  if (rng.chance(15)) return {{StepKind::once, {{"", -1}}}};
  if (rng.chance(20)) return blocks_of_each(p, rng);
  if (rng.chance(50)) return {};
  const Schedule s = schedule(p, small_tiles(p));
  std::vector<Step> steps = steps_of(rng.pick(s.versions));
  steps.resize(static_cast<std::size_t>(rng.below(static_cast<int>(steps.size()) + 1)));
  return steps;
}

std::string word_of(const Step& step) {
  const std::string text = to_string(step);
  return text.substr(0, text.find(' '));
}

/// Throws InternalError if the refusal does not name the op, the step and a reason.
void check_refusal(const LoopProgram& p, const Step& step, const std::string& what) {
  const std::string head = fmt::format("{}: step '{}' cannot be taken: ", p.name, to_string(step));
  if (!what.starts_with(head) || what.size() == head.size())
    throw InternalError("a refusal that does not name its step and a reason: " + what);
}

/// Returns a step on loops that a GPU's schedule may begin with.
Step some_first_step(const LoopProgram& p, Rng& rng) {
  const StepKind kind =
      rng.pick({StepKind::keep, StepKind::scan, StepKind::positions, StepKind::hoist,
                StepKind::split, StepKind::interchange, StepKind::inward});
  if (kind == StepKind::keep) return {kind, {{rng.pick(tensors_of(p, TensorRole::output))}}};
  if (kind == StepKind::positions || kind == StepKind::hoist) return {kind, {{"", -1}}};
  const bool has_amount = kind == StepKind::split || kind == StepKind::inward;
  return {kind, {{rng.pick(loops_of(p)), has_amount ? rng.below(4) + 1 : -1}}};
}

/// Returns a step of a GPU on the loops of one of the kernels.
Step some_cuda_step(const CudaProgram& program, Rng& rng) {
  const CudaKernel kernel = rng.pick(program.kernels);
  const LoopProgram& p = kernel.loops();
  const StepKind kind =
      rng.pick({StepKind::distribute, StepKind::parts, StepKind::grid, StepKind::grid,
                StepKind::row_vectors, StepKind::row_vectors, StepKind::thread_vectors,
                StepKind::block_tile, StepKind::block_tile, StepKind::threads});
  if (kind == StepKind::distribute) return {kind, {{""}}};
  const std::vector<std::string> loops = loops_of(p);
  if (loops.empty()) return {kind, {}};
  const std::string loop = rng.chance(70) ? loops.front() : rng.pick(loops);
  if (kind == StepKind::grid || kind == StepKind::threads) return {kind, some_chain(p, loop, rng)};
  if (kind == StepKind::block_tile) return {kind, {{loop, rng.chance(50) ? 64 : 128}}};
  return {kind, {{loop}}};
}

}  // namespace

ScheduleOptions small_tiles(const LoopProgram& p) {
  return {.may_multiply_padding = (p.tensors.size() + p.body.size()) % 2 == 0,
          .shapes = {{8, 1, 2}},
          .block = 2,
          .tiles = 2,
          .least_iterations = 1,
          .rows = 2,
          .sums = 4};
}

std::uint64_t seed_of(const LoopProgram& p) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, the same on every machine
  for (const char c : to_string(*p.source))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::vector<RegisterShape> shapes_here() {
  std::vector<RegisterShape> shapes = ScheduleOptions{}.shapes;
  const int widest = mote_level() >= 4 ? 64 : mote_level() >= 3 ? 32 : 16;
  std::erase_if(shapes, [&](const RegisterShape& s) { return s.vector_bytes > widest; });
  return shapes;
}

ScheduleOptions whole_tiles(const LoopProgram& p) {
  Rng rng(seed_of(p));
  ScheduleOptions options;
  options.may_multiply_padding = rng.chance(50);
  options.shapes = {rng.pick(shapes_here())};
  return options;
}

DrawnSchedule draw_schedule(const LoopProgram& p, Rng& rng, int most) {
  DrawnSchedule drawn{scheduled_by(p, {}, small_tiles(p)), {}, {}, false};
  if (loops_of(p).empty()) return drawn;
  const std::vector<Step> opening = some_opening(p, rng);
  for (int k = 0; k < most; ++k) {
    std::vector<Step> steps = steps_of(drawn.version);
    const auto location = static_cast<std::size_t>(k);
    const Step step =
        location < opening.size() ? opening[location] : some_step(drawn.version.program, rng);
    if (step.targets.empty()) continue;
    steps.push_back(step);
    try {
      drawn.version = scheduled_by(p, parse_steps(to_string(steps)), small_tiles(p));
      drawn.taken.insert(word_of(step));
    } catch (const InternalError& e) {
      throw InternalError(fmt::format("{} (steps: {})", e.what(), to_string(steps)));
    } catch (const Error& e) {
      check_refusal(p, step, e.what());
      drawn.refused.insert(word_of(step));
      continue;
    }
    // A scan that runs backwards adds in another order, and a scatter rounds sums as they grow.
    drawn.reorders = drawn.reorders || step.kind == StepKind::blocks ||
                     step.kind == StepKind::scatter || step.kind == StepKind::partial ||
                     step.kind == StepKind::tile || step.kind == StepKind::tile_rows ||
                     step.kind == StepKind::tile_window ||
                     drawn.version.steps.back().effect.find(", backwards") != std::string::npos;
  }
  return drawn;
}

namespace {

/// Returns the first steps of a kernel that cuda_program() finds, or a few on loops.
std::vector<Step> some_cuda_opening(const LoopProgram& p, Rng& rng, const EmitOptions& options) {
  std::vector<Step> steps;
  if (rng.chance(40)) {
    const CudaProgram found = cuda_program(p, CudaVariant::gen, options);
    steps = steps_of(*rng.pick(all_kernels(found))->version);
    steps.resize(static_cast<std::size_t>(rng.below(static_cast<int>(steps.size()) + 1)));
  } else if (!loops_of(p).empty() && rng.chance(80)) {
    for (int count = rng.below(3); count > 0; --count) steps.push_back(some_first_step(p, rng));
  }
  return steps;
}

}  // namespace

DrawnCuda draw_cuda(const LoopProgram& p, Rng& rng, int most, const EmitOptions& options) {
  DrawnCuda drawn{cuda_program_by(p, {}, CudaVariant::gen, options), {}, {}, {}};
  const std::vector<Step> opening = some_cuda_opening(p, rng, options);
  for (std::size_t k = 0; k < static_cast<std::size_t>(most); ++k) {
    const Step step = k < opening.size() ? opening[k] : some_cuda_step(drawn.program, rng);
    if (step.targets.empty()) continue;
    std::vector<Step> next = drawn.steps;
    next.push_back(step);
    try {
      drawn.program = cuda_program_by(p, parse_steps(to_string(next)), CudaVariant::gen, options);
      drawn.steps = std::move(next);
      drawn.taken.insert(word_of(step));
    } catch (const InternalError& e) {
      throw InternalError(fmt::format("{} (CUDA steps: {})", e.what(), to_string(next)));
    } catch (const Error& e) {
      check_refusal(p, step, e.what());
      drawn.refused.insert(word_of(step));
    }
  }
  return drawn;
}

}  // namespace mote::test
