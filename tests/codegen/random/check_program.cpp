// SPDX-License-Identifier: Apache-2.0
// Compares the stages of the compiler with evaluate for one program: first the stages that need no
// C, so that the C of many programs can be compiled at once.
#include "check_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cuda_sequence.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/parse_loops.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/codegen/walk.h"
#include "mote/oracle/exactness.h"
#include "random_schedule.h"
#include "tile_trials.h"

namespace mote::test {
namespace {

constexpr int kMaxSteps = 8;  // that are tried for one drawn schedule
constexpr int kTrialsOfTiles = 10;
constexpr std::int64_t kMostElements = 60000;  // of all nodes of a trial for tiles

std::string text(const Number& n) {
  return n.is_real() ? fmt::format("{:.17g}", n.real()) : std::to_string(n.integer());
}

std::vector<std::int64_t> index_of(std::int64_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t k = shape.size(); k-- > 0; element /= shape[k]) index[k] = element % shape[k];
  return index;
}

/// True if the numbers are identical; with any_zero, zeros of either sign are alike, since the sign
/// may depend on the order of a fold.
bool alike(const Number& a, const Number& b, bool any_zero) {
  if (identical(a, b)) return true;
  return any_zero && a.is_real() && b.is_real() && a.real() == 0 && b.real() == 0;
}

std::optional<Mismatch> compare(const Program& p, const std::string& stage, const Trial& trial,
                                const std::vector<Array>& expected, const std::vector<Array>& got,
                                const std::vector<bool>* only) {
  const bool any_zero = stage.starts_with("gen");
  if (got.size() != expected.size())
    return Mismatch{stage, fmt::format("{} outputs", got.size()), "", {}, {}, {}, trial};
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const Array& e = expected[o];
    const Array& g = got[o];
    if (only != nullptr && !(*only)[o]) continue;
    if (e.dtype != g.dtype || e.shape != g.shape)
      return Mismatch{stage, "dtype or shape differs", p.outputs[o].name, {}, {}, {}, trial};
    for (std::size_t k = 0; k < e.values.size(); ++k)
      if (!alike(e.values[k], g.values[k], any_zero))
        return Mismatch{stage,
                        "",
                        p.outputs[o].name,
                        index_of(static_cast<std::int64_t>(k), e.shape),
                        e.values[k],
                        g.values[k],
                        trial};
  }
  return std::nullopt;
}

Binding binding_of(const Prepared& prepared, std::size_t t) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : prepared.inputs[t]) shapes.push_back(a.shape);
  return mote::bind(*prepared.program, shapes, prepared.trials[t].params);
}

/// Returns which outputs are exact in f32 in any order of sums.
std::vector<bool> exact_outputs(const Program& p, const Trial& t, const Binding& binding) {
  std::vector<bool> exact(p.outputs.size(), false);
  if (t.fill == Fill::reals || t.fill == Fill::special) return exact;
  const std::int64_t radius = t.fill == Fill::integers ? 9 : 1;  // of the values of make_inputs
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    Program alone = p;
    alone.outputs = {p.outputs[o]};
    exact[o] = exactness(alone, binding, FillKind::integer, radius).exact;
  }
  return exact;
}

/// Says what is wrong with a program: a rule that it breaks, or its text, which must read back as
/// the same program.
std::optional<Mismatch> verified(const std::string& stage, const LoopProgram& loops) {
  try {
    verify(loops);
    const std::string text = to_string(loops);
    const LoopProgram again = parse_loops(text, loops.source);
    if (!equal(again, loops) || to_string(again) != text)
      return Mismatch{
          stage,       "read back as\n" + to_string(again) + "from\n" + text, "", {}, {}, {},
          std::nullopt};
  } catch (const std::exception& e) {
    return Mismatch{stage, e.what(), "", {}, {}, {}, std::nullopt};
  }
  return std::nullopt;
}

/// The results that are compared: those that are exact in any order of sums; and where terms
/// outside of a tensor are multiplied by 0, of finite inputs.
enum class Compared : std::uint8_t { all, exact, exact_and_finite };

Compared compared_if(bool reorders, bool multiplies_padding) {
  if (!reorders) return Compared::all;
  return multiplies_padding ? Compared::exact_and_finite : Compared::exact;
}

/// Compares the results of `run` with the expected ones, for each output, or for those that are
/// exact; a trial for which it returns none does not count.
std::optional<Mismatch> check_runs(
    const Prepared& prepared, const std::string& stage, Compared compared,
    const std::function<std::optional<std::vector<Array>>(std::size_t)>& run) {
  for (std::size_t t = 0; t < prepared.trials.size(); ++t) {
    const std::vector<bool>* only = compared == Compared::all ? nullptr : &prepared.exact[t];
    if (compared == Compared::exact_and_finite && prepared.trials[t].fill == Fill::infinities)
      continue;
    if (only != nullptr && std::ranges::find(*only, true) == only->end()) continue;
    const Trial& trial = prepared.trials[t];
    try {
      const auto got = run(t);
      if (!got) continue;
      if (auto m = compare(*prepared.program, stage, trial, prepared.expected[t], *got, only))
        return m;
    } catch (const std::exception& e) {
      return Mismatch{stage, e.what(), "", {}, {}, {}, trial};
    }
  }
  return std::nullopt;
}

