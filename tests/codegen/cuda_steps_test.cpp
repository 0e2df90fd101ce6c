// SPDX-License-Identifier: Apache-2.0
// Tests the steps of a GPU's schedule: those of every kernel give it again, and one that a
// dependence forbids is refused with that dependence.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "cuda_programs.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using namespace test;

LoopProgram op_loops(const char* name) {
  const OpRecord& op = find_op(name);
  return compile(instantiate(op, {DType::f32, full_mask(op)}));
}

CudaProgram by(const LoopProgram& p, const std::string& steps) {
  return cuda_program_by(p, parse_steps(steps), CudaVariant::gen);
}

/// Returns why the last of the steps is refused.
std::string refusal(const LoopProgram& p, const std::string& steps) {
  try {
    (void)by(p, steps);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& e) {
    const std::string text = e.what(), marker = "cannot be taken: ";
    return text.substr(text.find(marker) + marker.size());
  }
  return "no error";
}

/// Returns the statements without what numbers tell apart: an op whose other stages are in parts
/// too has further names.
std::string without_numbers(const CudaKernel& k) {
  std::string text;
  for (const Stmt& s : k.loops().body) text += to_string(s);
  return std::regex_replace(text, std::regex("([A-Za-z])[_0-9]+\\b"), "$1");
}

/// An op's first instance: its loops, and the kernels for a GPU.
struct OpForGpu {
  std::string name;
  EmitOptions options;
  LoopProgram loops;
  CudaProgram program;
};

OpForGpu op_for_gpu(const OpRecord& record) {
  const Instance instance = instances(record).front();
  EmitOptions options;
  options.optional_outputs = record.optional_outputs;
  LoopProgram p = compile_for_calls(instantiate(record, instance), record.optional_outputs);
  CudaProgram program = cuda_program(p, CudaVariant::gen, options);
  return {instance_name(record, instance), std::move(options), std::move(p), std::move(program)};
}

TEST(CudaSteps, OfEveryKernelGiveItAgain) {
  std::size_t kernels = 0;
  for (const OpRecord* record : generated_ops()) {
    const auto [name, options, p, program] = op_for_gpu(*record);
    SCOPED_TRACE(name);
    for (const CudaKernel* kernel : all_kernels(program)) {
      const std::string steps = to_string(steps_of(*kernel->version));
      const CudaProgram again = cuda_program_by(p, parse_steps(steps), CudaVariant::gen, options);
      EXPECT_TRUE(std::ranges::any_of(again.kernels,
                                      [&](const CudaKernel& k) {
                                        return k.worker.index() == kernel->worker.index() &&
                                               without_numbers(k) == without_numbers(*kernel);
                                      }))
          << kernel->function << ": " << steps << "\n"
          << loops_text(again);
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 1000U);
}

/// Takes the steps. Returns what was wrong: an internal error, or a refusal that does not name a
/// step and a reason; empty if they were taken or refused as they should be.
std::string wrong_answer(const LoopProgram& p, const std::vector<Step>& steps,
                         const EmitOptions& options) {
  try {
    (void)cuda_program_by(p, parse_steps(to_string(steps)), CudaVariant::gen, options);
  } catch (const InternalError& e) {
    return e.what();
  } catch (const Error& e) {
    const std::string what = e.what(), marker = "' cannot be taken: ";
    const bool says_why = what.starts_with(p.name + ": step '") &&
                          what.find(marker) != std::string::npos && !what.ends_with(marker);
    return says_why ? "" : what;
  }
  return "";
}

using Schedules = std::vector<std::vector<Step>>;

/// Returns the steps in orders that nobody may have meant: each of them twice in a row, and again
/// at the end; the last first; and the steps of two kernels, one behind the other.
Schedules odd_orders(const Schedules& all) {
  std::set<std::string> texts;
  Schedules odd;
  const auto add = [&](const std::vector<Step>& steps) {
    if (texts.insert(to_string(steps)).second) odd.push_back(steps);
  };
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (std::size_t at = 0; at < all[k].size(); ++at) {
      std::vector<Step> twice = all[k], again = all[k];
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(at), all[k][at]);
      again.push_back(all[k][at]);
      add(twice);
      add(again);
    }
    add({all[k].rbegin(), all[k].rend()});
    std::vector<Step> both = all[k];
    const std::vector<Step>& next = all[(k + 1) % all.size()];
    both.insert(both.end(), next.begin(), next.end());
    add(both);
  }
  return odd;
}

/// Returns the steps of all kernels, without those whose words were given often enough: `given`
/// counts them.
Schedules schedules_of(const CudaProgram& program, std::map<std::string, int>& given) {
  constexpr int kEnough = 12;
  Schedules all;
  for (const CudaKernel* kernel : all_kernels(program)) {
    std::vector<Step> steps = steps_of(*kernel->version);
    std::string words;
    for (const Step& step : steps) words += to_string(Step{step.kind, {}}) + " ";
    if (++given[words] <= kEnough) all.push_back(std::move(steps));
  }
  return all;
}

