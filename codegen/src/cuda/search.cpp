// SPDX-License-Identifier: Apache-2.0
// Decides which kernels a program has: for each stage the alternatives, each by the steps that lead
// to it. In: loops; out: kernels, with what a host needs to launch them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "c/writer.h"
#include "distribute.h"
#include "form_steps.h"
#include "ir/dependence.h"
#include "kernel_text.h"
#include "mote/codegen/emit_cuda.h"
#include "passes/leave_out.h"
#include "program_parts.h"
#include "schedule/keep.h"

namespace mote {
namespace cuda {
namespace {

/// This says how the kernels of one stage are made, and where the stage stands.
struct StageOptions {
  CudaVariant variant;
  std::vector<TakenStep> steps;  ///< those that led to the stage
  bool distributed = false;
  int stage = 0;
  std::optional<int> part = std::nullopt;
};

/// Makes the kernels of one stage.
class Alternatives {
 public:
  Alternatives(const LoopProgram& p, const Stage& stage, std::string function, StageOptions options)
      : start_(start_of(p, stage, options.steps, options.variant)),
        function_(std::move(function)),
        options_(std::move(options)) {}

  std::vector<CudaKernel> run() {
    const StageSearch search{start_, options_.part.has_value(),
                             options_.distributed || options_.part, all_};
    for (const FormStep& form : form_steps())
      for (const std::vector<Step>& steps : form.to_try(search)) add(steps);
    return std::move(all_);
  }

 private:
  /// Adds the kernel after these steps, unless one of them cannot be taken.
  void add(const std::vector<Step>& steps) {
    StageForm form = start_;
    for (const Step& step : steps)
      if (take(form, step)) return;
    CudaKernel made = kernel_of(form, function_);
    made.stage = options_.stage;
    made.part = options_.part;
    all_.push_back(std::move(made));
  }

  StageForm start_;
  std::string function_;
  StageOptions options_;
  std::vector<CudaKernel> all_;
};

/// Returns the first loop of the stage.
std::string first_loop(const Stage& stage) {
  std::string first;
  for_each(stage.body, [&](const Stmt& s) {
    if (first.empty() && as_loop(s) != nullptr) first = as_loop(s)->variable.name();
  });
  return first;
}

/// Adds the stage in parts after its kernels, if those have no tiles.
void add_parts(CudaProgram& out, std::vector<CudaKernel>& whole, Stages& all, std::size_t stage,
               const std::string& own, const StageOptions& of_stage) {
  if (!all.program.native || std::ranges::any_of(whole, &CudaKernel::has_tiles)) return;
  const auto division = divided(all, stage);
  if (!division) return;
  for (CudaKernel& k : whole) k.terms = division->terms;
  StageOptions options = of_stage;
  options.steps.push_back({{StepKind::parts, {{first_loop(all.stages[stage])}}}, ""});
  const auto& parts = division->parts.stages;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    options.part = static_cast<int>(k) + 1;
    auto made = Alternatives(division->parts.program, parts[k],
                             fmt::format("{}_part{}", own, *options.part), options)
                    .run();
    if (k == 0)
      made.front().text =
          fmt::format("/* Where few threads would have much to do, {}: */\n\n",
                      parts.size() > 1 ? fmt::format("the same in {} parts", parts.size())
                                       : std::string("in its place")) +
          made.front().text;
    std::ranges::move(made, std::back_inserter(whole));
  }
  // The next stage in parts has names of its own.
  std::ranges::move(add_declarations(all.program, division->parts.program),
                    std::back_inserter(out.sizes));
}

CudaProgram kernels_of(const LoopProgram& p, const std::string& function,
                       const StageOptions& of_program) {
  Stages cut = cuda::cut(p);
  Stages with_parts = cut;
  cut.program.is_part = p.is_part || cut.stages.size() > 1;
  CudaProgram out;
  out.comment = comment_of(cut.program, cut.stages.size(), of_program.variant);
  for (std::size_t k = 0; k < cut.stages.size(); ++k) {
    const std::string own = function + (cut.stages.size() > 1 ? fmt::format("_{}", k + 1) : "");
    StageOptions options = of_program;
    options.stage = static_cast<int>(k) + 1;
    auto made = Alternatives(cut.program, cut.stages[k], own, options).run();
    if (!options.distributed) add_parts(out, made, with_parts, k, own, options);
    std::ranges::move(made, std::back_inserter(out.kernels));
  }
  out.temporaries = temporaries_of(with_parts.program);
  return out;
}

/// Returns the distributed program if it has tiles; without them it has no advantage.
std::optional<CudaProgram> distributed_kernels(const LoopProgram& p, const std::string& function,
                                               StageOptions options) {
  const auto parts = p.native ? distributed(p, Steps::nests) : std::nullopt;
  if (!parts) return std::nullopt;
  options.distributed = true;
  options.steps.push_back({{StepKind::distribute, {{""}}}, ""});
  CudaProgram out = kernels_of(*parts, function + "_parts", options);
  if (std::ranges::none_of(out.kernels, &CudaKernel::has_tiles)) return std::nullopt;
  out.comment = emit::wrap(fmt::format("/* The same as {} stages, launched one after the other, "
                                       "with memory for what all iterations "
                                       "keep. */",
                                       out.kernels.back().stage)) +
                "\n";
  return out;
}

}  // namespace

std::vector<CudaTemporary> temporaries_of(const LoopProgram& p) {
  std::vector<CudaTemporary> all;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    all.push_back({t.name, emit::bytes_of_local(t, p.native), t.shape, t.per.has_value()});
  }
  return all;
}

std::vector<NamedSize> add_declarations(LoopProgram& p, const LoopProgram& parts) {
  const auto before = static_cast<std::ptrdiff_t>(p.source->sizes.size());
  std::vector<NamedSize> added(parts.source->sizes.begin() + before, parts.source->sizes.end());
  p.source = parts.source;
  for (const TensorDecl& t : parts.tensors) {
    const auto known = std::ranges::find(p.tensors, t.name, &TensorDecl::name);
    if (known == p.tensors.end())
      p.tensors.push_back(t);
    else if (known->shape.empty())
      *known = t;  // a scalar within the stage may be memory between its parts
  }
  return added;
}

}  // namespace cuda

CudaProgram cuda_program(const LoopProgram& p, CudaVariant variant, const EmitOptions& options) {
  LoopProgram native = p;
  cuda::StageOptions of_program{variant, {}};
  if (variant != CudaVariant::reference) {
    native.native = true;
    of_program.steps = keep_in_outputs(native);
  }
  const LoopProgram loops = leave_out(std::move(native), options.optional_outputs);
  const std::string function = emit::function_name(loops, options);
  CudaProgram out = cuda::kernels_of(loops, function, of_program);
  if (auto parts = cuda::distributed_kernels(loops, function, of_program))
    out.distributed.push_back(*std::move(parts));
  return out;
}

}  // namespace mote