std::optional<Mismatch> check_stage(const Prepared& prepared, const std::string& stage,
                                    const LoopProgram& loops, bool only_exact = false) {
  if (auto wrong = verified(stage, loops)) return wrong;
  if (!prepared.interprets) return std::nullopt;
  const LoopProgram again = parse_loops(to_string(loops), loops.source);
  return check_runs(prepared, stage, compared_if(only_exact, loops.multiplies_padding),
                    [&](std::size_t t) -> std::optional<std::vector<Array>> {
                      if (!meets_demands(loops, binding_of(prepared, t))) return std::nullopt;
                      return interpret(again, prepared.inputs[t], prepared.trials[t].params);
                    });
}

bool reads_an_output(const LoopProgram& p) {
  return std::ranges::any_of(accesses(p.body), [&](const Access& a) {
    const TensorDecl* t = find_tensor(p, a.tensor);
    return !a.write && t != nullptr && t->role == TensorRole::output && !is_wide(t->dtype);
  });
}

bool runs_backwards(const TakenStep& taken) {
  return taken.effect.find(", backwards") != std::string::npos;
}

/// Checks schedules that were drawn. Values that an f32 output keeps are rounded there, as they are
/// in float.
std::optional<Mismatch> check_drawn_schedules(Prepared& prepared) {
  std::optional<Mismatch> found;
  for (int k = 0; k < prepared.schedules && !found; ++k) {
    Rng rng(prepared.trials.front().seed * 31 + static_cast<std::uint64_t>(k));
    const DrawnSchedule drawn = draw_schedule(*prepared.final, rng, kMaxSteps);
    for (const std::string& word : drawn.taken) prepared.stages.insert("step " + word);
    for (const std::string& word : drawn.refused) prepared.stages.insert("refusal of " + word);
    if (!reads_an_output(drawn.version.program))
      found = check_stage(prepared, "steps " + to_string(steps_of(drawn.version)),
                          drawn.version.program, drawn.reorders);
  }
  return found;
}

std::optional<Mismatch> check_schedule(Prepared& prepared) {
  std::optional<Mismatch> found;
  for (const Version& v : schedule(*prepared.final, small_tiles(*prepared.final)).versions) {
    const bool is_tiled = v.program.vector_bytes != 0;
    if (is_tiled) prepared.stages.insert("schedule tile");
    if (std::ranges::any_of(v.program.tensors,
                            [](const TensorDecl& t) { return t.integer_bits == 16; }))
      prepared.stages.insert("schedule in pairs");
    prepared.stages.insert(v.name.empty() ? "schedule" : "schedule simd");
    for (const TakenStep& taken : v.steps) {
      const std::string text = to_string(taken.step);
      prepared.stages.insert("schedule " + text.substr(0, text.find(' ')));
    }
    // Values that an f32 output keeps are rounded there, as they are in float; a sum that is
    // carried backwards, or in tiles, adds in another order.
    if (!found && !reads_an_output(v.program))
      found = check_stage(prepared, "schedule " + v.name, v.program,
                          is_tiled || std::ranges::any_of(v.steps, runs_backwards));
  }
  return found;
}

/// Checks schedules of a GPU that were drawn: each kernel, and all of them in sequence.
std::optional<Mismatch> check_drawn_cuda(Prepared& prepared) {
  std::optional<Mismatch> found;
  for (int k = 0; k < prepared.schedules && !found; ++k) {
    Rng rng(prepared.trials.front().seed * 37 + static_cast<std::uint64_t>(k));
    const DrawnCuda drawn = draw_cuda(*prepared.final, rng, kMaxSteps);
    for (const std::string& word : drawn.taken) prepared.stages.insert("CUDA step " + word);
    for (const std::string& word : drawn.refused) prepared.stages.insert("CUDA refusal of " + word);
    const std::string stage = "CUDA steps " + to_string(drawn.steps);
    for (const CudaKernel& kernel : drawn.program.kernels)
      if (!found) found = verified(stage, kernel.loops());
    const auto all = in_sequence(drawn.program);
    if (all) prepared.stages.insert("CUDA in sequence");
    const bool reorders = drawn.taken.contains("parts") || drawn.taken.contains("scan");
    if (!found && all && !reads_an_output(*all))
      found = check_stage(prepared, stage, *all, reorders);
  }
  return found;
}

