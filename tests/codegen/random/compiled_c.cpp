// SPDX-License-Identifier: Apache-2.0
// Compiles a batch of programs as one C file with a thunk each, by $CC (else cc) with strict
// floating point, loads it, and calls it by mote's kernel ABI.
#include "compiled_c.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "mote/base/error.h"
#include "mote/base/kernel.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/generated/level.h"
#include "random_schedule.h"
#include "tensor_memory.h"

namespace mote::test {
namespace {

namespace fs = std::filesystem;

std::string function_name(int k) { return fmt::format("program_{}", k); }
std::string drawn_name(int k) { return function_name(k) + "_drawn"; }
std::string whole_name(int k) { return function_name(k) + "_whole"; }
std::string counts_name(int k) { return function_name(k) + "_counts"; }

constexpr int kMaxStepsInC = 12;  // that are tried for the drawn variant

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Makes the calls of that version count in element `at` of the program's counts. Throws Error if
/// the text has none.
std::string counting(std::string text, const std::string& version, int program, std::size_t at) {
  const std::string call = "return " + version + "(";
  std::size_t found = text.find(call);
  if (found == std::string::npos) throw Error("no call of " + version);
  for (; found != std::string::npos; found = text.find(call, found)) {
    const std::string counted =
        fmt::format("return {}[{}] = 1, {}(", counts_name(program), at, version);
    text.replace(found, call.size(), counted);
    found += counted.size();
  }
  return text;
}

bool multiplies_padding(const Schedule& s) {
  return std::ranges::any_of(s.versions,
                             [](const Version& v) { return v.program.multiplies_padding; });
}

bool has_no_tile(const Version& v) { return v.program.vector_bytes == 0; }

}  // namespace

CBatch::CBatch(std::string optimisation) : optimisation_(std::move(optimisation)) {
  std::string name = (fs::temp_directory_path() / "mote_random_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder like " + name);
  folder_ = name;
  source_ = emit_c_includes() + emit_c_gen_includes() +
            "#include \"mote/base/thunk_outputs.h\"\n\n" + emit_c_gen_prelude() +
            emit_c_bound_prelude();
}

CBatch::~CBatch() {
  if (library_ != nullptr) dlclose(library_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

int CBatch::add(const LoopProgram& checked) {
  EmitOptions options;
  options.function = function_name(count_);
  options.thunk = true;
  options.gen = options.function + "_gen";
  for (const Output& o : checked.source->outputs) options.optional_outputs.push_back(o.name);
  if (options.optional_outputs.size() == 1) options.optional_outputs.clear();
  EmitOptions gen;
  gen.function = options.gen;
  gen.optional_outputs = options.optional_outputs;
  const bool may_leave_out = !options.optional_outputs.empty();
  const LoopProgram p =
      may_leave_out ? compile_for_calls(checked.source, options.optional_outputs) : checked;
  std::set<std::string> called;
  gen.helpers = &called;
  std::vector<Scheduled>& schedules = schedules_.emplace_back();
  schedules.push_back({schedule(p, small_tiles(p)), small_tiles(p)});
  std::string text = emit_c(schedules.front().schedule, gen) + "\n" + emit_c(p, options);
  Rng rng(seed_of(p));
  const std::vector<Step> steps = steps_of(draw_schedule(p, rng, kMaxStepsInC).version);
  EmitOptions drawn = gen;
  drawn.function = drawn_name(count_);
  const Schedule by_hand = schedule_by(p, steps, small_tiles(p));
  drawn_multiplies_.push_back(mote::test::multiplies_padding(by_hand));
  text += "\n/* " + to_string(steps) + " */\n" + emit_c(by_hand, drawn) + "\n" +
          emit_c_around(p, drawn);
  text += with_whole_tiles(p, gen);
  source_ += "\n" + emit_c_rare_helpers(called) + text;
  return count_++;
}

/// Returns the variant whole; empty if no version of it has tiles in registers.
std::string CBatch::with_whole_tiles(const LoopProgram& p, EmitOptions how) {
  std::vector<std::string>& names = tiles_.emplace_back();
  const ScheduleOptions options = whole_tiles(p);
  Schedule all = schedule(p, options);
  // The versions without tiles are those of the variant gen.
  all.versions.erase(std::remove_if(all.versions.begin(), all.versions.end() - 1, has_no_tile),
                     all.versions.end() - 1);
  if (all.versions.size() == 1) return "";
  how.function = whole_name(count_);
  std::string text = emit_c(all, how);
  for (const Version& v : all.versions) {
    if (has_no_tile(v)) continue;
    text = counting(std::move(text), how.function + "_" + v.name, count_, names.size());
    names.push_back(v.name);
  }
  schedules_.back().push_back({std::move(all), options});
  return fmt::format("\nextern int {0}[{1}];\nint {0}[{1}];\n", counts_name(count_), names.size()) +
         text + "\n" + emit_c_around(p, how);
}

const std::vector<CBatch::Scheduled>& CBatch::schedules(int k) const {
  return schedules_[static_cast<std::size_t>(k)];
}

bool CBatch::multiplies_padding(int k, CVariant variant) const {
  if (variant == CVariant::reference) return false;
  if (variant == CVariant::drawn) return drawn_multiplies_[static_cast<std::size_t>(k)];
  const std::vector<Scheduled>& all = schedules(k);
  return mote::test::multiplies_padding(variant == CVariant::gen ? all.front().schedule
                                                                 : all.back().schedule);
}

std::vector<std::string> CBatch::tiles_that_ran(int k) const {
  const std::vector<std::string>& names = tiles_[static_cast<std::size_t>(k)];
  std::vector<std::string> ran;
  const auto* counts = static_cast<const int*>(dlsym(library_, counts_name(k).c_str()));
  for (std::size_t v = 0; counts != nullptr && v < names.size(); ++v)
    if (counts[v] != 0) ran.push_back(names[v]);
  return ran;
}

void CBatch::compile() {
  const fs::path c = fs::path(folder_) / "batch.c";
  const fs::path so = fs::path(folder_) / "batch.so";
  const fs::path log = fs::path(folder_) / "log.txt";
  std::ofstream(c) << source_;
  const char* cc = std::getenv("CC");
  const std::string command = fmt::format(
      "{} {} -std=c11 -ffp-contract=off -frounding-math -fno-builtin -Wall -Wextra -Wconversion "
      "-Werror "
      "{} {} -DMOTE_PARALLEL_ABOVE=0 -shared -fPIC -I{} '{}' -o '{}' -lm > '{}' 2>&1",
      cc == nullptr ? "cc" : cc, optimisation_,
      mote_level() > 0 ? fmt::format("-march=x86-64-v{}", mote_level()) : "", MOTE_OPENMP_FLAG,
      MOTE_KERNEL_INCLUDE, c.string(), so.string(), log.string());
  if (std::system(command.c_str()) != 0) throw Error("cc: " + text_of(log));
  // The threads of small calls would spin for longer than these take.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  // It is never unloaded: threads of its OpenMP runtime wait in its code.
  library_ = dlopen(so.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library_ == nullptr) throw Error(fmt::format("dlopen: {}", dlerror()));
}

std::vector<Array> CBatch::run(int k, const Program& p, const std::vector<Array>& inputs,
                               const Trial& t, CVariant variant) const {
  const std::string name = variant == CVariant::reference ? function_name(k) + "_run"
                           : variant == CVariant::gen     ? function_name(k) + "_gen_run"
                           : variant == CVariant::whole   ? whole_name(k) + "_run"
                                                          : drawn_name(k) + "_run";
  using Kernel = mote_status (*)(const mote_call*, void*);
  const auto kernel = reinterpret_cast<Kernel>(dlsym(library_, name.c_str()));
  if (kernel == nullptr) throw Error("the library has no function " + name);
  return run_on_memory(p, inputs, t, [&](const mote_call& call) { return kernel(&call, nullptr); });
}

}  // namespace mote::test
