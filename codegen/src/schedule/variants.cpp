// SPDX-License-Identifier: Apache-2.0
#include "mote/codegen/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ir/dependence.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/walk.h"
#include "mote/uops/shared_proofs.h"

namespace mote {
namespace {

bool returns_what_it_draws(const Program& p) {
  const std::vector<Uop> outputs = roots(p);
  std::set<const UopNode*> drawn;
  for (const Uop& u : topological(outputs)) {
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    const bool draws = m != nullptr && m->op == MapOp::philox;
    const auto from = [&](const Uop& x) { return drawn.contains(x.id()); };
    if (draws || (u.dtype() != DType::boolean && std::ranges::any_of(operands(u), from)))
      drawn.insert(u.id());
  }
  return std::ranges::any_of(outputs, [&](const Uop& u) { return drawn.contains(u.id()); });
}

bool runs_in_vectors(const Version& v) {
  bool found = v.program.vector_bytes != 0;
  for_each(v.program.body, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    found = found || (loop != nullptr && loop->kind == LoopKind::simd);
  });
  return found;
}

std::string contract_c(const std::string& name, const char* accumulator, std::size_t functions,
                       const char* form = "direct") {
  return fmt::format(
      "static const mote_contract {} = {{\n"
      "    sizeof(mote_contract), {}, 0, 0, 1, \"{}\", {}, MOTE_IN_PLACE_ALL, {}, NULL, 0, "
      "0, 0, 0}};\n",
      name, accumulator, form, functions, functions > 0 ? "functions_f32" : "NULL");
}

}  // namespace

std::optional<Schedule> gen_schedule(const LoopProgram& loops, DType dtype,
                                     const ScheduleOptions& options) {
  if (returns_what_it_draws(*loops.source)) return std::nullopt;
  const SharedProofs proofs;
  Schedule s = schedule(loops, options);
  if (!is_real(dtype) && std::ranges::none_of(s.versions, runs_in_vectors)) return std::nullopt;
  return s;
}

std::string gen_accuracy_c() {
  std::string functions;
  for (const FunctionAccuracy& f : gen_accuracy())
    functions +=
        fmt::format("{}{{\"{}\", {}, 0, 0}}", functions.empty() ? "" : ", ", f.function, f.ulp);
  return fmt::format("static const mote_accuracy functions_f32[] = {{{}}};\n", functions);
}

std::string gen_contract_c(const std::string& name, DType dtype, bool may_multiply_padding) {
  const char* form = may_multiply_padding ? "padding_multiplied" : "direct";
  if (dtype == DType::f64) return contract_c(name, "MOTE_ACC_NATIVE", 0, form);
  // Sums of 16-bit reals are kept in float.
  return contract_c(name, is_narrow(dtype) ? "MOTE_ACC_F32" : "MOTE_ACC_NATIVE",
                    gen_accuracy().size(), form);
}

std::string reference_contract_c(const std::string& name) {
  return contract_c(name, "MOTE_ACC_F64", 0);
}

}  // namespace mote