/// Checks the loops of the CUDA kernels. Those of one stage compute the whole program.
std::optional<Mismatch> check_cuda(Prepared& prepared) {
  std::optional<Mismatch> found;
  const CudaProgram program = cuda_program(*prepared.final, CudaVariant::gen);
  for (const CudaKernel* k : all_kernels(program)) {
    if (const CudaPerBlock* rows = k->per_block())
      prepared.stages.insert(rows->vectors.empty() ? "cuda rows" : "cuda rows by vectors");
    if (k->per_vector() != nullptr) prepared.stages.insert("cuda vectors");
    if (found || reads_an_output(k->loops())) continue;
    // Vectors lie in tensors of one axis, whose extents are not those of the inputs.
    const bool is_flat = k->per_vector() != nullptr && k->per_vector()->extents.size() > 1;
    if (k->loops().is_part || is_flat)
      found = verified("cuda " + k->function, k->loops());
    else
      found = check_stage(prepared, "cuda " + k->function, k->loops());
  }
  return found;
}

}  // namespace

std::string to_string(const Mismatch& m) {
  std::string out = "stage " + m.stage + ": ";
  if (!m.message.empty())
    out += m.message;
  else
    out += fmt::format("{}[{}] expected {}, got {}", m.output, fmt::join(m.index, ", "),
                       text(m.expected), text(m.got));
  return out + (m.trial ? "\n  " + to_string(*m.trial) : "");
}

std::optional<Mismatch> check_stages(const Program& p, const std::vector<Trial>& trials,
                                     const CheckOptions& options, Prepared& prepared) {
  prepared.program = std::make_shared<const Program>(p);
  prepared.schedules = options.schedules;
  prepared.interprets = options.interpret;
  for (const Trial& t : trials) add_trial(prepared, t);
  std::optional<Mismatch> found;
  try {
    if ((found = check_stage(prepared, "per-uop", lower_per_uop(prepared.program)))) return found;
    if (options.planted) {
      const LoopProgram wrong = options.planted(lower(prepared.program));
      if ((found = check_stage(prepared, "planted", wrong))) return found;
    }
    prepared.final = compile(prepared.program, [&](const char* stage, const LoopProgram& loops) {
      prepared.stages.insert(stage);
      if (!found) found = check_stage(prepared, stage, loops);
    });
    if (!found) found = check_schedule(prepared);
    if (!found) found = check_drawn_schedules(prepared);
    if (!found) found = check_cuda(prepared);
    if (!found) found = check_drawn_cuda(prepared);
  } catch (const std::exception& e) {
    if (!found) found = Mismatch{"compile", e.what(), "", {}, {}, {}, std::nullopt};
  }
  return found;
}

void add_trial(Prepared& prepared, const Trial& t) {
  prepared.trials.push_back(t);
  prepared.inputs.push_back(make_inputs(*prepared.program, t));
  prepared.expected.push_back(evaluate(*prepared.program, prepared.inputs.back(), t.params));
  const Binding binding = binding_of(prepared, prepared.trials.size() - 1);
  prepared.exact.push_back(exact_outputs(*prepared.program, t, binding));
}

void add_tile_trials(Prepared& prepared, const CBatch& batch, int k, std::uint64_t seed) {
  for (const CBatch::Scheduled& s : batch.schedules(k)) {
    const bool is_whole = &s != &batch.schedules(k).front();
    for (const Trial& t :
         tile_trials(*prepared.final, s.schedule, s.options, seed + (is_whole ? 1 : 0),
                     is_whole ? kTrialsOfTiles : 1, kMostElements))
      add_trial(prepared, t);
  }
}

std::optional<Mismatch> check_gen(const Prepared& prepared, const std::string& stage,
                                  const std::function<std::vector<Array>(std::size_t)>& run,
                                  bool multiplies_padding) {
  return check_runs(prepared, stage, compared_if(true, multiplies_padding), run);
}

std::optional<Mismatch> check_c(const Prepared& prepared, const CBatch& batch, int k) {
  const auto runs = [&](CVariant variant) {
    return [&batch, &prepared, k, variant](std::size_t t) {
      return batch.run(k, *prepared.program, prepared.inputs[t], prepared.trials[t], variant);
    };
  };
  if (auto m = check_runs(prepared, "c", Compared::all, runs(CVariant::reference))) return m;
  const auto check = [&](const char* stage, CVariant variant) {
    return check_gen(prepared, stage, runs(variant), batch.multiplies_padding(k, variant));
  };
  if (auto m = check("gen", CVariant::gen)) return m;
  if (auto m = check("gen by drawn steps", CVariant::drawn)) return m;
  if (!batch.has_whole(k)) return std::nullopt;
  return check("gen with whole tiles", CVariant::whole);
}

std::optional<Mismatch> check_program(const Program& p, const std::vector<Trial>& trials,
                                      const CheckOptions& options) {
  Prepared prepared;
  if (auto m = check_stages(p, trials, options, prepared)) return m;
  if (!options.run_c) return std::nullopt;
  CBatch batch;
  try {
    const int k = batch.add(*prepared.final);
    batch.compile();
    return check_c(prepared, batch, k);
  } catch (const std::exception& e) {
    return Mismatch{"c", e.what(), "", {}, {}, {}, std::nullopt};
  }
}

}  // namespace mote::test
