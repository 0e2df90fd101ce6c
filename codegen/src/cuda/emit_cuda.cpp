// SPDX-License-Identifier: Apache-2.0
// Decides which kernels a program has, and lists what a host needs to launch them. In: loops; out:
// CUDA C++.
#include "mote/codegen/emit_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "block_helpers.h"
#include "c/writer.h"
#include "distribute.h"
#include "kernel_text.h"
#include "mote/base/error.h"
#include "mote/codegen/generated_by.h"
#include "mote_cuda_h.h"
#include "passes/leave_out.h"
#include "schedule/keep.h"
#include "stages.h"
#include "tile_helpers.h"
#include "vector_access.h"

namespace mote {
namespace cuda {
namespace {

constexpr const char* kReferenceNote =
    "Reference:\n * reals in double, integers in wrapping 64-bit, sums in order; compile "
    "with "
    "--fmad=false, so\n * that no product is fused into a sum.\n";
constexpr const char* kGenNote =
    "Variant gen:\n * reals in their own dtype, sums in any order, integers in wrapping 64-bit.\n";
constexpr const char* kTf32Note =
    "Variant tf32:\n * as gen, but tiles multiply f32 rounded to 11 bits.\n";

const char* note(CudaVariant variant) {
  switch (variant) {
    case CudaVariant::reference:
      return kReferenceNote;
    case CudaVariant::gen:
      return kGenNote;
    case CudaVariant::tf32:
      return kTf32Note;
  }
  throw InternalError("emit_cuda: unknown variant");
}

std::string comment(const LoopProgram& p, std::size_t stages, CudaVariant variant) {
  const emit::Names names(p);
  const emit::Printer printer(p, names);
  const std::string launch =
      stages > 1 ? fmt::format("{} kernels, launched one after the other", stages) : "One kernel";
  const std::string body =
      emit::signature_comment(p, printer) +
      emit::comment_lines(fmt::format("{}, with any count of blocks of {} threads. Strides (s…) "
                                      "count elements.",
                                      launch, kCudaThreads)) +
      " * " + kGeneratedByMote + ". " + note(variant);
  return "/*" + emit::comment_text(body).substr(2) + " */\n";
}

/// The options for the kernels of one stage, and their position.
struct Making {
  CudaVariant variant;
  /// True in a program that was distributed: rows are long wherever it is launched, also rows of
  /// temporaries alone, which need no strides.
  bool distributed = false;
  int stage = 0;
  std::optional<int> part = std::nullopt;
};

/// Returns true if one of the tensors may repeat, so that it has gaps.
bool repeats_any(const LoopProgram& p, const VectorForm& vectors) {
  return std::ranges::any_of(p.source->inputs, [&](const Uop& u) {
    const auto& input = std::get<uop::Input>(u.node().kind);
    return std::ranges::find(vectors.loads, input.name) != vectors.loads.end() &&
           std::ranges::find(input.broadcast, true) != input.broadcast.end();
  });
}

std::vector<CudaKernel> kernels_of(const LoopProgram& p, const Stage& stage, const std::string& own,
                                   const Making& making) {
  std::vector<CudaKernel> all;
  const auto add = [&](std::vector<CudaKernel> made) {
    std::ranges::move(made, std::back_inserter(all));
  };
  const bool has_long_rows = making.distributed || making.part;
  const bool demands = stage.rows && !stage.rows->empty();
  if (p.native && !making.part) add(tile_kernels(p, stage, own, making.variant));
  if (stage.rows)
    add(row_kernels(p, stage, own,
                    {.by_vectors = p.native && (demands || !making.part),
                     .by_elements = has_long_rows || demands}));
  const auto vectors = p.native ? vectorise_elements(p, stage.body) : std::nullopt;
  if (vectors) all.push_back(vector_kernel(*vectors, own + "_vectors"));
  // Blocks take rows where threads would compute each element's index.
  if (p.native && !stage.rows && (!vectors || repeats_any(p, *vectors)))
    if (const auto rows = along_rows(p, stage))
      add(row_kernels(p, *rows, own, {.by_vectors = true, .by_elements = false, .is_map = true}));
  if (!has_long_rows || !stage.rows || demands) all.push_back(kernel(p, stage, own));
  for (CudaKernel& made : all) {
    made.stage = making.stage;
    made.part = making.part;
  }
  return all;
}

/// Adds the stage in parts after its kernels, if those have no tiles.
void add_parts(CudaProgram& out, std::vector<CudaKernel>& whole, Stages& all, std::size_t stage,
               const std::string& own, CudaVariant variant) {
  if (!all.program.native || std::ranges::any_of(whole, &CudaKernel::has_tiles)) return;
  const auto division = divided(all, stage);
  if (!division) return;
  for (CudaKernel& k : whole) k.terms = division->terms;
  const auto& parts = division->parts.stages;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const int number = static_cast<int>(k) + 1;
    const Making making{variant, false, static_cast<int>(stage) + 1, number};
    auto made = kernels_of(division->parts.program, parts[k], fmt::format("{}_part{}", own, number),
                           making);
    if (k == 0)
      made.front().text =
          fmt::format("/* Where few threads would have much to do, {}: */\n\n",
                      parts.size() > 1 ? fmt::format("the same in {} parts", parts.size())
                                       : std::string("in its place")) +
          made.front().text;
    std::ranges::move(made, std::back_inserter(whole));
  }
  // The next stage in parts has names of its own.
  const auto before = static_cast<std::ptrdiff_t>(all.program.source->sizes.size());
  const LoopProgram& program = division->parts.program;
  out.sizes.insert(out.sizes.end(), program.source->sizes.begin() + before,
                   program.source->sizes.end());
  all.program.source = program.source;
  for (const TensorDecl& t : program.tensors) {
    const auto known = std::ranges::find(all.program.tensors, t.name, &TensorDecl::name);
    if (known == all.program.tensors.end())
      all.program.tensors.push_back(t);
    else if (known->shape.empty())
      *known = t;  // a scalar within the stage may be memory between its parts
  }
}

std::vector<CudaTemporary> temporaries_of(const LoopProgram& p) {
  std::vector<CudaTemporary> all;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    const bool in_float = p.native && emit::is_in_float(t.dtype);
    const std::size_t bytes = t.dtype == DType::boolean ? 1 : in_float ? 4 : 8;
    all.push_back({t.name, bytes, t.shape, t.per.has_value()});
  }
  return all;
}

CudaProgram kernels_of(const LoopProgram& p, const std::string& function, CudaVariant variant,
                       bool distributed) {
  Stages cut = cuda::cut(p);
  Stages with_parts = cut;
  cut.program.is_part = p.is_part || cut.stages.size() > 1;
  CudaProgram out;
  out.comment = comment(cut.program, cut.stages.size(), variant);
  for (std::size_t k = 0; k < cut.stages.size(); ++k) {
    const std::string own = function + (cut.stages.size() > 1 ? fmt::format("_{}", k + 1) : "");
    auto made = kernels_of(cut.program, cut.stages[k], own,
                           {variant, distributed, static_cast<int>(k) + 1});
    if (!distributed) add_parts(out, made, with_parts, k, own, variant);
    std::ranges::move(made, std::back_inserter(out.kernels));
  }
  out.temporaries = temporaries_of(with_parts.program);
  return out;
}

/// Returns the distributed program if it has tiles; without them it has no advantage.
std::optional<CudaProgram> distributed_kernels(const LoopProgram& p, const std::string& function,
                                               CudaVariant variant) {
  const auto parts = p.native ? distributed(p, Steps::nests) : std::nullopt;
  if (!parts) return std::nullopt;
  CudaProgram out = kernels_of(*parts, function + "_parts", variant, true);
  if (std::ranges::none_of(out.kernels, &CudaKernel::has_tiles)) return std::nullopt;
  out.comment = emit::wrap(fmt::format("/* The same as {} stages, launched one after the other, "
                                       "with memory for what all iterations "
                                       "keep. */",
                                       out.kernels.back().stage)) +
                "\n";
  return out;
}

/// Returns the loops as the variant computes them.
LoopProgram loops_of(LoopProgram p, CudaVariant variant, const EmitOptions& options) {
  if (variant != CudaVariant::reference) {
    p.native = true;
    keep_in_outputs(p);
  }
  return leave_out(std::move(p), options.optional_outputs);
}

}  // namespace
}  // namespace cuda

