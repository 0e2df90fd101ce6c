// SPDX-License-Identifier: Apache-2.0
#include "judge/form.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/base/error.h"

namespace mote {

const OpRecord* record_of(const Case& c) {
  if (!c.target->is_file()) return c.target->record();
  for (const OpRecord& record : catalogue()) {
    if (record.name != c.target->op()) continue;
    const Instance whole{c.instance.dtype, c.target->full_mask()};
    if (std::ranges::find(record.dtypes, whole.dtype) == record.dtypes.end() ||
        full_mask(record) != whole.input_mask)
      return nullptr;
    return equal(*instantiate(record, whole), *c.program) ? &record : nullptr;
  }
  return nullptr;
}

std::shared_ptr<const Program> form_program(const Case& c, std::string_view form) {
  if (form == kDirect) return c.program;
  if (const OpRecord* record = record_of(c)) {
    const Instance whole{c.instance.dtype, c.target->full_mask()};
    return instantiate(*record, c.target->is_file() ? whole : c.instance, form);
  }
  throw Error(fmt::format("{}: unknown form '{}' (known: {}; a program file has no other)",
                          c.target->text(), form, kDirect));
}

std::string form_misfit(const Case& c, const mote_contract* contract) {
  const std::string_view form = form_of(contract);
  if (form == kDirect) return "";
  std::vector<std::vector<std::int64_t>> shapes;
  for (const CaseTensor& t : c.inputs) shapes.push_back(t.shape);
  try {
    const auto program = form_program(c, form);
    std::map<std::string, Number> params;
    for (const ParamDecl& p : program->params)
      if (const auto at = c.params.find(p.name); at != c.params.end()) params.insert(*at);
    mote::bind(*program, shapes, params);
  } catch (const Error& e) {
    return fmt::format("its contract's form: {}", e.what());
  }
  return "";
}

}  // namespace mote
