// SPDX-License-Identifier: Apache-2.0
// Describes an op as JSON, and runs the tool.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "../../runtime/core/src/c/guard.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/target.h"
#include "mote/tool/tool.h"
#include "mote_python.h"
#include "text.h"

namespace mote::python {
namespace {

using Json = nlohmann::ordered_json;

Json axes_of(const std::vector<Expr>& shape) {
  Json axes = Json::array();
  for (const Expr& e : shape) axes.push_back(e.to_string());
  return axes;
}

Json inputs_of(const Target& target, const Program& program) {
  Json inputs = Json::array();
  for (const InputDecl& declared : target.inputs()) {
    Json input = {{"name", declared.name}, {"optional", declared.optional}};
    for (const Uop& x : program.inputs) {
      if (std::get<uop::Input>(x.node().kind).name != declared.name) continue;
      input["dtype"] = std::string(name(x.dtype()));
      input["axes"] = axes_of(x.shape());
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string described(const char* op) {
  const auto target = find_target(op);
  const DType first = target->dtypes().front();
  const auto program = target->program({first, target->full_mask()});
  Json outputs = Json::array();
  for (const Output& y : program->outputs) {
    const bool optional =
        target->record() != nullptr && is_optional_output(*target->record(), y.name);
    outputs.push_back({{"name", y.name},
                       {"dtype", std::string(name(y.value.dtype()))},
                       {"axes", axes_of(y.value.shape())},
                       {"optional", optional}});
  }
  Json params = Json::array();
  for (const ParamDecl& p : program->params) {
    Json param = {{"name", p.name}, {"integer", p.is_integer}, {"meaning", p.meaning}};
    if (p.default_value) param["default"] = *p.default_value;
    params.push_back(std::move(param));
  }
  Json dtypes = Json::array();
  for (const DType d : target->possible_dtypes()) dtypes.push_back(std::string(name(d)));
  Json forms = Json::array();
  if (target->record() != nullptr)
    for (const std::string& form : form_names(*target->record())) forms.push_back(form);
  const Json all = {{"op", target->op()},
                    {"equation", target->record() != nullptr ? target->record()->equation : ""},
                    {"file", target->is_file()},
                    {"first_dtype", std::string(name(first))},
                    {"inputs", inputs_of(*target, *program)},
                    {"outputs", outputs},
                    {"params", params},
                    {"dtypes", dtypes},
                    {"forms", forms}};
  return all.dump();
}

}  // namespace
}  // namespace mote::python

extern "C" {

mote_status mote_py_describe(const char* op, char** text) {
  return mote::c::guarded("mote_py_describe", [&] {
    *text = mote::python::copy_of(mote::python::described(&mote::c::given(op, "op")));
  });
}

void mote_py_text_free(char* text) { std::free(text); }

int mote_py_tool(int argc, char** argv, const char* folder) {
  if (folder != nullptr) mote::set_executable_folder(folder);
  return mote::tool_main(argc, argv);
}

}  // extern "C"
