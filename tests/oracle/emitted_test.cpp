// SPDX-License-Identifier: Apache-2.0
// Tries `mote emit` for every op and gradient, in every dtype: the standalone kernel and the
// plug-in around it compile without a warning, link, and pass the oracle, for calls with all inputs
// and with each smaller choice. Many units are compiled at once, each with helpers of its own
// names, so that a unit that lacks a helper does not get another's. With MOTE_EXHAUSTIVE each
// choice of inputs is also emitted separately, in every dtype, by gcc and clang, in both variants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "mote/base/command.h"
#include "mote/base/temporary_folder.h"
#include "mote/oracle/c_compiler.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/kernel_c.h"
#include "mote/oracle/plugin_text.h"
#include "mote/oracle/report.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnitsOfOneFile = 40;

bool is_exhaustive() { return std::getenv("MOTE_EXHAUSTIVE") != nullptr; }

/// An emitted instance of an op.
struct Unit {
  Resolved op;
  std::string name;  ///< the name of its function
};

/// Returns the text with a suffix on the names of the helpers that it defines.
std::string with_own_helpers(std::string text, const std::string& suffix) {
  static const std::regex definition(R"(static inline [\w ]*[ *](mote_\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), definition), end; at != end; ++at)
    names.insert((*at)[1]);
  std::string out;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t k = 0; k < text.size();) {
    std::size_t end = k;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string word = text.substr(k, end - k);
    out += word;
    if (names.contains(word)) out += suffix;
    if (end == k) out += text[end++];
    k = end;
  }
  return out;
}

std::string text_of(const Unit& unit, std::size_t number, bool gen) {
  const std::string kernel = kernel_c(unit.op, {.gen = gen, .standalone = true});
  const std::string around = plugin_around(unit.op, {.function = unit.name});
  return with_own_helpers(kernel, fmt::format("_k{}", number)) +
         fmt::format("#define mote_plugin_init init_{}\n", number) +
         with_own_helpers(around, fmt::format("_p{}", number)) + "#undef mote_plugin_init\n\n";
}

