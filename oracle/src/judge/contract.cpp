// SPDX-License-Identifier: Apache-2.0
#include "mote/oracle/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "mote/base/near_names.h"
#include "mote/base/plugin.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

constexpr std::size_t kOpsShown = 3;

/// The accumulator for tensors of that dtype; one that neither widens nor narrows is the usual one.
Accumulation accumulation_of(std::int32_t given, DType dtype) {
  if (given == MOTE_ACC_NATIVE)
    return is_narrow(dtype) ? Accumulation::native : Accumulation::usual;
  if (given == MOTE_ACC_F32) return dtype == DType::f64 ? Accumulation::f32 : Accumulation::usual;
  return dtype == DType::f64 ? Accumulation::usual : Accumulation::f64;
}

/// The format in which sums of tensors of that dtype are kept.
std::string accumulator_text(Accumulation accumulator, DType dtype) {
  if (!is_real(dtype)) {
    const char* of_reals = accumulator == Accumulation::f64 ? "f64" : "f32";
    return fmt::format("exact for integers, wrapping, whatever the contract says; of reals {}",
                       of_reals);
  }
  if (accumulator == Accumulation::f64) return "f64";
  if (accumulator == Accumulation::f32) return "f32";
  const bool is_wide = is_narrow(dtype) && accumulator == Accumulation::usual;
  return std::string(is_wide ? "f32" : name(dtype));
}

std::string accuracy_text(const std::string& function, const Accuracy& a) {
  std::string text = fmt::format("{} {} ulp", function, a.ulp);
  if (a.arg != 0) text += fmt::format(", {} units of its argument", a.arg);
  if (a.abs != 0) text += fmt::format(", {} absolute", a.abs);
  return text;
}

bool has_pairs(const mote_contract& c) {
  constexpr std::size_t kEnd =                                // up to and including that pointer
      offsetof(mote_contract, in_place) + sizeof c.in_place;  // NOLINT(bugprone-sizeof-expression)
  return c.size >= kEnd;
}

/// The pairs that the contract lists; none if it promises all that the op allows.
std::span<const mote_op_pair> listed_pairs(const mote_contract& c) {
  if (!has_pairs(c) || c.in_place_count <= 0) return {};
  return {c.in_place, static_cast<std::size_t>(c.in_place_count)};
}

std::string pair_text(const mote_op_pair& p) {
  return fmt::format("output {} over input {}", p.output, p.input);
}

/// The op or gradient of that name; nullptr if the catalogue has none.
const OpRecord* known_op(const std::string& op) {
  try {
    return &find_op(op);
  } catch (const Error&) {
    return nullptr;
  }
}

std::size_t most_outputs(const OpRecord& record) {
  std::size_t most = 0;
  for (const Instance& instance : instances(record))
    most = std::max(most, instantiate(record, instance)->outputs.size());
  return most;
}

void check_functions(const std::string& what, const mote_contract& contract) {
  const std::vector<std::string> known = contract_functions();
  for (const mote_accuracy& f : accuracies_of(contract)) {
    if (std::ranges::find(known, f.function) != known.end()) continue;
    const std::vector<std::string> near = near_names(f.function, known);
    throw Error(fmt::format("{} has a contract with the unknown function '{}' ({}: {})", what,
                            f.function, near.empty() ? "known" : "did you mean",
                            fmt::join(near.empty() ? known : near, ", ")));
  }
}

void check_pairs(const std::string& what, const std::string& op, const mote_contract& contract) {
  if (listed_pairs(contract).empty()) return;
  const OpRecord* record = known_op(op);
  if (record == nullptr) return;
  const std::size_t outputs = most_outputs(*record);
  for (const mote_op_pair& p : listed_pairs(contract)) {
    if (static_cast<std::size_t>(p.input) < record->inputs.size() &&
        static_cast<std::size_t>(p.output) < outputs)
      continue;
    throw Error(
        fmt::format("{} has a contract with {} in place: the op has {} inputs and {} "
                    "outputs",
                    what, pair_text(p), record->inputs.size(), outputs));
  }
}

/// Some of the ops: "gemm, matmul, softmax and 4 more".
std::string few_ops(const std::vector<std::string>& ops) {
  if (ops.size() <= kOpsShown) return fmt::format("{}", fmt::join(ops, ", "));
  return fmt::format("{} and {} more", fmt::join(std::span(ops).first(kOpsShown), ", "),
                     ops.size() - kOpsShown);
}

