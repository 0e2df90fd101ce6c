// Kernels as text, and what a host needs to launch them. In: loops; out: CUDA C++ whose index,
// value and statement text is that of the C emitter.
#include "mote/codegen/emit_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "../emit_c_writer.h"
#include "../keep.h"
#include "../leave_out.h"
#include "distribute.h"
#include "mote_cuda_h.h"
#include "packs.h"
#include "row_packs.h"
#include "stages.h"
#include "tile_text.h"
#include "tiles.h"

namespace mote {
namespace cuda {
namespace {

using Kind = CudaArgument::Kind;
using emit::mentions_word;

struct Parameter {
  CudaArgument argument;
  std::string type;  ///< up to the name
  std::string name;
};

/// Everything that a kernel of the program may be given, in order.
std::vector<Parameter> parameters(const LoopProgram& p, const emit::Names& names) {
  std::vector<Parameter> all;
  for (const emit::Argument& a : emit::arguments(p)) {
    if (a.kind == emit::Argument::Kind::size) {
      all.push_back({{Kind::size, a.name}, "int64_t ", names.size(a.name)});
    } else if (a.kind == emit::Argument::Kind::param) {
      const auto at = static_cast<std::size_t>(*find_param(*p.source, a.name));
      const char* type = p.source->params[at].is_integer ? "int64_t " : "double ";
      all.push_back({{Kind::param, a.name}, type, names.param(a.name)});
    } else {
      const TensorDecl& t = *find_tensor(p, a.name);
      const std::string access = t.role == TensorRole::input ? "const " : "";
      all.push_back({{Kind::tensor, a.name},
                     access + emit::storage_type(t.dtype) + " *",
                     names.tensor(a.name)});
      if (!t.shape.empty())
        all.push_back({{Kind::strides, a.name},
                       fmt::format("mote_strides<{}> ", t.shape.size()),
                       names.strides(a.name)});
    }
  }
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    all.push_back({{Kind::temporary, t.name},
                   emit::local_type(t.dtype, p.native) + " *",
                   t.scope.empty() ? names.tensor(t.name) : names.slab(t.name)});
  }
  return all;
}

/// `extern "C" __global__ void f(…)`, over lines.
std::string head(const std::string& function, const std::vector<Parameter>& taken) {
  std::string out =
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1)\n", kCudaThreads);
  std::string line = function + "(";
  const std::string margin(std::min<std::size_t>(line.size(), 40), ' ');
  for (std::size_t k = 0; k < taken.size(); ++k) {
    const std::string piece = taken[k].type + taken[k].name + (k + 1 < taken.size() ? "," : "");
    if (k > 0 && line.size() + piece.size() > 96)
      out += std::exchange(line, margin) + "\n";
    else if (k > 0)
      line += " ";
    line += piece;
  }
  return out + line + ") {\n";
}

/// What a thread or a block is for, as a comment.
std::string workers_comment(const Stage& stage, const emit::Names& names, bool by_block,
                            const std::vector<KnownStride>& strides, bool by_packs = false) {
  if (stage.in_order) return "/* One thread does it all, in order. */\n";
  std::string variables;
  for_each(stage.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop == nullptr || loop->parallel == 0) return;
    for (const Loop* l : emit::parallel_chain(*loop))
      variables += (variables.empty() ? "" : ", ") + names.symbol(l->variable);
  });
  std::string where;
  for (const KnownStride& k : strides)
    where += fmt::format("{}{}[{}]", where.empty() ? ", where 1 is " : ", ",
                         names.strides(k.tensor), k.axis);
  const char* how = by_packs ? ", whose threads move 16 bytes at a time" : "";
  return emit::wrap(fmt::format("/* A {} for each {}{}{}. */", by_block ? "block" : "thread",
                                variables, how, where)) +
         "\n";
}

