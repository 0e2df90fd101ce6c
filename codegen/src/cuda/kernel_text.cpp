// SPDX-License-Identifier: Apache-2.0
// In: a stage after its steps; out: a kernel with the arguments that it reads. The C emitter writes
// the text of their indices, values and statements.
#include "kernel_text.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "kernel_writer.h"
#include "mote/base/error.h"
#include "mote/codegen/walk.h"
#include "pipelined_tiles.h"
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
    if (t.role != TensorRole::temporary || t.shape.empty() || is_of_block(t.memory)) continue;
    all.push_back({{Kind::temporary, t.name},
                   emit::local_type(t, p.native) + " *",
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
std::string workers_comment(const StageForm& form, const emit::Names& names) {
  if (form.stage.in_order) return "/* One thread does it all, in order. */\n";
  std::string variables;
  for (const Loop* loop : first_of_threads(form.stage.body))
    for (const Loop* l : threads_chain(*loop))
      if (l->end != Expr(1))
        variables += (variables.empty() ? " for each " : ", ") + names.symbol(l->variable);
  std::string where;
  for (const KnownStride& k : form.loops().strides)
    where += fmt::format("{}{}[{}]", where.empty() ? ", where 1 is " : ", ",
                         names.strides(k.tensor), k.axis);
  const auto* rows = std::get_if<CudaPerBlock>(&form.worker);
  const bool by_vectors = rows != nullptr && !rows->vectors.empty();
  return emit::wrap(fmt::format("/* {} {}{}{}{}. */", variables.empty() ? "One" : "A",
                                rows != nullptr ? "block" : "thread", variables,
                                by_vectors ? ", whose threads move 16 bytes at a time" : "",
                                where)) +
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
  printer.uses().add_functions_to(k.helpers);
  for (const Parameter& parameter : taken) k.arguments.push_back(parameter.argument);
  k.text = comment + head(k.function, taken) + body + "}\n";
}

std::string variables_text(const std::vector<LoopDigit>& axes, const emit::Names& names) {
  std::string out;
  for (const LoopDigit& a : axes) out += (out.empty() ? "" : ", ") + names.symbol(a.variable);
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

std::string vectors_comment(const LoopProgram& loops, const CudaPerVector& vectors,
                            const emit::Names& names) {
  std::string tensors;
  for (const std::string& tensor : vectors.tensors)
    tensors += (tensors.empty() ? "" : ", ") + names.tensor(tensor);
  return emit::wrap(
             fmt::format("/* A thread for {} elements side by side, where {} have no gaps. */",
                         *as_loop(loops.body.back())->step.constant(), tensors)) +
         "\n";
}

}  // namespace

CudaKernel kernel_of(const StageForm& form, const std::string& function) {
  const LoopProgram& loops = form.loops();
  const std::string& name = form.version.name;
  CudaKernel k{function + (name.empty() ? "" : "_") + name, form.worker, form.iterations};
  k.version =
      std::make_shared<const Version>(Version{name, form.version.steps, with_own_tensors(loops)});
  emit::Names names(loops);
  emit::Printer printer(loops, names, emit::Target::cuda);
  if (const CudaPerTile* tile = k.per_tile()) {
    LoopProgram stage = loops;
    stage.body = form.stage.body;
    auto tiles = tile_form(stage, stage.body, tile->rounds_to_tf32);
    if (!tiles) throw InternalError(loops.name + ": a kernel of tiles has no form of tiles");
    if (tile->is_pipelined()) tiles = pipelined_form(*tiles);
    finish(k, loops, printer, tiles_comment(*tiles, emit::Names(stage)),
           emit::TileWriter(loops, names, printer).kernel_body());
    return k;
  }
  const std::string body = emit::KernelWriter(loops, names, printer).kernel_body();
  if (const CudaPerVector* vectors = k.per_vector())
    finish(k, loops, printer, vectors_comment(loops, *vectors, names), body);
  else
    finish(k, loops, printer, workers_comment(form, names),
           k.is_in_order() ? "  if (mote_thread() != 0) return;\n" + body : body);
  return k;
}

}  // namespace mote::cuda
