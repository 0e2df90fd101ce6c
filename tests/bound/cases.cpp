// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"

namespace mote::test {
namespace {

/// Draws real inputs next to integer ones, divided by a power of two: scaled integers are then
/// rounded and meet ties, for operands of one digit and of eight bits, and do not always saturate.
std::vector<Number> draw_scaled(Data kind, const CaseTensor& t, std::uint64_t seed) {
  std::vector<Number> values = draw(kind, t.dtype, volume(t.shape), seed);
  const int digits = static_cast<int>(mix(seed) % 4) * 4;
  for (Number& v : values) v = store_as(std::ldexp(v.real(), -digits), t.dtype);
  return values;
}

/// Draws from the whole range of the dtype. A full-width index is out of range in most draws, so
/// every other one is small.
std::vector<Number> draw_wide(const CaseTensor& t, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const bool is_byte = t.dtype == DType::u8 || t.dtype == DType::i8;
  std::vector<Number> values;
  for (std::int64_t at = 0; at < volume(t.shape); ++at) {
    const auto any = static_cast<std::int64_t>(engine());
    const bool small = !is_byte && engine() % 2 == 0;
    values.push_back(store_as(Number(small ? any % 4 : any), t.dtype));
  }
  return values;
}

Array filled(const Case& c, std::size_t k, Data kind, std::uint64_t seed) {
  const CaseTensor& t = c.inputs[k];
  const bool of_integers = !is_real(c.instance.dtype);
  Array a{t.dtype, t.shape, {}};
  if (is_real(t.dtype)) {
    a.values = of_integers ? draw_scaled(kind, t, seed + k)
                           : draw(kind, t.dtype, volume(t.shape), seed + k);
    return a;
  }
  if (of_integers && mix(seed) % 3 != 0) {
    a.values = draw_wide(t, seed + k);
    return a;
  }
  const Filler filler(
      {FillKind::integer, seed},
      {t.name, t.dtype, static_cast<int>(k), static_cast<int>(c.inputs.size()), volume(t.shape)},
      3);
  for (std::int64_t at = 0; at < volume(t.shape); ++at) a.values.emplace_back(filler.integer(at));
  return a;
}

}  // namespace

std::optional<Case> draw_case(const OpRecord& record, DType dtype, std::int64_t round) {
  constexpr std::uint64_t kDraws = 8;
  const auto target = find_target(record.name);
  std::uint64_t position = static_cast<std::uint64_t>(round) * kDraws;
  const std::uint64_t last = position + kDraws - 1;
  Case c = generate(target, dtype, 5, position);
  while (multiply_adds(*c.program, c.binding) > 400 && position < last)
    c = generate(target, dtype, 5, ++position);
  if (multiply_adds(*c.program, c.binding) > 3000) return std::nullopt;
  return c;
}

std::vector<Array> draw_inputs(const Case& c, Data kind, std::uint64_t seed) {
  std::vector<Array> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(filled(c, k, kind, seed));
  return inputs;
}

bool is_wanted(const std::string& op) {
  const char* only = std::getenv("MOTE_OP");
  return only == nullptr || op == only;
}

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

}  // namespace mote::test