CudaProgram cuda_program(const LoopProgram& p, CudaVariant variant, const EmitOptions& options) {
  const LoopProgram loops = cuda::loops_of(p, variant, options);
  const std::string function = emit::function_name(loops, options);
  CudaProgram out = cuda::kernels_of(loops, function, variant, false);
  if (auto parts = cuda::distributed_kernels(loops, function, variant))
    out.distributed.push_back(*std::move(parts));
  return out;
}

std::vector<const CudaKernel*> all_kernels(const CudaProgram& program) {
  std::vector<const CudaKernel*> all;
  for (const CudaKernel& k : program.kernels) all.push_back(&k);
  for (const CudaProgram& parts : program.distributed)
    for (const CudaKernel* k : all_kernels(parts)) all.push_back(k);
  return all;
}

std::string to_string(const CudaProgram& program) {
  std::string out = program.comment;
  for (const CudaKernel& k : program.kernels) out += "\n" + k.text;
  for (const CudaProgram& parts : program.distributed) out += "\n" + to_string(parts);
  return out;
}

std::string loops_text(const CudaProgram& program) {
  std::string out;
  for (const CudaKernel* k : all_kernels(program))
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", k->function, to_string(*k->loops));
  return out;
}

std::string cuda_helpers(const std::set<std::string>& names) {
  std::set<std::string> all = names;
  const std::string blocks =
      cuda::block_helpers(all) + emit::tile_helpers(all) + emit::pipelined_tile_helpers(all);
  return emit::helpers_text(all, emit::Target::cuda) + blocks;
}

std::string cuda_helpers(const CudaProgram& program) {
  std::set<std::string> names;
  for (const CudaKernel* k : all_kernels(program))
    names.insert(k->helpers.begin(), k->helpers.end());
  return cuda_helpers(names);
}

std::string cuda_header() { return kMoteCudaHeader; }

std::string emit_cuda(const CudaProgram& program, bool standalone) {
  const std::string text = to_string(program);
  const std::string helpers = cuda_helpers(program);
  return (standalone ? generated_head("One file that compiles alone") + cuda_header()
                     : "#include \"mote_cuda.h\"\n") +
         "\n" + helpers + (helpers.empty() ? "" : "\n") + text;
}

}  // namespace mote