/// Arguments and text, from the body.
void finish(CudaKernel& k, const LoopProgram& part, const emit::Names& names,
            const std::string& comment, const std::string& body) {
  std::vector<Parameter> taken;
  for (const Parameter& parameter : parameters(part, names))
    if (mentions_word(body, parameter.name)) taken.push_back(parameter);
  for (const Parameter& parameter : taken) k.arguments.push_back(parameter.argument);
  k.text = comment + head(k.function, taken) + body + "}\n";
}

std::string variables_text(const std::vector<TileAxis>& axes, const emit::Names& names) {
  std::string out;
  for (const TileAxis& a : axes) out += (out.empty() ? "" : ", ") + names.symbol(a.variable);
  return out;
}

std::string tiles_comment(const TileForm& form, const emit::Names& names) {
  const std::string batch =
      form.batch.empty() ? "" : " for each " + variables_text(form.batch, names);
  return emit::wrap(fmt::format("/* A block for {0} x {0} of ({1}) x ({2}){3}. */", kCudaTile,
                                variables_text(form.rows, names),
                                variables_text(form.columns, names), batch)) +
         "\n";
}

/// A block for each tile; nullopt where the stage has no form of tiles.
std::optional<CudaKernel> tile_kernel(const LoopProgram& all, const Stage& stage,
                                      const std::string& function, bool tf32) {
  LoopProgram part = all;
  part.body = stage.body;
  const auto found = tile_form(part, part.body, tf32);
  if (!found) return std::nullopt;
  const TileForm& form = *found;
  CudaKernel k;
  k.function = function;
  k.by_block = true;
  k.rounds_to_tf32 = form.fragments == DType::f32;
  k.rows = extent(form.rows);
  k.columns = extent(form.columns);
  k.rounds = extent(form.batch) * ceil_div(k.rows, kCudaTile) * ceil_div(k.columns, kCudaTile);
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  const std::string body =
      emit::Writer(part, names, printer, emit::Target::cuda).kernel_body(true, &form);
  finish(k, part, names, tiles_comment(form, names), body);
  return k;
}

CudaKernel kernel(const LoopProgram& all, const Stage& stage, const std::string& function,
                  bool by_block) {
  LoopProgram part = all;
  part.body = stage.body;
  if (by_block) part.strides = *stage.rows;
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  emit::Writer writer(part, names, printer, emit::Target::cuda);
  std::string body = writer.kernel_body(by_block);
  if (stage.in_order) body = "  if (mote_thread() != 0) return;\n" + body;
  CudaKernel k{function, {}, stage.rounds, stage.in_order, by_block};
  if (by_block) k.strides = *stage.rows;
  finish(k, part, names, workers_comment(stage, names, by_block, k.strides), body);
  return k;
}

/// A block for each round, whose threads take 16 bytes of a row at a time.
std::optional<CudaKernel> row_pack_kernel(const LoopProgram& all, const Stage& stage,
                                          const std::string& function) {
  LoopProgram part = all;
  part.body = stage.body;
  part.strides = *stage.rows;
  const auto form = row_pack_form(part);
  if (!form) return std::nullopt;
  emit::Names names(form->program);
  for (const auto& [variable, packed] : form->loops) names.add_symbol(packed.at);
  emit::Printer printer(form->program, names, emit::Target::cuda);
  CudaKernel k{function, {}, stage.rounds, false, true};
  k.strides = *stage.rows;
  k.packed_rows = form->rows;
  const std::string body =
      emit::Writer(form->program, names, printer, emit::Target::cuda).kernel_body(*form);
  finish(k, part, names, workers_comment(stage, names, true, k.strides, true), body);
  return k;
}

/// A thread for 16 bytes of elements.
CudaKernel pack_kernel(const PackForm& form, const std::string& function) {
  const LoopProgram& part = form.program;
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  CudaKernel k;
  k.function = function;
  k.packed = form.packed();
  k.extents = form.extents;
  k.rounds = ceil_div(std::get<Loop>(part.body.back().kind).end, form.elements);
  std::string tensors;
  for (const std::string& tensor : k.packed)
    tensors += (tensors.empty() ? "" : ", ") + names.tensor(tensor);
  const std::string comment =
      emit::wrap(fmt::format("/* A thread for {} elements side by side, where {} have no gaps. */",
                             form.elements, tensors));
  finish(k, part, names, comment + "\n",
         emit::Writer(part, names, printer, emit::Target::cuda).kernel_body(form));
  return k;
}

