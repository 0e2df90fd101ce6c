// SPDX-License-Identifier: Apache-2.0
// Reads the loops of a kernel from a file. In: the file, the op; out: loops that verify() accepts,
// that compute the op's outputs from its inputs, and that can be written as C.
#include <fmt/format.h>

#include <algorithm>

#include "mote/base/error.h"
#include "mote/codegen/parse_loops.h"
#include "mote/codegen/walk.h"
#include "mote/oracle/kernel_c.h"

namespace mote {
namespace {

/// Throws Error if the program has another name than the op's, or a tensor another shape.
void check_interface(const LoopProgram& p) {
  if (p.name != p.source->name)
    throw Error(fmt::format("expected loops of {}, got those of {}", p.source->name, p.name));
  const auto check = [&](const std::string& name, const std::vector<Expr>& shape) {
    const TensorDecl& t = *find_tensor(p, name);
    if (t.shape == shape) return;
    const auto text = [](const std::vector<Expr>& extents) {
      std::string out;
      for (const Expr& e : extents) out += (out.empty() ? "" : ", ") + e.to_string();
      return out;
    };
    throw Error(
        fmt::format("{}: expected {}[{}], got [{}]", p.name, name, text(shape), text(t.shape)));
  };
  for (const Uop& u : p.source->inputs) check(std::get<uop::Input>(u.node().kind).name, u.shape());
  for (const Output& o : p.source->outputs) check(o.name, o.value.shape());
}

std::string first_line(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, text.find('\n'));
}

bool is_for_gpu(LoopKind kind) { return kind == LoopKind::grid || is_within_block(kind); }

/// Throws Error for what C does not have, and for what the reference's C does not have.
void check_is_c(const LoopProgram& p) {
  if (p.is_part)
    throw Error(fmt::format("{}: it is a part of a program, and computes no kernel alone", p.name));
  for (const TensorDecl& t : p.tensors)
    if (is_of_block(t.memory))
      throw Error(
          fmt::format("{}: {} is in memory of a GPU, which C does not have", p.name, t.name));
  for_each(p.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    const bool waits =
        std::holds_alternative<Barrier>(s.kind) || std::holds_alternative<WaitForCopies>(s.kind);
    if (waits || (loop != nullptr && is_for_gpu(loop->kind)))
      throw Error(
          fmt::format("{}: `{}` is for a GPU, and C does not have it", p.name, first_line(s)));
    if (loop != nullptr && loop->kind != LoopKind::serial && !p.native)
      throw Error(
          fmt::format("{}: `{}`: loops that do not run in order are those of a program "
                      "with the line `native`",
                      p.name, first_line(s)));
  });
  if (p.native) return;
  const bool relies =
      !p.strides.empty() || !p.demands.empty() || p.vector_bytes != 0 || p.multiplies_padding;
  if (relies || std::ranges::any_of(p.tensors, [](const TensorDecl& t) {
        return t.per || t.memory != TensorMemory::automatic || t.integer_bits != 64;
      }))
    throw Error(
        fmt::format("{}: strides, demands, vectors, and temporaries of a loop are those of "
                    "a program with the line `native`",
                    p.name));
}

}  // namespace

LoopProgram loops_of_file(const std::string& file, const Resolved& op) {
  const std::string subject = file == "-" ? "standard input" : file;
  const std::string text = read_program_text(file);
  try {
    LoopProgram p = parse_loops(text, op.program);
    verify(p);
    check_interface(p);
    check_is_c(p);
    return p;
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", subject, e.what()));
  } catch (const InternalError& e) {  // verify() takes broken rules for errors of mote
    const std::string what = e.what();
    throw Error(fmt::format("{}: {}", subject, what.substr(what.find("): ") + 3)));
  }
}

}  // namespace mote