/// Lines that some of the ops have in common, in the order of their first occurrence.
class ByOps {
 public:
  void add(const std::string& line, const std::string& op) {
    auto at = std::ranges::find(all_, line, &Entry::first);
    if (at == all_.end()) at = all_.insert(at, {line, {}});
    std::vector<std::string>& ops = at->second;
    if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
  }
  const auto& all() const { return all_; }

 private:
  using Entry = std::pair<std::string, std::vector<std::string>>;
  std::vector<Entry> all_;
};

}  // namespace

Contract contract_of(const mote_contract* given, DType dtype) {
  Contract c;
  if (given == nullptr) return c;
  c.accumulator = accumulation_of(given->accumulator, dtype);
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
  std::string text = fmt::format("accumulator {}\n", accumulator_text(c.accumulator, dtype));
  text += c.multiply_bits == 0
              ? "operands of summed products all bits\n"
              : fmt::format("operands of summed products {} bits\n", c.multiply_bits);
  text += fmt::format("denormals {}\n", c.flushes_denormals ? "may become 0" : "kept");
  for (const auto& [function, a] : c.functions) {
    const bool is_called = function != kDot && function != kOperand;
    if (is_called && !find_param(bounds, "ulp_" + function)) continue;
    text += accuracy_text(function, a) + "\n";
  }
  return text + fmt::format("form {}\n", form_of(given));
}

std::string contract_line(const mote_contract& contract) {
  constexpr const char* kAccumulators[] = {"native", "f32", "f64"};
  std::string text = fmt::format("accumulator {}", kAccumulators[contract.accumulator]);
  if (contract.multiply_rounding != 0)
    text += fmt::format(", multiply_rounding {}", contract.multiply_rounding);
  if (contract.flushes_denormals != 0) text += ", flushes_denormals";
  for (const mote_accuracy& f : accuracies_of(contract))
    text += ", " + accuracy_text(f.function, {.ulp = f.ulp, .arg = f.arg, .abs = f.abs});
  if (form_of(&contract) != kDirect) text += fmt::format(", form {}", form_of(&contract));
  if (has_pairs(contract) && contract.in_place_count == MOTE_IN_PLACE_ALL) text += ", in_place all";
  for (const mote_op_pair& p : listed_pairs(contract)) text += ", " + pair_text(p);
  if (ignores_nan(contract)) text += ", ignores_nan";
  if ((indices_of(contract) & MOTE_INDICES_VALID) != 0) text += ", indices valid";
  if ((indices_of(contract) & MOTE_INDICES_NOT_NEGATIVE) != 0) text += ", indices not negative";
  return text + (contract.deterministic != 0 ? ", deterministic" : "");
}

void check_contracts(const std::string& owner, const mote_backend& backend) {
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel& kernel = kernel_at(backend, k);
    const std::string what =
        fmt::format("{}: backend {}: the kernel of {}", owner, backend.name, kernel.op);
    check_functions(what, *kernel.contract);
    check_pairs(what, kernel.op, *kernel.contract);
  }
}

std::vector<std::string> contract_lines(const mote_backend& backend,
                                        const std::vector<std::string>& ops) {
  ByOps contracts, notes;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel& kernel = kernel_at(backend, k);
    if (std::ranges::find(ops, kernel.op) == ops.end()) continue;
    contracts.add(contract_line(*kernel.contract), kernel.op);
    const OpRecord* record = known_op(kernel.op);
    for (const mote_op_pair& p : listed_pairs(*kernel.contract)) {
      const bool allowed =
          record != nullptr && std::ranges::find(record->in_place, std::pair{p.input, p.output}) !=
                                   record->in_place.end();
      if (!allowed) notes.add(pair_text(p), kernel.op);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [line, of] : contracts.all())
    lines.push_back(fmt::format("contract of {} ({}): {}", backend.name, few_ops(of), line));
  for (const auto& [pair, of] : notes.all())
    lines.push_back(fmt::format(
        "contract of {} ({}): {} is promised, but never tried: the definition has no such pair",
        backend.name, few_ops(of), pair));
  return lines;
}

}  // namespace mote
