// SPDX-License-Identifier: Apache-2.0
#include "mote/oracle/contract.h"

#include <fmt/format.h>

#include "mote/base/kernel_call.h"
#include "mote/macroops/catalogue.h"

namespace mote {

Contract contract_of(const mote_contract* given, DType dtype) {
  Contract c;
  if (given == nullptr) return c;
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  c.narrow_accumulator = half && given->accumulator == MOTE_ACC_NATIVE;
  c.multiply_bits = given->multiply_rounding;
  c.flushes_denormals = given->flushes_denormals != 0;
  for (const mote_accuracy& f : accuracies_of(*given))
    c.functions[f.function] = {.ulp = f.ulp, .arg = f.arg, .abs = f.abs};
  return c;
}

std::string_view form_of(const mote_contract* contract) {
  return contract == nullptr || contract->form == nullptr ? kDirect : contract->form;
}

std::string contract_text(const mote_contract* given, DType dtype, const Program& program) {
  const Contract c = contract_of(given, dtype);
  const Program bounds = bound(program, c);
  const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
  const std::string_view own = name(dtype);
  std::string text =
      fmt::format("accumulator {}\n", is_half && !c.narrow_accumulator ? "f32" : own);
  text += c.multiply_bits == 0
              ? "operands of summed products all bits\n"
              : fmt::format("operands of summed products {} bits\n", c.multiply_bits);
  text += fmt::format("denormals {}\n", c.flushes_denormals ? "may become 0" : "kept");
  for (const auto& [function, a] : c.functions) {
    const bool is_called = function != kDot && function != kOperand;
    if (is_called && !find_param(bounds, "ulp_" + function)) continue;
    text += fmt::format("{} {} ulp", function, a.ulp);
    if (a.arg != 0) text += fmt::format(", {} units of its argument", a.arg);
    if (a.abs != 0) text += fmt::format(", {} absolute", a.abs);
    text += "\n";
  }
  return text + fmt::format("form {}\n", form_of(given));
}

}  // namespace mote
