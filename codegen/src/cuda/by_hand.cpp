// SPDX-License-Identifier: Apache-2.0
// Takes the steps of a GPU's schedule that a person names. In: loops and steps; out: a kernel for
// each stage, or two where one makes demands on calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "c/writer.h"
#include "distribute.h"
#include "form_steps.h"
#include "ir/dependence.h"
#include "kernel_text.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "passes/leave_out.h"
#include "program_parts.h"

namespace mote {
namespace cuda {
namespace {

/// The steps on loops whose result a GPU's stages can be cut from: they give no loop a kind, and
/// ask nothing of a call.
constexpr std::array kOnLoops = {StepKind::keep,  StepKind::scan,  StepKind::positions,
                                 StepKind::hoist, StepKind::split, StepKind::interchange,
                                 StepKind::inward};
bool is_on_loops(StepKind kind) { return std::ranges::find(kOnLoops, kind) != kOnLoops.end(); }

/// Returns "keep, scan and inward".
std::string words(std::span<const StepKind> kinds) {
  std::vector<std::string> all;
  for (const StepKind kind : kinds) all.push_back(to_string(Step{kind, {}}));
  const std::string last = all.back();
  all.pop_back();
  return fmt::format("{} and {}", fmt::join(all, ", "), last);
}

/// Says which steps a GPU's schedule may have.
std::string all_words() {
  std::vector<StepKind> on_stages = {StepKind::parts};
  for (const FormStep& form : form_steps()) on_stages.push_back(form.kind);
  std::ranges::sort(on_stages.begin() + 1, on_stages.end());
  return fmt::format("a GPU's schedule has {}, then distribute, {}", words(kOnLoops),
                     words(on_stages));
}

/// This holds the stages of a program, each with the steps that were taken on it.
class StagesByHand {
 public:
  StagesByHand(Version v, CudaVariant variant)
      : loops_(std::move(v.program)), variant_(variant), steps_(std::move(v.steps)) {}

  void take(const Step& step) {
    if (auto why = taken(step))
      throw Error(
          fmt::format("{}: step '{}' cannot be taken: {}", loops_.name, to_string(step), *why));
  }

  CudaProgram program(const std::string& function) {
    if (!is_cut_) cut_stages();
    cut_.program.is_part = loops_.is_part || is_divided_ || forms_.size() > 1;
    CudaProgram out;
    out.comment = comment_of(cut_.program, forms_.size(), variant_);
    out.sizes = sizes_;
    out.temporaries = temporaries_of(cut_.program);
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      const std::string stage_function =
          function + (forms_.size() > 1 ? fmt::format("_{}", k + 1) : "");
      std::vector<CudaKernel> made = {kernel_of(complete(forms_[k]), stage_function)};
      if (makes_demands(forms_[k]))
        made.push_back(kernel_of(complete(start_again(k)), stage_function));
      for (CudaKernel& kernel : made) {
        verify(kernel.loops());
        kernel.stage = static_cast<int>(k) + 1;
        out.kernels.push_back(std::move(kernel));
      }
    }
    return out;
  }

 private:
  Refusal taken(const Step& step) {
    if (step.kind == StepKind::distribute) return distribute(step);
    if (!is_for_gpu(step.kind) && step.kind != StepKind::threads)
      return is_on_loops(step.kind) ? std::string("it must come before the steps of a GPU")
                                    : all_words();
    if (!is_cut_) cut_stages();
    const std::string& loop = step.targets.front().name;
    const auto stage =
        std::ranges::find_if(forms_, [&](const StageForm& f) { return holds(f, loop); });
    if (stage == forms_.end())
      return fmt::format(
          "there is no loop {} ({})", loop,
          names().empty() ? "there are none" : fmt::format("loops: {}", fmt::join(names(), ", ")));
    if (step.kind != StepKind::parts) return cuda::take(*stage, step);
    return divide(static_cast<std::size_t>(stage - forms_.begin()), step);
  }

  Refusal distribute(const Step& step) {
    if (is_cut_) return "it must come before the steps that name a launch";
    auto made = distributed(loops_, Steps::nests);
    if (!made) return "no iterations have memory of their own and hold a nest of loops";
    loops_ = *std::move(made);
    steps_.push_back({step, ""});
    return std::nullopt;
  }

