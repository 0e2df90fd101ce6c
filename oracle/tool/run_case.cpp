// SPDX-License-Identifier: Apache-2.0
// Implements `mote run`: the reference's results for a case, printed or as a NumPy file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <span>

#include "array_text.h"
#include "commands.h"
#include "mote/base/error.h"
#include "mote/npz/npz.h"
#include "mote/oracle/quantity.h"
#include "mote/oracle/reference_values.h"
#include "mote/runtime/status.h"

namespace mote::tool {
namespace {

struct RunArguments {
  std::vector<std::string> words;
  std::string memory;
  std::string file;
  bool inputs = false;
  bool whole = false;
  bool json = false;
};

Tensor tensor_of(const TensorValues& t) {
  Tensor tensor(t.dtype, AxisList(std::span<const std::int64_t>(t.shape)));
  if (!t.elements.empty()) std::memcpy(tensor.data(), t.elements.data(), t.elements.size());
  return tensor;
}

/// Writes inputs and outputs, each under its name.
void write_values(const std::string& file, const ReferenceValues& values) {
  NamedTensors tensors;
  for (const auto* all : {&values.inputs, &values.outputs})
    for (const TensorValues& t : *all) tensors.emplace(t.name, tensor_of(t));
  try {
    write_npz(file, tensors);
  } catch (const StatusError& e) {
    throw Error(fmt::format("{}: {}", file, e.what()));
  }
  print(file + "\n");
}

void print_values(const std::vector<TensorValues>& tensors, const char* role,
                  const RunArguments& options) {
  for (const TensorValues& t : tensors)
    print(options.json ? array_json(t, role) : array_text(t, options.whole));
}

void run_one(const Case& c, const RunArguments& options) {
  std::optional<std::int64_t> limit;
  if (!options.memory.empty()) limit = parse_bytes("memory", options.memory);
  const ReferenceValues values = reference_values(c, limit);
  if (!options.file.empty()) return write_values(options.file, values);
  if (options.inputs) print_values(values.inputs, "input", options);
  print_values(values.outputs, "output", options);
}

int run_cases(const RunArguments& options) {
  const std::vector<Case> cases = cases_of(fmt::format("{}", fmt::join(options.words, " ")));
  if (!options.file.empty() && cases.size() != 1)
    throw Error(fmt::format("run: -o: expected one case, got {}", cases.size()));
  for (const Case& c : cases) {
    if (cases.size() > 1 && !options.json) print(to_string(c) + "\n");
    run_one(c, options);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "print what the reference gives for a case");
  command
      ->add_option("CASE", options->words,
                   "a case as `mote check` prints it, or a file of them; its backend has no say")
      ->required();
  command->add_flag("--inputs", options->inputs, "the inputs too, as the case fills them");
  command->add_flag("--whole", options->whole, "all elements, however many there are");
  CLI::Option* json = command->add_flag("--json", options->json, "a line of JSON for each tensor");
  command
      ->add_option("-o", options->file,
                   "write inputs and outputs to that file, as NumPy reads it, and print its path")
      ->type_name("FILE.npz")
      ->excludes(json);
  command->add_option("--memory", options->memory, "most memory for a case; default: what is free")
      ->type_name("BYTES");
  command->callback([options, &action] { action = [options] { return run_cases(*options); }; });
}

}  // namespace mote::tool
