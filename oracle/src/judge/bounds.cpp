// SPDX-License-Identifier: Apache-2.0
#include "judge/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <sstream>
#include <tuple>

#include "judge/form.h"
#include "mote/generated/bounds.h"
#include "mote/oracle/contract.h"
#include "mote/uops/bound.h"

namespace mote {
namespace {

/// The program's text with its 16-bit inputs declared as f32. This makes no other difference, since
/// both are computed in f32.
std::string with_f32_inputs(const Program& p) {
  std::istringstream lines(to_string(p));
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + "\n") {
    if (!line.starts_with("input ")) continue;
    const std::size_t at = line.find(' ', 6) + 1;
    const std::size_t end = line.find('[', at);
    const auto dtype = parse_dtype(std::string_view(line).substr(at, end - at));
    if (dtype && is_narrow(*dtype)) line.replace(at, end - at, "f32");
  }
  return out;
}

/// The compiled bound; for 16-bit dtypes that of the f32 instance, if its program is the same.
const mote_generated_bound* compiled(const Case& c, const Program& bounds, bool& widened) {
  if (c.target->is_file()) return nullptr;
  const DType dtype = c.instance.dtype;
  const std::string& op = c.target->op();
  if (dtype == DType::f32 || dtype == DType::f64)
    return find_bound(op, dtype, c.instance.input_mask);
  if (!is_real(dtype)) return nullptr;
  const auto* found = find_bound(op, DType::f32, c.instance.input_mask);
  if (found == nullptr) return nullptr;
  const Instance wide{DType::f32, c.instance.input_mask};
  if (with_f32_inputs(bounds) != to_string(bound(*c.target->program(wide)))) return nullptr;
  widened = true;
  return found;
}

/// The bytes of the arrays that it allocates.
std::size_t temporary_bytes(const mote_generated_bound& bound, const Case& of) {
  std::size_t total = 0;
  std::istringstream all(bound.temporaries);
  for (std::string text; std::getline(all, text, ';');) {
    const std::int64_t elements = evaluate(parse_expr(text).expr, of.binding.values);
    total += sizeof(double) * static_cast<std::size_t>(std::max<std::int64_t>(elements, 0));
  }
  return total;
}

std::shared_ptr<const Reference> from_kernel(const mote_generated_bound& bound) {
  const mote_kernel& kernel = bound.kernel.kernel;
  const auto run = [&kernel](const Case& of, std::vector<Dense>& in, std::vector<Dense>& out) {
    run_dense(of, in, out, [&](const mote_call* call) { return kernel.run(call, nullptr); });
  };
  const auto bytes = [&bound](const Case& of) { return temporary_bytes(bound, of); };
  return std::make_shared<const Reference>(Reference{"generated bound", run, bytes});
}

using Key = std::tuple<std::string, DType, TensorMask, std::string>;

/// The fields of a contract that change the error bound, as text.
std::string text_of(const Contract& c) {
  std::string text = fmt::format("{} {}", c.multiply_bits, static_cast<int>(c.accumulator));
  text += std::string(c.flushes_denormals ? "z" : "") + (c.open_infinities ? "i" : "");
  for (const auto& [name, a] : c.functions)
    text += fmt::format(" {}={},{},{}", name, a.ulp, a.arg, a.abs);
  return text;
}

}  // namespace

std::shared_ptr<const BoundOf> BoundOf::make(const Case& c, const mote_contract* given) {
  return make(c, given, form_of(given));
}

std::shared_ptr<const BoundOf> BoundOf::make(const Case& c, const mote_contract* given,
                                             std::string_view form, bool open_infinities) {
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const BoundOf>> known;
  const std::lock_guard lock(mutex);
  Contract contract = contract_of(given, c.instance.dtype);
  contract.open_infinities = open_infinities;
  if (const OpRecord* record = record_of(c))
    contract.rounded_inputs = {record->given_outputs.begin(), record->given_outputs.end()};
  auto& kept = known[{c.target->text(), c.instance.dtype, c.instance.input_mask,
                      text_of(contract) + " " + std::string(form)}];
  if (kept) return kept;
  return kept = make(c, contract, form, By::any);
}

