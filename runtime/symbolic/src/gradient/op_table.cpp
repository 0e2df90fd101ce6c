// SPDX-License-Identifier: Apache-2.0
#include "gradient/op_table.h"

#include <bit>

#include "mote/base/dtype.h"

namespace mote {
namespace {

Passing passing(std::string_view op) {
  if (op == "add") return Passing::add;
  if (op == "sub") return Passing::sub;
  const std::string_view cast = "cast_";
  const std::optional<DType> to =
      op.starts_with(cast) ? parse_dtype(op.substr(cast.size())) : std::nullopt;
  return to && is_real(*to) ? Passing::cast : Passing::no;
}

}  // namespace

GradientRow::GradientRow(const mote_op_gradient& row, OpId gradient,
                         const GeneratedKernels* kernels)
    : row(&row), gradient(gradient), kernels(kernels) {
  const auto add = [&](Kind kind, TensorMask mask) {
    for (; mask != 0; mask &= mask - 1)
      inputs.push_back({kind, static_cast<std::size_t>(std::countr_zero(mask)),
                        is_in(row.reads, inputs.size())});
  };
  add(Kind::gradient, row.from);
  add(Kind::input, row.inputs);
  add(Kind::output, row.outputs);
  for (TensorMask mask = row.to; mask != 0; mask &= mask - 1)
    outputs.push_back(static_cast<std::size_t>(std::countr_zero(mask)));
}

std::optional<std::size_t> GradientRow::output_of(std::size_t k) const {
  for (std::size_t n = 0; n < outputs.size(); ++n)
    if (outputs[n] == k) return n;
  return std::nullopt;
}

std::optional<std::size_t> GradientRow::input_of(Kind kind, std::size_t k) const {
  for (std::size_t n = 0; n < inputs.size(); ++n)
    if (inputs[n].kind == kind && inputs[n].of == k) return n;
  return std::nullopt;
}

TensorMask GradientRow::gradients() const {
  TensorMask mask = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].kind == Kind::gradient) mask |= mask_bit(k);
  return mask;
}

OpTable::OpTable(const Registry& registry)
    : registry_(registry),
      gradient_(registry.column(kGradient)),
      gradient_of_(registry.column(kGradientOf)),
      generated_(registry.column(kGenerated)),
      definition_(registry.column(kDefinition)),
      zero_(registry.column(kZeroGradient)) {}

/// Returns nothing for an op without a row, and for one whose gradient is not defined.
std::optional<GradientRow> OpTable::row(const Column<OpGradient>& column, OpId op) const {
  const OpGradient* found = column.find(op);
  if (found == nullptr || *found == nullptr || (*found)->gradient == nullptr) return std::nullopt;
  const std::optional<OpId> gradient = registry_.find((*found)->gradient);
  if (!gradient || definition_.find(*gradient) == nullptr) return std::nullopt;
  return GradientRow(**found, *gradient, generated_.find(*gradient));
}

OpFlow OpTable::flow(OpId op, const OpFacts& facts) const {
  constexpr OpFlow all{~TensorMask{0}, ~TensorMask{0}};
  if (facts.passing != Passing::no) return all;
  if (facts.base) {
    const TensorMask gradients = facts.base->gradients();
    if (facts.row) return {facts.row->row->from, facts.row->row->to};
    return {~TensorMask{0}, gradients | facts.base->row->reads};
  }
  if (facts.row) return {facts.row->row->from, facts.row->row->to};
  const bool* zero = zero_.find(op);
  return zero != nullptr && *zero ? OpFlow{} : all;
}

const OpFacts& OpTable::facts(OpId op) {
  if (facts_.size() <= op) facts_.resize(op + 1);
  if (!facts_[op]) {
    auto facts = std::make_unique<OpFacts>();
    facts->row = row(gradient_, op);
    facts->base = row(gradient_of_, op);
    if (facts->base) facts->base_rule = rule_of(facts->base->row->op);
    facts->passing = passing(registry_.name(op));
    facts->flow = flow(op, *facts);
    facts_[op] = std::move(facts);
  }
  return *facts_[op];
}

}  // namespace mote
