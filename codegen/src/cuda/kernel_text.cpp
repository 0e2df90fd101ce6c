// SPDX-License-Identifier: Apache-2.0
// In: a stage of a program; out: kernels with the arguments that they read. The C emitter writes
// the text of their indices, values and statements.
#include "kernel_text.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "kernel_writer.h"
#include "mote/codegen/walk.h"
#include "pipelined_tiles.h"
#include "row_vectors.h"
#include "rows.h"
#include "share_rows.h"
#include "tile_writer.h"

namespace mote::cuda {
namespace {

using Kind = CudaArgument::Kind;

struct Parameter {
  CudaArgument argument;
  std::string type;  ///< everything before the name
  std::string name;
};

/// Returns all parameters that a kernel of the program may take, in order.
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
                   !t.per ? names.tensor(t.name) : names.slab(t.name)});
  }
  return all;
}

/// Returns `extern "C" __global__ void f(…)`, over several lines.
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

/// Returns a comment that says what a thread or a block computes.
std::string workers_comment(const Stage& stage, const emit::Names& names, bool by_block,
                            const std::vector<KnownStride>& strides, bool by_vectors = false) {
  if (stage.in_order) return "/* One thread does it all, in order. */\n";
  std::string variables;
  for (const Loop* loop : first_of_threads(stage.body))
    for (const Loop* l : threads_chain(*loop))
      if (l->end != Expr(1))
        variables += (variables.empty() ? " for each " : ", ") + names.symbol(l->variable);
  std::string where;
  for (const KnownStride& k : strides)
    where += fmt::format("{}{}[{}]", where.empty() ? ", where 1 is " : ", ",
                         names.strides(k.tensor), k.axis);
  const char* how = by_vectors ? ", whose threads move 16 bytes at a time" : "";
  return emit::wrap(fmt::format("/* {} {}{}{}{}. */", variables.empty() ? "One" : "A",
                                by_block ? "block" : "thread", variables, how, where)) +
         "\n";
}

/// Returns the loops without the temporaries that only other kernels access.
LoopProgram with_own_tensors(LoopProgram part) {
  std::set<std::string> touched;
  for_each_access(part.body, [&](const std::string& tensor, const auto& /*index*/, bool /*write*/) {
    touched.insert(tensor);
  });
  std::erase_if(part.tensors, [&](const TensorDecl& t) {
    return t.role == TensorRole::temporary && !touched.contains(t.name);
  });
  return part;
}

/// Fills in the arguments, helpers and text, from the body that the printer has printed.
void finish(CudaKernel& k, const LoopProgram& part, const emit::Printer& printer,
            const std::string& comment, const std::string& body) {
  std::vector<Parameter> taken;
  for (const Parameter& parameter : parameters(part, printer.names()))
    if (printer.uses().reads(parameter.name)) taken.push_back(parameter);
  k.loops = std::make_shared<const LoopProgram>(with_own_tensors(part));
  printer.uses().add_functions_to(k.helpers);
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
  return emit::wrap(fmt::format("/* A block for {0} x {0} of ({1}) x ({2}){3}{4}. */", form.side(),
                                variables_text(form.rows, names),
                                variables_text(form.columns, names), batch,
                                form.is_pipelined ? ", by copies ahead" : "")) +
         "\n";
}

CudaKernel tile_kernel(const LoopProgram& part, const TileForm& form, const std::string& function) {
  const CudaPerTile tiles{
      .rows = extent(form.rows),
      .columns = extent(form.columns),
      .side = form.side(),
      .operands = form.is_pipelined ? vector_operands(form) : std::vector<VectorOperand>{},
      .rounds_to_tf32 = form.fragments == DType::f32};
  CudaKernel k{
      function, tiles,
      extent(form.batch) * ceil_div(tiles.rows, tiles.side) * ceil_div(tiles.columns, tiles.side)};
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  const std::string body = emit::TileWriter(part, form, names, printer).kernel_body();
  finish(k, part, printer, tiles_comment(form, names), body);
  return k;
}

}  // namespace

std::vector<CudaKernel> tile_kernels(const LoopProgram& all, const Stage& stage,
                                     const std::string& function, CudaVariant variant) {
  LoopProgram part = all;
  part.body = stage.body;
  std::vector<CudaKernel> made;
  const auto form = tile_form(part, part.body, variant == CudaVariant::tf32);
  if (!form) return made;
  if (const auto pipelined = pipelined_form(part, *form))
    made.push_back(tile_kernel(part, *pipelined, function + "_pipelined_tiles"));
  made.push_back(tile_kernel(part, *form, function + "_tiles"));
  return made;
}

CudaKernel kernel(const LoopProgram& all, const Stage& stage, const std::string& function) {
  LoopProgram part = all;
  part.body = stage.body;
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  const std::string body = emit::KernelWriter(part, names, printer).kernel_body();
  CudaKernel k{function, CudaPerThread(), stage.iterations};
  if (stage.in_order) k.worker = CudaInOrder();
  finish(k, part, printer, workers_comment(stage, names, false, {}),
         stage.in_order ? "  if (mote_thread() != 0) return;\n" + body : body);
  return k;
}

std::vector<CudaKernel> row_kernels(const LoopProgram& all, const Stage& stage,
                                    const std::string& function, const RowKernels& wanted) {
  LoopProgram part = all;
  part.body = stage.body;
  part = share_rows(part, *stage.rows);
  const auto vectors = wanted.by_vectors ? vectorise_rows(part) : std::nullopt;
  std::vector<CudaKernel> made;
  const auto make = [&](const LoopProgram& p, const std::string& suffix,
                        std::vector<VectorRow> rows) {
    const bool by_vectors = !rows.empty();
    CudaKernel k{function + suffix,
                 CudaPerBlock{longest_row(stage.body), wanted.is_map, std::move(rows)},
                 stage.iterations, *stage.rows};
    emit::Names names(p);
    emit::Printer printer(p, names, emit::Target::cuda);
    const std::string body = emit::KernelWriter(p, names, printer).kernel_body();
    finish(k, p, printer, workers_comment(stage, names, true, k.strides, by_vectors), body);
    made.push_back(std::move(k));
  };
  if (vectors) make(vectors->program, "_row_vectors", vectors->rows);
  if (wanted.by_elements) make(part, "_rows", {});
  return made;
}

CudaKernel vector_kernel(const VectorForm& form, const std::string& function) {
  const LoopProgram& part = form.program;
  emit::Names names(part);
  emit::Printer printer(part, names, emit::Target::cuda);
  CudaKernel k{function, CudaPerVector{form.vector_tensors(), form.extents},
               ceil_div(form.iterations(), form.elements)};
  std::string tensors;
  for (const std::string& tensor : form.vector_tensors())
    tensors += (tensors.empty() ? "" : ", ") + names.tensor(tensor);
  const std::string comment =
      emit::wrap(fmt::format("/* A thread for {} elements side by side, where {} have no gaps. */",
                             form.elements, tensors));
  const std::string body = emit::KernelWriter(part, names, printer).kernel_body();
  finish(k, part, printer, comment + "\n", body);
  return k;
}

}  // namespace mote::cuda