  /// Puts the parts of a stage in its place.
  Refusal divide(std::size_t stage, const Step& step) {
    if (auto why = why_has_workers(forms_[stage])) return why;
    auto division = divided(cut_, stage);
    if (!division)
      return "nothing of it can be parts: neither a reduction whose limits do not change and that "
             "stores nothing, nor a scatter, nor loops behind the scalars of an iteration";
    std::ranges::move(add_declarations(cut_.program, division->parts.program),
                      std::back_inserter(sizes_));
    steps_.push_back({step, ""});
    std::vector<StageForm> parts;
    for (const Stage& part : division->parts.stages)
      parts.push_back(start_of(division->parts.program, part, steps_, variant_));
    const auto at = static_cast<std::ptrdiff_t>(stage);
    forms_.erase(forms_.begin() + at);
    forms_.insert(forms_.begin() + at, parts.begin(), parts.end());
    cut_.stages.erase(cut_.stages.begin() + at);
    cut_.stages.insert(cut_.stages.begin() + at, division->parts.stages.begin(),
                       division->parts.stages.end());
    // Names that are given from here on differ from those of the parts.
    cut_.program.body.clear();
    for (const Stage& s : cut_.stages)
      cut_.program.body.insert(cut_.program.body.end(), s.body.begin(), s.body.end());
    is_divided_ = true;
    return std::nullopt;
  }

  void cut_stages() {
    cut_ = cut(loops_);
    for (const Stage& s : cut_.stages)
      forms_.push_back(start_of(cut_.program, s, steps_, variant_));
    is_cut_ = true;
  }

  /// Returns the form, which says whether other stages store and read its tensors as well.
  StageForm complete(StageForm form) const {
    form.version.program.is_part = cut_.program.is_part;
    return form;
  }

  /// Returns the stage as it was before the steps that gave it to its workers.
  StageForm start_again(std::size_t k) const {
    std::vector<TakenStep> before = forms_[k].version.steps;
    before.resize(forms_[k].steps_before);
    return start_of(cut_.program, cut_.stages[k], std::move(before), variant_);
  }

  static bool makes_demands(const StageForm& form) {
    const auto* rows = std::get_if<CudaPerBlock>(&form.worker);
    return !form.loops().strides.empty() || (rows != nullptr && !rows->vectors.empty()) ||
           std::holds_alternative<CudaPerVector>(form.worker) ||
           std::holds_alternative<CudaPerTile>(form.worker);
  }

  static bool holds(const StageForm& form, const std::string& loop) {
    bool found = false;
    for_each(form.stage.body, [&](const Stmt& s) {
      found = found || (as_loop(s) != nullptr && as_loop(s)->variable.name() == loop);
    });
    return found;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const StageForm& f : forms_)
      for_each(f.stage.body, [&](const Stmt& s) {
        if (as_loop(s) != nullptr) all.push_back(as_loop(s)->variable.name());
      });
    return all;
  }

  LoopProgram loops_;
  CudaVariant variant_;
  std::vector<TakenStep> steps_;  ///< those on loops, and those that made the stages
  bool is_cut_ = false, is_divided_ = false;
  Stages cut_;
  std::vector<StageForm> forms_;  ///< one for each of the stages
  std::vector<NamedSize> sizes_;  ///< those of the parts
};

}  // namespace
}  // namespace cuda

CudaProgram cuda_program_by(const LoopProgram& p, std::span<const Step> steps, CudaVariant variant,
                            const EmitOptions& options) {
  if (variant == CudaVariant::reference)
    throw Error(fmt::format("{}: a schedule is of variant gen or tf32, got reference", p.name));
  const auto rest =
      std::ranges::find_if_not(steps, [](const Step& s) { return cuda::is_on_loops(s.kind); });
  Version v = scheduled_by(p, std::vector<Step>(steps.begin(), rest));
  v.program = leave_out(std::move(v.program), options.optional_outputs);
  const std::string function = emit::function_name(v.program, options);
  cuda::StagesByHand stages(std::move(v), variant);
  for (auto step = rest; step != steps.end(); ++step) stages.take(*step);
  return stages.program(function);
}

}  // namespace mote
