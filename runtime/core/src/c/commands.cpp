// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote.h that make, compare and print commands.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c/guard.h"
#include "c/objects.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/infer.h"

namespace mote::c {
namespace {

/// Throws if there are more parameters than the op has, so that no list is read beyond that.
void check_param_count(const char* op, std::size_t count) {
  const Registry& registry = Registry::global();
  const Definition& d = registry.column(kDefinition).at(registry.get(op));
  check_count(*d, count, d->param_count, "parameters");
}

mote_command* command_handle(Command command) {
  std::string text = to_string(command);
  return new mote_command{std::move(command), std::move(text)};
}

}  // namespace
}  // namespace mote::c

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_command_create(const char* op, const mote_param* params, size_t count,
                                const int32_t* axis, mote_command** command) {
  return guarded(__func__, [&] {
    if (count > 0) given(params, "params");
    check_param_count(&given(op, "op"), count);
    std::vector<Setting> settings;
    for (const mote_param& p : std::span(params, count)) {
      const char* name = &given(p.name, "a parameter's name");
      if (p.is_real != 0)
        settings.emplace_back(name, p.real);
      else
        settings.emplace_back(name, p.integer);
    }
    const std::optional<int> along = axis != nullptr ? std::optional<int>(*axis) : std::nullopt;
    auto& result = given(command, "command");
    result = command_handle(Command(op, settings, along));
  });
}

mote_status mote_command_parse(const char* text, mote_command** command) {
  return guarded(__func__, [&] {
    auto& result = given(command, "command");
    result = command_handle(parse_command(&given(text, "text")));
  });
}

void mote_command_free(mote_command* command) { delete command; }

const char* mote_command_text(const mote_command* command) {
  return command != nullptr ? command->text.c_str() : "";
}

int mote_command_equal(const mote_command* a, const mote_command* b) {
  if (a == nullptr || b == nullptr) return a == b ? 1 : 0;
  return a->command == b->command ? 1 : 0;
}

size_t mote_command_hash(const mote_command* command) {
  return command != nullptr ? command->command.hash() : 0;
}

mote_status mote_infer(const mote_command* command, const mote_tensor* const* inputs,
                       size_t input_count, const DLDataType* dtype, mote_tensor** outputs,
                       size_t output_count) {
  return guarded(__func__, [&] {
    const Command& what = given(command, "command").command;
    const Operands tensors(what.definition(), inputs, input_count, nullptr, 0);
    const std::optional<DType> wanted =
        dtype != nullptr ? std::optional<DType>(dtype_of(*dtype)) : std::nullopt;
    given(outputs, "outputs");
    const std::vector<TensorForm> forms = infer(what, tensors.inputs, wanted);
    if (output_count != forms.size())
      throw StatusError(MOTE_INVALID, std::string(what.definition().name) + ": has " +
                                          std::to_string(forms.size()) + " outputs, got " +
                                          std::to_string(output_count));
    std::vector<std::unique_ptr<Tensor>> made;
    for (const TensorForm& form : forms)
      made.push_back(std::make_unique<Tensor>(Tensor::over(nullptr, form.dtype, form.shape)));
    for (std::size_t k = 0; k < made.size(); ++k)
      outputs[k] = reinterpret_cast<mote_tensor*>(made[k].release());
  });
}