/// Returns a plug-in whose backend has the kernels of all units.
std::string table_text(std::size_t count) {
  std::string declarations, calls;
  for (std::size_t k = 0; k < count; ++k) {
    declarations += fmt::format("mote_status init_{}(mote_plugin* plugin);\n", k);
    calls += fmt::format("  init_{0}(&one);\n  kernels[{0}] = one.backends->kernels[0];\n", k);
  }
  return fmt::format(
      "#include \"mote/base/kernel.h\"\n{0}"
      "mote_status mote_plugin_init(mote_plugin* plugin) {{\n"
      "  static mote_kernel kernels[{1}];\n"
      "  static mote_backend backend = {{.size = sizeof backend, .name = \"emitted\",\n"
      "    .version = \"\", .kernel_count = {1}, .kernels = kernels}};\n"
      "  mote_plugin one = {{.size = sizeof one, .abi_version = MOTE_ABI_VERSION}};\n{2}"
      "  plugin->abi_version = MOTE_ABI_VERSION;\n  plugin->backend_count = 1;\n"
      "  plugin->backends = &backend;\n  return MOTE_OK;\n}}\n",
      declarations, count, calls);
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void run(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult result = run_command(words);
  ASSERT_TRUE(result.ok) << result.messages.substr(0, 4000);
}

/// Compiles the units into the library.
void build(const std::vector<Unit>& units, const fs::path& library,
           const std::vector<std::string>& compiler, bool gen) {
  std::vector<std::string> link = {"-shared", "-Wl,--no-undefined"};
  const auto compile = [&](const std::string& name, const std::string& text) {
    const std::string source = library.parent_path() / (name + ".c");
    write(source, text);
    run(compiler, {"-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-ffp-contract=off",
                   fmt::format("-I{}", MOTE_INCLUDE), "-c", source, "-o", source + ".o"});
    link.push_back(source + ".o");
  };
  for (std::size_t first = 0; first < units.size(); first += kUnitsOfOneFile) {
    std::string text;
    for (std::size_t k = first; k < std::min(first + kUnitsOfOneFile, units.size()); ++k)
      text += text_of(units[k], k, gen);
    compile(fmt::format("units_{}", first), text);
    if (testing::Test::HasFatalFailure()) return;
  }
  compile("table", table_text(units.size()));
  if (testing::Test::HasFatalFailure()) return;
  link.insert(link.end(), {"-o", library, "-lm"});
  run(compiler, link);
}

using OpsAndDtypes = std::map<std::string, std::set<DType>>;

/// Removes judged dtypes from `wanted`; expects no failure.
void check_some(OpsAndDtypes& wanted, const Backends& backends, std::int64_t of_each) {
  CampaignOptions options;
  options.backends = select_backends(backends, {"emitted"}).chosen;
  options.seed = 1;
  options.shrink_s = 5;
  for (auto& [op, dtypes] : wanted) {
    options.ops = {op};
    options.dtypes.assign(dtypes.begin(), dtypes.end());
    options.count = of_each * std::ssize(dtypes);
    const CampaignResult result = run_campaign(options);
    for (const Failure& f : result.failures) ADD_FAILURE() << failure_text(f);
    for (const Row& row : result.rows)
      if (row.judged + row.count(Verdict::vacuous) + row.count(Verdict::weak) > 0)
        dtypes.erase(row.dtype);
  }
  std::erase_if(wanted, [](const auto& entry) { return entry.second.empty(); });
}

/// Expects that every op and dtype of the units is judged; takes more cases if the first ones are
/// all declined, like those with inputs that the units lack.
void check(const std::vector<Unit>& units, const std::string& library, std::int64_t of_each) {
  const Backends backends = find_backends({library});
  OpsAndDtypes wanted;
  for (const Unit& unit : units) wanted[unit.op.record->name].insert(unit.op.instance->dtype);
  check_some(wanted, backends, of_each);
  check_some(wanted, backends, 20 * of_each);
  for (const auto& [op, dtypes] : wanted) ADD_FAILURE() << op << ": nothing was judged";
}

/// Returns part `index` of `count` of the ops, so that a test's parts run side by side.
std::vector<const OpRecord*> part_of_ops(std::size_t index, std::size_t count) {
  std::vector<const OpRecord*> ops;
  for (std::size_t k = index; k < generated_ops().size(); k += count)
    ops.push_back(generated_ops()[k]);
  return ops;
}

constexpr std::size_t kParts = 4;

class Emitted : public testing::TestWithParam<std::size_t> {
 protected:
  static void expect_right(const std::vector<Unit>& units, std::int64_t of_each,
                           const std::vector<std::string>& compiler = c_compiler(),
                           bool gen = false) {
    const TemporaryFolder folder;
    const fs::path library = folder.path() / "emitted.so";
    build(units, library, compiler, gen);
    if (!HasFatalFailure()) check(units, library, of_each);
  }
};

/// Returns each op and dtype as a function of all inputs: calls without some give it NULL.
std::vector<Unit> whole_units(std::size_t part) {
  std::vector<Unit> units;
  for (const OpRecord* record : part_of_ops(part, kParts))
    for (const DType dtype : record->dtypes) {
      Unit unit{resolve_program(record->name, dtype), ""};
      unit.name = kernel_function(unit.op);
      units.push_back(std::move(unit));
    }
  return units;
}

TEST_P(Emitted, TakesNullForWhatACallLacks) {
  expect_right(whole_units(GetParam()), is_exhaustive() ? 30 : 4);
}

/// Each choice of inputs has a function of its own; `--without` names the others.
TEST_P(Emitted, StandsAloneWithoutOptionalInputs) {
  std::vector<Unit> units;
  for (const OpRecord* record : part_of_ops(GetParam(), kParts))
    for (const Instance& instance : instances(*record)) {
      if (instance.input_mask == full_mask(*record)) continue;
      if (!is_exhaustive() && instance.dtype != record->dtypes.front()) continue;
      Unit unit{resolve_program(record->name, instance.dtype, instance.input_mask), ""};
      unit.name = kernel_function(unit.op);
      units.push_back(std::move(unit));
    }
  expect_right(units, is_exhaustive() ? 60 : 4);
}

TEST_P(Emitted, IsGenToo) {
  if (!is_exhaustive()) GTEST_SKIP() << "only where MOTE_EXHAUSTIVE is set";
  expect_right(whole_units(GetParam()), 10, c_compiler(), true);
}

TEST_P(Emitted, CompilesByClang) {
  if (!is_exhaustive()) GTEST_SKIP() << "only where MOTE_EXHAUSTIVE is set";
  if (!run_command({"clang", "--version"}).ok) GTEST_SKIP() << "there is no clang";
  expect_right(whole_units(GetParam()), 1, {"clang"});
}

INSTANTIATE_TEST_SUITE_P(Part, Emitted, testing::Range(std::size_t{0}, kParts));

}  // namespace
}  // namespace mote
