// The order of the passes, read from top to bottom, and the loop that takes back a choice of lower:
// a cheap value that got a tensor so that it is computed once, but whose tensor did not shrink to a
// scalar, is computed in place instead.
#include <array>

#include "lower.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

constexpr std::array<Pass, 11> kPasses = {{
    {"unguard", unguard},
    {"split", split},
    {"fuse", fuse},
    {"contract", contract},
    {"substitute", substitute},
    {"contract", contract},
    {"substitute", substitute},
    {"dead-code", eliminate_dead_code},
    {"simplify", simplify},
    {"bound", bound},
    {"simplify", simplify},
}};

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

/// Every stage that changed the program, the first being lower's.
std::vector<Stage> run_passes(LoopProgram p) {
  check(p);
  std::vector<Stage> stages;
  std::string text = to_string(p);
  stages.push_back({"lower", p});
  for (const Pass& pass : kPasses) {
    try {
      p = pass.run(std::move(p));
      check(p);
    } catch (const InternalError& e) {
      throw InternalError("in pass " + std::string(pass.name) + " of " +
                          stages.front().program.name + ": " + e.what());
    }
    std::string now = to_string(p);
    if (now == text) continue;
    text = std::move(now);
    stages.push_back({pass.name, p});
  }
  return stages;
}

/// Nodes of temporaries that are left and could as well be computed where they are read.
NodeSet regretted(const LoopProgram& p, const Lowered& lowered, const NodeSet& materialised) {
  NodeSet nodes;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    const Uop& u = lowered.temporaries.at(t.name);
    if (!std::holds_alternative<uop::Map>(u.node().kind)) continue;
    NodeSet others = materialised;
    others.erase(u.id());
    if (!is_expensive(u, others)) nodes.insert(u.id());
  }
  return nodes;
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

LoopProgram compile(std::shared_ptr<const Program> program,
                    const std::function<void(const char*, const LoopProgram&)>& observe) {
  NodeSet barred;
  while (true) {
    const NodeSet materialised = choose_materialised(*program, barred);
    Lowered lowered;
    try {
      lowered = lower_with(program, materialised);
    } catch (const Error& e) {
      throw Error("while lowering " + program->name + ": " + e.what());
    }
    std::vector<Stage> stages = run_passes(lowered.program);
    const std::size_t before = barred.size();
    barred.merge(regretted(stages.back().program, lowered, materialised));
    if (barred.size() != before) continue;
    if (observe)
      for (const Stage& s : stages) observe(s.name, s.program);
    return std::move(stages.back().program);
  }
}

}  // namespace mote
