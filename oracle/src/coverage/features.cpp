// SPDX-License-Identifier: Apache-2.0
// Finds the features of a case, and of all cases of an op: layouts and values of parameters, in a
// few classes.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "add_once.h"
#include "mote/base/error.h"
#include "mote/oracle/coverage.h"
#include "mote/oracle/generate.h"

namespace mote {
namespace {

/// Integers at least this far above the least one are one class.
constexpr std::int64_t kTold = 3;
/// Sizes that are tried: one of them is legal with most values of a parameter.
constexpr std::int64_t kSizes[] = {4, 2, 1, 8};

std::optional<std::int64_t> least_of(const ParamDecl& p) {
  if (p.lower) return p.lower;
  if (p.upper) return *p.upper - kTold;
  return std::nullopt;
}

std::string integer_class(const ParamDecl& p, std::int64_t value) {
  const std::int64_t least = least_of(p).value_or(-1);
  const std::int64_t told = least + kTold;
  if (value < least || (!least_of(p) && value == least))
    return fmt::format("{}<{}", p.name, least_of(p).value_or(0));
  if (value < told || p.upper == told) return fmt::format("{}={}", p.name, value);
  return fmt::format("{}>={}", p.name, told);
}

std::string real_class(const ParamDecl& p, double value) {
  const bool told = value == 0 || value == 1 || value == p.default_value;
  if (told) return fmt::format("{}={}", p.name, value == 0 ? 0 : value);
  return fmt::format("{}{}", p.name, value < 0 ? "<0" : value > 0 ? ">0" : " is NaN");
}

std::string class_of(const ParamDecl& p, const Number& value) {
  return value.is_real() ? real_class(p, value.real()) : integer_class(p, value.integer());
}

/// One value of each possible class.
std::vector<Number> representatives(const ParamDecl& p) {
  std::vector<Number> all;
  if (!p.is_integer) {
    if (p.default_value) all.emplace_back(*p.default_value);
    for (const double v : {1.0, 0.0, 2.0, 0.5, -1.0, -0.5}) all.emplace_back(v);
    return all;
  }
  if (p.default_value) all.emplace_back(static_cast<std::int64_t>(*p.default_value));
  const std::int64_t least = least_of(p).value_or(-1);
  for (std::int64_t v = least; v <= least + kTold && v <= p.upper.value_or(v); ++v)
    all.emplace_back(v);
  return all;
}

Number usual_value(const ParamDecl& p) {
  if (p.default_value && !p.is_integer) return *p.default_value;
  if (p.default_value) return static_cast<std::int64_t>(*p.default_value);
  if (!p.is_integer) return 1.0;
  return std::clamp<std::int64_t>(1, p.lower.value_or(1),
                                  std::max(p.upper.value_or(1), p.lower.value_or(1)));
}

bool is_legal(Draft draft) {
  const Domain& domain = domain_of(draft.target->program(draft.instance));
  for (const std::int64_t size : kSizes) {
    draft.at.values.assign(domain.knobs.size(), size);
    try {
      if (to_case(draft)) return true;
    } catch (const Error&) {  // not legal with this size
      continue;
    }
  }
  return false;
}

void add_params(std::vector<std::string>& values, const std::shared_ptr<const Target>& target,
                const Instance& instance) {
  Draft usual;
  usual.target = target;
  usual.instance = instance;
  const auto program = target->program(instance);
  for (const ParamDecl& p : program->params) usual.params[p.name] = usual_value(p);
  const bool decidable = is_legal(usual);
  for (const ParamDecl& p : program->params) {
    for (const Number& value : representatives(p)) {
      Draft draft = usual;
      draft.params[p.name] = value;
      if (!decidable || is_legal(std::move(draft))) add_once(values, class_of(p, value));
    }
  }
}

/// The whole and the smallest set of inputs; for an op with listed sets, those.
std::vector<TensorMask> masks_of(const Target& target) {
  if (target.record() != nullptr && !target.record()->masks.empty()) return target.record()->masks;
  TensorMask bare = target.full_mask();
  for (std::size_t k = 0; k < target.inputs().size(); ++k)
    if (target.inputs()[k].optional) bare &= ~mask_bit(k);
  if (bare == target.full_mask()) return {bare};
  return {target.full_mask(), bare};
}

std::string present(const std::string& name, bool is) { return (is ? "" : "no ") + name; }

std::vector<std::string> possible_values(const Target& target, DType dtype) {
  const auto shared = find_target(target.text());
  std::vector<std::string> values;
  for (const TensorMask mask : masks_of(target)) {
    const Instance instance{dtype, mask};
    add_params(values, shared, instance);
    for (std::size_t k = 0; k < target.inputs().size(); ++k) {
      const bool is = is_in(mask, k);
      if (target.inputs()[k].optional) add_once(values, present(target.inputs()[k].name, is));
    }
  }
  if (target.record() != nullptr)
    for (const std::string& output : target.record()->optional_outputs)
      for (const bool is : {true, false}) add_once(values, present(output, is));
  if (values.empty()) values.emplace_back("-");
  return values;
}

std::vector<std::string> possible_layouts(const Target& target, DType dtype) {
  const auto program = target.program({dtype, masks_of(target).front()});
  std::size_t rank_in = 0;
  for (const Uop& input : program->inputs) rank_in = std::max(rank_in, input.shape().size());
  std::size_t rank = rank_in;
  for (const Output& output : program->outputs) rank = std::max(rank, output.value.shape().size());
  std::vector<std::string> layouts = {"row-major"};
  if (rank >= 2) layouts.emplace_back("permuted");
  if (rank >= 1) layouts.emplace_back("gaps");
  layouts.emplace_back("offset");
  if (rank_in >= 1) layouts.emplace_back("repeats");
  if (target.record() != nullptr && !target.record()->in_place.empty())
    layouts.emplace_back(kInPlaceLayout);
  return layouts;
}

}  // namespace

std::vector<std::string> optional_tensor_values(const Target& target) {
  std::vector<std::string> names;
  for (const InputDecl& input : target.inputs())
    if (input.optional) names.push_back(input.name);
  if (target.record() != nullptr)
    for (const std::string& output : target.record()->optional_outputs) names.push_back(output);
  std::vector<std::string> values;
  for (const std::string& name : names)
    for (const bool is : {true, false}) values.push_back(present(name, is));
  return values;
}

CaseFeatures features_of(const Case& c) {
  CaseFeatures features;
  for (const auto* tensors : {&c.inputs, &c.outputs}) {
    for (const CaseTensor& t : *tensors) {
      if (t.left_out) continue;
      if (!t.layout.order.empty()) add_once(features.layouts, "permuted");
      if (t.layout.has_gaps()) add_once(features.layouts, "gaps");
      if (t.layout.offset != 0) add_once(features.layouts, "offset");
      if (!t.layout.repeated.empty()) add_once(features.layouts, "repeats");
      if (!t.in_place.empty()) add_once(features.layouts, kInPlaceLayout);
    }
  }
  if (features.layouts.empty()) features.layouts.emplace_back("row-major");
  for (const ParamDecl& p : c.program->params)
    features.values.push_back(class_of(p, c.params.at(p.name)));
  for (const InputDecl& input : c.target->inputs()) {
    if (!input.optional) continue;
    const bool is = std::ranges::find(c.inputs, input.name, &CaseTensor::name) != c.inputs.end();
    features.values.push_back(present(input.name, is));
  }
  if (c.target->record() != nullptr)
    for (const CaseTensor& t : c.outputs)
      if (is_optional_output(*c.target->record(), t.name))
        features.values.push_back(present(t.name, !t.left_out));
  if (features.values.empty()) features.values.emplace_back("-");
  return features;
}

CaseFeatures possible_features(const Target& target, DType dtype) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, DType>, std::vector<std::string>> known;  // values by op
  const std::lock_guard lock(mutex);
  const std::pair key(target.text(), dtype);
  auto at = known.find(key);
  if (at == known.end()) at = known.emplace(key, possible_values(target, dtype)).first;
  return {possible_layouts(target, dtype), at->second};
}

}  // namespace mote
