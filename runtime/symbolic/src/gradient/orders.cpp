// SPDX-License-Identifier: Apache-2.0
// The orders to which ops can be differentiated, as the registry and the rules have them.
#include <algorithm>

#include "gradient/op_table.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

bool has_kernel(const GeneratedKernels* kernels, DType dtype) {
  if (kernels == nullptr || kernels->empty()) return true;  // a plug-in's op
  return std::ranges::any_of(*kernels, [&](const GeneratedKernel& k) { return k.dtype == dtype; });
}

int order_of(OpTable& ops, const OpFacts& facts, std::string_view op, DType dtype) {
  if (facts.passing != Passing::no) return kAnyOrder;
  if (!facts.row || !has_kernel(facts.row->kernels, dtype)) return 0;
  const OpRule* rule = rule_of(op);
  if (rule != nullptr && rule->curvature != Curvature::none) return kAnyOrder;
  const OpFacts& of_gradient = ops.facts(facts.row->gradient);
  return of_gradient.row && has_kernel(of_gradient.row->kernels, dtype) ? 2 : 1;
}

/// `order`: the highest one in that dtype.
SecondGradient second_of(OpTable& ops, const OpFacts& facts, int order, DType dtype) {
  if (order < 2) return SecondGradient::none;
  if (facts.passing != Passing::no) return SecondGradient::passed;
  const OpFacts& of_gradient = ops.facts(facts.row->gradient);
  return of_gradient.row && has_kernel(of_gradient.row->kernels, dtype) ? SecondGradient::kernel
                                                                        : SecondGradient::composed;
}

}  // namespace

std::vector<GradientOrder> gradient_orders(const Registry& registry) {
  OpTable ops(registry);
  const auto generated = registry.column(kGenerated);
  std::vector<GradientOrder> rows;
  for (OpId op = 0; op < registry.size(); ++op) {
    const OpFacts& facts = ops.facts(op);
    const GeneratedKernels* kernels = generated.find(op);
    if (facts.base || kernels == nullptr) continue;
    for (const DType dtype : all_dtypes()) {
      if (!is_real(dtype) || !has_kernel(kernels, dtype)) continue;
      GradientOrder row{.op = registry.name(op), .dtype = dtype};
      row.is_zero = facts.flow.from == 0 && !facts.row;
      row.order = order_of(ops, facts, row.op, dtype);
      // What has no kernel for 16 bits is computed in f32.
      const int wide = is_narrow(dtype) ? order_of(ops, facts, row.op, DType::f32) : 0;
      row.in_f32 = wide > row.order;
      row.order = std::max(row.order, wide);
      row.second = second_of(ops, facts, row.order, row.in_f32 ? DType::f32 : dtype);
      rows.push_back(std::move(row));
    }
  }
  std::ranges::stable_sort(rows, {}, &GradientOrder::op);
  return rows;
}

}  // namespace mote