TEST(CudaSteps, TwiceOrInAnyOrderAreTakenOrRefused) {
  std::map<std::string, int> given;
  std::size_t tried = 0;
  const auto ops = generated_ops();
  for (std::size_t k = 0; k < ops.size(); k += 3) {  // the others' steps are of the same kinds
    const auto [name, options, p, program] = op_for_gpu(*ops[k]);
    SCOPED_TRACE(name);
    for (const std::vector<Step>& steps : odd_orders(schedules_of(program, given))) {
      EXPECT_EQ(wrong_answer(p, steps, options), "") << to_string(steps);
      ++tried;
    }
  }
  EXPECT_GT(tried, 400U);
}

TEST(CudaSteps, MakeTheKernelsThatTheyName) {
  const LoopProgram softmax = op_loops("softmax");
  const CudaProgram rows = by(softmax, "keep y, grid r c, row_vectors r");
  ASSERT_EQ(rows.kernels.size(), 2U);  // the second is for rows that are not adjacent
  EXPECT_EQ(rows.kernels[0].function, "mote_softmax_row_vectors");
  EXPECT_EQ(rows.kernels[1].function, "mote_softmax");
  expect_has(rows.kernels[0].text, "kept");
  EXPECT_EQ(by(softmax, "").kernels[0].text.find("kept"), std::string::npos);
  EXPECT_EQ(by(softmax, "threads r").kernels.size(), 1U);
  expect_has(by(softmax, "threads r").kernels[0].text,
             "for (int64_t r = mote_thread(); r < R; r += mote_threads()) {");
  const CudaProgram parts = by(softmax, "parts r");
  EXPECT_GT(parts.kernels.size(), 3U);
  EXPECT_FALSE(parts.sizes.empty());
  EXPECT_TRUE(
      std::ranges::none_of(parts.kernels, [](const CudaKernel& k) { return k.part.has_value(); }));
  const CudaProgram tiles = by(compiled(kProduct), "block_tile m 128");
  EXPECT_TRUE(tiles.kernels.front().has_pipelined_tiles());
  EXPECT_FALSE(tiles.kernels.back().has_tiles());
  const CudaProgram split = by(compiled("op map\ninput x f32[N]\noutput y = x + x\n"), "split n 4");
  expect_has(split.kernels[0].text, "for (int64_t");
}

/// Where taps lie outside of the input, the loops over fragments hold a branch.
TEST(CudaSteps, MakeTilesForTensorCoresWhereSomeProductsDoNotCount) {
  std::size_t tiles = 0;
  for (const char* name : {"conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv1d.grad",
                           "conv2d.grad", "matmul", "attention"})
    for (const auto& [dtype, variant] :
         {std::pair(DType::bf16, CudaVariant::gen), std::pair(DType::f32, CudaVariant::tf32)}) {
      const OpRecord& op = find_op(name);
      if (!has_instance(op, {dtype, full_mask(op)})) continue;
      SCOPED_TRACE(std::string(name) + " in " + std::string(mote::name(dtype)));
      const LoopProgram p = compile(instantiate(op, {dtype, full_mask(op)}));
      const CudaProgram program = cuda_program(p, variant);
      for (const CudaKernel* kernel : all_kernels(program)) {
        if (!kernel->has_tiles()) continue;
        EXPECT_NO_THROW(verify(kernel->loops())) << kernel->function;
        const auto again = cuda_program_by(p, steps_of(*kernel->version), variant);
        EXPECT_TRUE(std::ranges::any_of(again.kernels, &CudaKernel::has_tiles));
        ++tiles;
      }
    }
  EXPECT_GT(tiles, 12U);
}

TEST(CudaSteps, AreRefusedWithTheReason) {
  const LoopProgram softmax = op_loops("softmax");
  EXPECT_EQ(refusal(softmax, "grid n"), "iterations of n fold into max");
  EXPECT_EQ(refusal(softmax, "grid x"), "there is no loop x (loops: r, c, n, n2, n3)");
  EXPECT_EQ(refusal(softmax, "threads r, grid r"), "step 'threads r' was taken before it");
  EXPECT_EQ(refusal(softmax, "grid c"), "expected r in the place of c");
  EXPECT_EQ(refusal(softmax, "grid r r"), "expected c in the place of r");
  EXPECT_EQ(refusal(softmax, "threads r, keep y"), "it must come before the steps of a GPU");
  EXPECT_EQ(
      refusal(softmax, "simd n"),
      "a GPU's schedule has keep, scan, positions, hoist, split, interchange and inward, then "
      "distribute, parts, threads, grid, row_vectors, thread_vectors and block_tile");
  EXPECT_EQ(refusal(op_loops("scatter_elements_mul"), "threads n"),
            "of the iterations of r one may store t[n, c], which another reads as t[n2, c3]");
  EXPECT_EQ(refusal(softmax, "row_vectors r"), "it must stand behind a step 'grid'");
  EXPECT_EQ(refusal(softmax, "block_tile r 64"),
            "its loops are not those of a tile: a sum of products, each of a row with a column, in "
            "loops over all rows and columns");
  EXPECT_EQ(refusal(softmax, "block_tile r 63"), "expected 64 or 128 rows, got 63");
  EXPECT_EQ(
      refusal(softmax, "grid r"),
      "the threads of a block cannot share `for c in 0..C {`: it holds loops that are not just "
      "a nest");
  EXPECT_EQ(
      refusal(op_loops("argmax"), "grid r c"),
      "the threads of a block cannot share `for n in 0..N with argmax = argmax {`: only sums, "
      "products, maxima and minima of reals are combined");
  EXPECT_EQ(refusal(compiled("op map\ninput x f32[N]\noutput y = x + x\n"), "parts n"),
            "nothing of it can be parts: neither a reduction whose limits do not change and that "
            "stores nothing, nor a scatter, nor loops behind the scalars of an iteration");
  EXPECT_THROW(cuda_program_by(softmax, {}, CudaVariant::reference), Error);
}

