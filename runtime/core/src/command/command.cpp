// SPDX-License-Identifier: Apache-2.0
// Commands as values: this file checks parameters against the op's definition, once.
#include "mote/runtime/command.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "command/fit.h"
#include "mote/base/near_names.h"
#include "mote/runtime/status.h"
#include "tensor/number_text.h"

namespace mote {
namespace {

[[noreturn]] void fail(std::string_view op, const std::string& what) {
  throw StatusError(MOTE_INVALID, std::string(op) + ": " + what);
}

std::span<const mote_op_param> params_of(const mote_op_definition& d) {
  return {d.params, static_cast<std::size_t>(d.param_count)};
}

void check_known(const mote_op_definition& d, std::span<const Setting> settings) {
  for (std::size_t k = 0; k < settings.size(); ++k) {
    const std::string_view name = settings[k].name;
    for (std::size_t earlier = 0; earlier < k; ++earlier)
      if (settings[earlier].name == name)
        fail(d.name, "parameter " + std::string(name) + " is given twice");
    std::vector<std::string> known;
    for (const mote_op_param& p : params_of(d)) known.emplace_back(p.name);
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::vector<std::string> near = near_names(name, known);
    fail(d.name, "unknown parameter '" + std::string(name) + "'" +
                     (near.empty() ? "" : ", did you mean " + near.front() + "?"));
  }
}

/// Returns the value as the kernel takes it; nothing if it is the default.
std::optional<mote_param> param_of(const mote_op_definition& d, const mote_op_param& p,
                                   std::span<const Setting> settings) {
  const auto at = std::ranges::find(settings, std::string_view(p.name), &Setting::name);
  if (at == settings.end()) {
    if (p.has_default == 0) fail(d.name, std::string("parameter ") + p.name + " is missing");
    return std::nullopt;
  }
  mote_param param{.name = p.name, .is_real = 0, .integer = 0, .real = 0};
  if (const auto* integer = std::get_if<std::int64_t>(&at->value)) {
    param.integer = *integer;
    param.real = static_cast<double>(*integer);
  } else if (p.is_integer != 0) {
    fail(d.name, std::string("parameter ") + p.name + " must be an integer, got " +
                     real_text(std::get<double>(at->value)));
  } else {
    // A whole number is passed as an integer, which instances of integer dtypes need.
    param.real = std::get<double>(at->value);
    const bool whole = std::trunc(param.real) == param.real && std::fabs(param.real) < 0x1p53 &&
                       !(param.real == 0 && std::signbit(param.real));
    param.is_real = whole ? 0 : 1;
    if (whole) param.integer = static_cast<std::int64_t>(param.real);
  }
  if (p.is_integer != 0 && (param.integer < p.lower || param.integer > p.upper))
    fail(d.name, std::string("parameter ") + p.name + " must be in " + std::to_string(p.lower) +
                     ".." + std::to_string(p.upper) + ", got " + std::to_string(param.integer));
  const bool is_default = p.has_default != 0 && param.real == p.default_value &&
                          std::signbit(param.real) == std::signbit(p.default_value);
  return is_default ? std::nullopt : std::optional(param);
}

/// Compares bits: NaN equals itself, so that a command equals its copy, and -0 differs from 0.
bool same(const mote_param& a, const mote_param& b) {
  const bool named_alike = a.name == b.name || std::strcmp(a.name, b.name) == 0;
  return named_alike && a.is_real == b.is_real && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

void mix(std::size_t& seed, std::size_t value) {
  seed ^= value + 0x9E3779B97F4A7C15U + (seed << 6) + (seed >> 2);
}

std::size_t hash_of(const mote_op_definition& d, std::optional<int> axis,
                    std::span<const mote_param> params) {
  std::size_t seed = std::hash<std::string_view>()(d.name);
  mix(seed, axis ? static_cast<std::size_t>(*axis) + 1 : 0);
  for (const mote_param& p : params) {
    mix(seed, std::hash<std::string_view>()(p.name));
    mix(seed, std::hash<std::int64_t>()(p.integer));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &p.real, sizeof bits);
    mix(seed, std::hash<std::uint64_t>()(bits));
  }
  return seed;
}

}  // namespace

Command::Command(std::string_view op, std::span<const Setting> settings, std::optional<int> axis,
                 const Registry& registry)
    : registry_(&registry),
      op_(registry.get(op)),
      definition_(registry.column(kDefinition).at(op_)),
      axis_(axis),
      pointwise_(mote::is_pointwise(*definition_)),
      hash_(0) {
  if (const auto* kernels = registry.column(kGenerated).find(op_)) generated_ = *kernels;
  check_known(*definition_, settings);
  for (const mote_op_param& p : params_of(*definition_))
    if (const auto param = param_of(*definition_, p, settings)) params_.push_back(*param);
  hash_ = hash_of(*definition_, axis_, params_);
}

MOTE_API bool operator==(const Command& a, const Command& b) {
  return a.definition_ == b.definition_ && a.axis_ == b.axis_ &&
         std::ranges::equal(a.params_, b.params_, same);
}

}  // namespace mote
