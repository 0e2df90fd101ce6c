// SPDX-License-Identifier: Apache-2.0
#include "mote/macroops/program_record.h"

#include <fmt/format.h>

#include "mote/base/error.h"
#include "mote/uops/element_type.h"

namespace mote {
namespace {

ProgramSpec spec_of(Program p) {
  return {.name = {},
          .equation = {},
          .params = {},
          .inputs = std::move(p.inputs),
          .outputs = std::move(p.outputs),
          .sizes = std::move(p.sizes),
          .constraints = std::move(p.constraints)};
}

std::vector<DType> dtypes_named(const std::string& file, const std::vector<std::string>& words) {
  std::vector<DType> dtypes;
  for (const std::string& word : words) {
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) throw Error(fmt::format("{}: unknown dtype '{}'", file, word));
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

}  // namespace

OpRecord program_record(const std::string& file, const std::string& text,
                        const std::vector<std::string>& dtypes) {
  const Program own = parse_program_file(file, text);
  OpRecord record;
  record.name = own.name;
  record.family = "program";
  record.equation = own.equation;
  for (const Uop& input : own.inputs)
    record.inputs.push_back({std::get<uop::Input>(input.node().kind).name});
  record.dtypes = dtypes_named(file, dtypes);
  if (record.dtypes.empty()) record.dtypes = {element_type(own)};
  for (const DType dtype : record.dtypes) parse_program_file(file, text, dtype);
  record.params = own.params;
  record.source = file;
  record.define = [file, text](const Instance& instance) {
    return spec_of(parse_program_file(file, text, instance.dtype));
  };
  return record;
}

}  // namespace mote