// ---- wrong schedules

/// Returns the statements of that kind, in order.
template <typename T>
std::vector<T*> all_of(Body& body) {
  std::vector<T*> found;
  for (Stmt& s : body) {
    if (auto* one = std::get_if<T>(&s.kind)) found.push_back(one);
    Body* nested = std::holds_alternative<Loop>(s.kind) ? &std::get<Loop>(s.kind).body
                   : std::holds_alternative<If>(s.kind) ? &std::get<If>(s.kind).body
                                                        : nullptr;
    if (nested == nullptr) continue;
    for (T* one : all_of<T>(*nested)) found.push_back(one);
  }
  return found;
}

Loop& loop_over(LoopProgram& p, const std::string& variable) {
  for (Loop* l : all_of<Loop>(p.body))
    if (l->variable.name() == variable) return *l;
  throw Error("no loop " + variable);
}

// A tile's array lives in iterations of the loop over tiles, which would become several loops.
TEST(CudaSteps, ALoopInWhichATemporaryLivesIsNotDistributed) {
  const LoopProgram p = compiled(
      "op sums\nparam eps real = 0.5\ninput w f64[2]\noutput f = (w + $eps)[i0 over 2, 2]");
  EXPECT_EQ(refusal(p, "inward i 1, distribute"), refusal(p, "distribute"));
}

/// Returns what verify() says of the loops, or what the interpreter does; empty if they are right.
std::string found_wrong(const LoopProgram& p) {
  std::vector<Number> values;
  for (int k = 0; k < 14; ++k) values.emplace_back(0.5 * k - 2);
  const std::vector<Array> inputs = {{DType::f32, {2, 7}, values}};
  try {
    verify(p);
    return interpret(p, inputs, {}) == evaluate(*p.source, inputs, {}) ? "" : "other results";
  } catch (const InternalError& e) {
    return e.what();
  }
}

/// Each edit is one that a wrong step might make of these loops, which are right.
TEST(CudaSteps, ThatAreWrongAreFound) {
  const CudaProgram program = by(compiled("op rows\ninput x f32[R, N]\n"
                                          "output y = exp(x - sum[1 keep](x))/max[1 keep](x)\n"),
                                 "grid r, row_vectors r");
  const LoopProgram right = program.kernels.front().loops();
  ASSERT_EQ(found_wrong(right), "");
  const std::string last = "n3";
  using Edit = std::function<void(LoopProgram&)>;
  const std::vector<std::pair<std::string, Edit>> edits = {
      {"the tail of a row is dropped",
       [&](LoopProgram& p) {
         Loop& row = loop_over(p, last + "_start");
         row.end = row.end - 3;
       }},
      {"a vector goes beyond the row",
       [&](LoopProgram& p) { loop_over(p, last).end = loop_over(p, last).begin + 4; }},
      {"vectors overlap", [&](LoopProgram& p) { loop_over(p, last + "_start").step = 3; }},
      {"a barrier that only some threads reach",
       [&](LoopProgram& p) { loop_over(p, last + "_start").body.push_back({Barrier{}}); }},
      {"blocks share a reduction",
       [&](LoopProgram& p) { loop_over(p, "n_start").kind = LoopKind::grid; }},
      {"all threads store",
       [&](LoopProgram& p) { loop_over(p, last + "_start").kind = LoopKind::serial; }},
      {"rows are not given to blocks",
       [&](LoopProgram& p) { loop_over(p, "r").kind = LoopKind::serial; }},
      {"a stride is forgotten", [](LoopProgram& p) { p.strides.clear(); }},
  };
  for (const auto& [what, edit] : edits) {
    LoopProgram wrong = right;
    edit(wrong);
    EXPECT_NE(found_wrong(wrong), "") << what << "\n" << to_string(wrong);
  }
}

}  // namespace
}  // namespace mote