constexpr const char* kOracle =
    "variant oracle: reals in double, integers in wrapping 64-bit, sums in\n * order; compile with "
    "--fmad=false, so that no product is fused into a sum.\n";
constexpr const char* kGen =
    "variant gen: reals in their own dtype, sums in any order, integers in\n * wrapping 64-bit.\n";
constexpr const char* kTf32 = "variant tf32: as gen, but tiles multiply f32 rounded to 11 bits.\n";

std::string comment(const LoopProgram& p, std::size_t stages, bool tf32) {
  const emit::Names names(p);
  const emit::Printer printer(p, names);
  const std::string launch =
      stages > 1 ? fmt::format("{} kernels, launched one after the other", stages) : "One kernel";
  const std::string body =
      emit::signature_comment(p, printer) +
      emit::comment_lines(fmt::format("{}, with any count of blocks of {} threads. Strides (s…) "
                                      "count elements.",
                                      launch, kCudaThreads)) +
      " * generated by mote; " +
      (tf32       ? kTf32
       : p.native ? kGen
                  : kOracle);
  return "/*" + emit::comment_text(body).substr(2) + " */\n";
}

/// `parts`: of a program that was distributed. Its rows are long wherever it is launched, also
/// those of memory alone, which demand no strides.
CudaProgram kernels_of(const LoopProgram& p, const std::string& function, bool tf32, bool parts) {
  const Stages cut = cuda::cut(p);
  CudaProgram out;
  out.comment = comment(cut.program, cut.stages.size(), tf32);
  for (std::size_t k = 0; k < cut.stages.size(); ++k) {
    const Stage& stage = cut.stages[k];
    const std::string own = function + (cut.stages.size() > 1 ? fmt::format("_{}", k + 1) : "");
    if (auto tiles =
            p.native ? tile_kernel(cut.program, stage, own + "_tiles", tf32) : std::nullopt)
      out.kernels.push_back(*std::move(tiles));
    if (p.native && stage.rows)
      if (auto packs = row_pack_kernel(cut.program, stage, own + "_row_packs"))
        out.kernels.push_back(*std::move(packs));
    if (stage.rows && (parts || !stage.rows->empty()))
      out.kernels.push_back(kernel(cut.program, stage, own + "_rows", true));
    if (const auto packs = p.native ? pack_form(cut.program, stage.body) : std::nullopt)
      out.kernels.push_back(pack_kernel(*packs, own + "_packs"));
    if (!parts || !stage.rows || !stage.rows->empty())
      out.kernels.push_back(kernel(cut.program, stage, own, false));
    for (CudaKernel& made : out.kernels)
      if (made.function.starts_with(own) && made.stage == 0) made.stage = static_cast<int>(k) + 1;
  }
  for (const TensorDecl& t : cut.program.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    const bool in_float = p.native && emit::is_in_float(t.dtype);
    const std::size_t bytes = t.dtype == DType::boolean ? 1 : in_float ? 4 : 8;
    out.temporaries.push_back({t.name, bytes, t.shape, !t.scope.empty()});
  }
  return out;
}

/// With tiles, or there is no use in it.
std::optional<CudaProgram> distributed_kernels(const LoopProgram& p, const std::string& function,
                                               bool tf32) {
  const auto parts = p.native ? distributed(p) : std::nullopt;
  if (!parts) return std::nullopt;
  CudaProgram out = kernels_of(*parts, function + "_parts", tf32, true);
  if (std::ranges::none_of(out.kernels, &CudaKernel::has_tiles)) return std::nullopt;
  out.comment =
      emit::wrap(fmt::format(
          "/* The same as {} stages, launched one after the other, with memory for what all rounds "
          "keep. */",
          out.kernels.back().stage)) +
      "\n";
  return out;
}