std::shared_ptr<const BoundOf> BoundOf::interpreted(const Case& c) {
  return make(c, Contract(), kDirect, By::interpreter);
}

std::shared_ptr<const BoundOf> BoundOf::make(const Case& c, const Contract& contract,
                                             std::string_view form, By by) {
  const auto body = form_program(c, form);
  auto made = std::make_shared<BoundOf>();
  bool all = true;
  for (std::size_t k = 0; k < c.program->outputs.size(); ++k) {
    // An output that is only moved and compared is certain, unless its inputs may be flushed to 0.
    made->certain_.push_back(is_certain(*body, k) && !contract.flushes_denormals);
    all = all && made->certain_.back();
  }
  if (all) return made;
  made->program_ = std::make_shared<const Program>(bound(*body, contract));
  for (const ParamDecl& p : made->program_->params) {
    if (c.params.contains(p.name)) continue;
    made->accuracies_[p.name] = *p.default_value;  // accuracies from the contract
  }
  // For 16 bits, a bound with another accuracy of dot is another program, which has not been
  // compiled.
  const bool is_wide = c.instance.dtype == DType::f32 || c.instance.dtype == DType::f64;
  const bool only_ulps = std::ranges::all_of(contract.functions, [&](const auto& named) {
    const bool is_in_program = named.first == kDot && is_wide;
    return named.second.arg == 0 && named.second.abs == 0 && !is_in_program;
  });
  const bool usual = form == kDirect && contract.multiply_bits == 0 &&
                     contract.accumulator == Accumulation::usual && !contract.flushes_denormals &&
                     !contract.open_infinities && only_ulps;
  const auto* kernel =
      usual && by == By::any ? compiled(c, *made->program_, made->widened_) : nullptr;
  made->reference_ = kernel ? from_kernel(*kernel) : mote::interpreted(made->program_);
  return made;
}

/// The call of the bound's kernel: the case with other outputs, dtypes and parameters.
Case BoundOf::call(const Case& c) const {
  Case b = c;
  b.program = program_;
  b.params.insert(accuracies_.begin(), accuracies_.end());
  std::erase_if(b.params, [&](const auto& p) { return !find_param(*program_, p.first); });
  b.outputs.clear();
  for (std::size_t k = 0; k < program_->outputs.size(); ++k) {
    CaseTensor t = c.outputs[k / 2];
    t.name = program_->outputs[k].name;
    t.dtype = program_->outputs[k].value.dtype();
    b.outputs.push_back(std::move(t));
  }
  return b;
}

std::size_t BoundOf::bytes(const Case& c) const {
  if (!program_) return 0;
  std::size_t total = reference_->bytes(c);
  if (total == SIZE_MAX) return total;
  for (const CaseTensor& t : c.outputs)
    total += 2 * sizeof(double) * static_cast<std::size_t>(volume(t.shape));
  if (!widened_) return total;
  for (const CaseTensor& t : c.inputs)
    total += sizeof(float) * static_cast<std::size_t>(volume(t.shape));
  return total;
}

std::vector<Interval> BoundOf::compute(const Case& c, std::vector<Dense>& inputs) const {
  std::vector<Interval> intervals(c.outputs.size());
  if (!program_) return intervals;
  const Case b = call(c);
  std::vector<Dense> ends;
  for (const CaseTensor& t : b.outputs) ends.emplace_back(t.dtype, volume(t.shape));
  if (widened_) {
    std::vector<Dense> wide;
    for (const Dense& d : inputs) {
      const bool half = is_narrow(d.dtype());
      Dense& w = wide.emplace_back(half ? DType::f32 : d.dtype(), d.count());
      for (std::int64_t k = 0; k < d.count(); ++k) w.set(k, d.at(k));
    }
    reference_->run(b, wide, ends);
  } else {
    reference_->run(b, inputs, ends);
  }
  for (std::size_t k = 0; k < intervals.size(); ++k) {
    if (certain_[k]) continue;
    intervals[k].ends.push_back(std::move(ends[2 * k]));
    intervals[k].ends.push_back(std::move(ends[2 * k + 1]));
  }
  return intervals;
}

}  // namespace mote
