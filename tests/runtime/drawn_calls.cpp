// SPDX-License-Identifier: Apache-2.0
#include "runtime/drawn_calls.h"

#include "mote/macroops/catalogue.h"
#include "mote/oracle/generate.h"

namespace mote::test {
namespace {

DrawnCall call_of(const OpRecord& record, const Case& c) {
  DrawnCall call = {record.name, to_string(c), c.instance.dtype, {}, {}, {}};
  for (const ParamDecl& p : record.params) {
    const auto at = c.params.find(p.name);
    if (at == c.params.end()) continue;
    if (!at->second.is_real())
      call.params.emplace_back(p.name, at->second.integer());
    else
      call.params.emplace_back(p.name, at->second.real());
  }
  call.inputs.resize(record.inputs.size());
  for (const CaseTensor& t : c.inputs)
    call.inputs[static_cast<std::size_t>(c.target->input_position(t.name))] = {t.name, t.dtype,
                                                                               t.shape};
  for (const CaseTensor& t : c.outputs) call.outputs.push_back({t.name, t.dtype, t.shape});
  return call;
}

}  // namespace

std::vector<DrawnCall> draw_calls(std::uint64_t seed, std::uint64_t count) {
  std::vector<DrawnCall> calls;
  for (const OpRecord* record : generated_ops())
    for (const DType dtype : record->dtypes)
      for (std::uint64_t position = 0; position < count; ++position)
        calls.push_back(
            call_of(*record, generate(find_target(record->name), dtype, seed, position)));
  return calls;
}

}  // namespace mote::test
