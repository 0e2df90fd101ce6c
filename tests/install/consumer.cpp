// SPDX-License-Identifier: Apache-2.0
// Uses each component once: runtime, npz, compiler, oracle.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/macroops/catalogue.h"
#include "mote/npz/npz.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/campaign.h"
#include "mote/runtime/command.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/status.h"
#include "mote/uops/program.h"

namespace {

using namespace mote;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

void use_runtime() {
  const Tensor x(DType::f32, {2, 3, 4});
  Tensor y(DType::f32, {2, 3, 4});
  fill(x, 0.5);
  run(Command("softmax", {}, 1), {&x}, {&y});
  expect(std::abs(y.real_at({1, 2, 3}) - 1.0 / 3) < 1e-6, "softmax of equal values is 1/3");
  try {
    Command("sofmax");
    expect(false, "an unknown op throws");
  } catch (const StatusError& e) {  // its type is the same on both sides of the shared library
    expect(std::string(e.what()).find("softmax") != std::string::npos, "near names are named");
  }
  const auto file =
      std::filesystem::temp_directory_path() / ("mote_consumer_" + std::to_string(getpid()));
  write_npz(file.string(), {{"y", y}});
  expect(read_npz(file.string()).at("y").real_at({0, 0, 0}) == y.real_at({0, 0, 0}), "npz keeps y");
  std::filesystem::remove(file);
}

void use_compiler() {
  const Program program = parse_program("op twice\ninput x f32[N]\noutput y = x + x\n");
  const std::string text = emit_c(compile(std::make_shared<const Program>(program)),
                                  {.function = {}, .standalone = true});
  expect(text.find("mote_twice") != std::string::npos, "the program becomes C");
}

void use_oracle() {
  const Backends backends = find_backends({});
  const Selection selection = select_backends(backends, {"gen"});
  CampaignOptions options;
  options.ops = {"relu", "matmul"};
  options.backends = selection.chosen;
  options.count = 20;
  options.seed = 1;
  const CampaignResult result = run_campaign(options);
  expect(result.failures.empty() && !result.rows.empty(), "the oracle passes gen");
}

}  // namespace

int main() {
  try {
    use_runtime();
    use_compiler();
    use_oracle();
  } catch (const std::exception& e) {
    expect(false, e.what());
  }
  if (failures == 0) std::printf("consumer: all of it works\n");
  return failures == 0 ? 0 : 1;
}
