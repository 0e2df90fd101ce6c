// SPDX-License-Identifier: Apache-2.0
// Prints the kernels of a program, with the helpers that they call. In: kernels; out: CUDA C++.
#include "mote/codegen/emit_cuda.h"

#include <fmt/format.h>

#include "block_helpers.h"
#include "c/writer.h"
#include "mote/base/error.h"
#include "mote/codegen/generated_by.h"
#include "mote_cuda_h.h"
#include "program_parts.h"
#include "tile_helpers.h"

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

}  // namespace

std::string comment_of(const LoopProgram& p, std::size_t stages, CudaVariant variant) {
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

}  // namespace cuda

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
    out += fmt::format("{}kernel {}\n{}{}", out.empty() ? "" : "\n", k->function,
                       steps_text(*k->version), to_string(k->loops()));
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