CudaProgram program_of(const LoopProgram& p, const EmitOptions& options, bool tf32) {
  const LoopProgram whole = leave_out(p, options.optional_outputs);
  const std::string function = emit::function_name(p, options);
  CudaProgram out = kernels_of(whole, function, tf32, false);
  if (auto parts = distributed_kernels(whole, function, tf32))
    out.distributed.push_back(*std::move(parts));
  return out;
}

}  // namespace
}  // namespace cuda

CudaProgram cuda_program(const LoopProgram& p, const EmitOptions& options) {
  return cuda::program_of(p, options, false);
}

namespace {

LoopProgram in_own_dtypes(LoopProgram p) {
  p.native = true;
  keep_in_outputs(p);
  return p;
}

}  // namespace

CudaProgram cuda_gen_program(const LoopProgram& p, const EmitOptions& options) {
  return cuda::program_of(in_own_dtypes(p), options, false);
}

CudaProgram cuda_tf32_program(const LoopProgram& p, const EmitOptions& options) {
  return cuda::program_of(in_own_dtypes(p), options, true);
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

namespace {

/// What mote_block_sum() and its like are made of: @ stands for the name, T for the type, J for a
/// and b joined.
constexpr std::string_view kBlock =
    R"(/* What the threads of a block hold, joined; each gets it. All of them call it. */
MOTE_DEVICE T @(T a) {
  __shared__ T parts[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T b = __shfl_xor_sync(0xffffffffu, a, lanes);
    a = J;
  }
  __syncthreads(); /* those of an earlier call have been read */
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = a;
  __syncthreads();
  a = parts[0];
  for (unsigned k = 1; k < blockDim.x / 32; k++) {
    const T b = parts[k];
    a = J;
  }
  return a;
}
)";

std::string block_helpers(const std::string& text) {
  static constexpr std::array<std::array<const char*, 3>, 8> kKinds = {
      {{"mote_block_sumf", "float", "a + b"},
       {"mote_block_prodf", "float", "a * b"},
       {"mote_block_maxf", "float", "mote_maxf(a, b)"},
       {"mote_block_minf", "float", "mote_minf(a, b)"},
       {"mote_block_sum", "double", "a + b"},
       {"mote_block_prod", "double", "a * b"},
       {"mote_block_max", "double", "mote_max(a, b)"},
       {"mote_block_min", "double", "mote_min(a, b)"}}};
  std::string out;
  for (const auto& [name, type, joined] : kKinds) {
    if (text.find(std::string(name) + "(") == std::string::npos) continue;
    out += "\n";
    for (std::size_t k = 0; k < kBlock.size(); ++k) {
      const bool stands_alone = k == 0 || kBlock[k - 1] == ' ' || kBlock[k - 1] == '(';
      const bool is_letter =
          stands_alone && k + 1 < kBlock.size() && (kBlock[k + 1] == ' ' || kBlock[k + 1] == ';');
      if (kBlock[k] == '@')
        out += name;
      else if (kBlock[k] == 'T' && is_letter)
        out += type;
      else if (kBlock[k] == 'J' && is_letter)
        out += joined;
      else
        out += kBlock[k];
    }
  }
  return out;
}

}  // namespace

std::string cuda_helpers(const std::string& text) {
  const std::string blocks = block_helpers(text) + emit::tile_helpers(text);
  std::string helpers = emit::helpers_for(text + blocks, emit::Target::cuda);
  const std::string c = "static inline ";
  for (std::size_t at = helpers.find(c); at != std::string::npos; at = helpers.find(c, at))
    helpers.replace(at, c.size(), "MOTE_DEVICE ");
  return helpers + blocks;
}

std::string cuda_header() { return kMoteCudaHeader; }

std::string emit_cuda(const CudaProgram& program, bool standalone) {
  const std::string text = to_string(program);
  const std::string helpers = cuda_helpers(text);
  return (standalone ? cuda_header() : "#include \"mote_cuda.h\"\n") + "\n" + helpers +
         (helpers.empty() ? "" : "\n") + text;
}

}  // namespace mote
