// SPDX-License-Identifier: Apache-2.0
// Runs the passes in order, from top to bottom, and repeats lower where its choice was wrong: a
// cheap value that got a tensor so that it is computed once, but whose tensor did not shrink to a
// scalar, is computed in place instead.
#include "passes/compile.h"

#include <array>

#include "lower/lower.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

constexpr auto kPasses = std::to_array<Pass>({
    {"unguard", unguard},
    {"split", split},
    {"fuse", fuse},
    {"unroll", unroll},
    {"contract", contract},
    {"substitute", substitute},
    {"contract", contract},
    {"substitute", substitute},
    {"dead-code", eliminate_dead_code},
    {"simplify", simplify},
    {"demand", demand},
    {"dead-code", eliminate_dead_code},
    {"tighten", tighten},
    {"simplify", simplify},
    {"dead-code", eliminate_dead_code},
    {"defer", defer},
    {"coalesce", coalesce},
});

/// The number of passes after which it is known which temporaries keep a tensor: those up to the
/// first dead-code. A pass that is added above it changes the number. The other passes run only on
/// programs that are not lowered again.
constexpr std::size_t kPassesThatDecide = 9;

constexpr bool kVerify =
#ifdef NDEBUG
    false;
#else
    true;
#endif

struct Stage {
  const char* name;
  LoopProgram program;
};

void check(const LoopProgram& p) {
  if (kVerify) verify(p);
}

/// Runs the passes; `stages`, if wanted, gets every stage that changed the program.
LoopProgram run_passes(std::span<const Pass> passes, LoopProgram p, std::vector<Stage>* stages) {
  std::string text = stages ? to_string(p) : "";
  for (const Pass& pass : passes) {
    const std::string name = p.name;
    try {
      p = pass.run(std::move(p));
      check(p);
    } catch (const InternalError& e) {
      throw InternalError("in pass " + std::string(pass.name) + " of " + name + ": " + e.what());
    }
    if (!stages) continue;
    std::string now = to_string(p);
    if (now != text) stages->push_back({pass.name, p});
    text = std::move(now);
  }
  return p;
}

/// Bars the nodes of temporaries that remain and could as well be computed where they are read.
void bar_regretted(const std::vector<TensorDecl>& tensors, const Lowered& lowered,
                   const Materialised& materialised, Barred& barred) {
  for (const TensorDecl& t : tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    const Uop& u = lowered.temporaries.at(t.name);
    if (!std::holds_alternative<uop::Map>(u.node().kind)) continue;
    if (materialised.for_text.count(u.id())) continue;
    NodeSet others = materialised.nodes;
    others.erase(u.id());
    if (is_expensive(u, others)) continue;
    (is_larger_than_reads(u, others) ? barred.larger : barred.cheap).insert(u.id());
  }
}

/// Lowers the program and runs those of the passes that decide which temporaries keep a tensor,
/// and then `later`; `stages`, if wanted, gets the lowered program and every stage that changed it.
LoopProgram compile_with(const std::shared_ptr<const Program>& program, std::span<const Pass> later,
                         std::vector<Stage>* stages) {
  Barred barred;
  while (true) {
    const Materialised materialised = choose_materialised(*program, barred);
    Lowered lowered;
    try {
      lowered = lower_with(program, materialised.nodes);
    } catch (const Error& e) {
      throw Error("while lowering " + program->name + ": " + e.what());
    }
    check(lowered.program);
    if (stages) *stages = {{"lower", lowered.program}};
    LoopProgram result =
        run_passes(std::span(kPasses).first(kPassesThatDecide), std::move(lowered.program), stages);
    const std::size_t before = barred.size();
    bar_regretted(result.tensors, lowered, materialised, barred);
    if (barred.size() == before) return run_passes(later, std::move(result), stages);
  }
}

constexpr std::span<const Pass> kLater = std::span(kPasses).subspan(kPassesThatDecide);
static_assert(kLater.back().run == coalesce);

}  // namespace

std::span<const Pass> passes() { return kPasses; }

LoopProgram compile(const std::shared_ptr<const Program>& program,
                    const std::function<void(const char*, const LoopProgram&)>& observe) {
  std::vector<Stage> stages;
  LoopProgram result = compile_with(program, kLater, observe ? &stages : nullptr);
  for (const Stage& s : stages) observe(s.name, s.program);
  return result;
}

LoopProgram compile_uncoalesced(const std::shared_ptr<const Program>& program) {
  return compile_with(program, kLater.first(kLater.size() - 1), nullptr);
}

}  // namespace mote
