// SPDX-License-Identifier: Apache-2.0
// The oracle's C functions: they turn options into a campaign, and its result into a status and a
// text.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "campaign/function_report.h"
#include "mote/base/error.h"
#include "mote/oracle/function.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/oracle.h"
#include "mote/oracle/resolve.h"

namespace mote {
namespace {

constexpr std::int64_t kDefaultCount = 300;

/// The fields of the caller's struct, and defaults for the rest.
mote_check_options complete_options(const mote_check_options* given) {
  mote_check_options options{};
  if (given != nullptr) std::memcpy(&options, given, std::min(given->size, sizeof options));
  if (options.accumulator == nullptr) options.accumulator = "";
  if (options.count == 0) options.count = kDefaultCount;
  if (options.count < 0)
    throw Error("mote_check: count: expected at least 0, got " + std::to_string(options.count));
  return options;
}

/// Splits "b,c" into b and c; empty for NULL.
std::vector<std::string> listed(const char* text) {
  std::vector<std::string> names;
  std::istringstream stream(text != nullptr ? text : "");
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

const char* required(const char* text, const char* what) {
  if (text == nullptr) throw Error(std::string("mote_check: ") + what + ": got NULL");
  return text;
}

std::optional<DType> dtype_of(const mote_check_options& options) {
  if (options.dtype == nullptr) return std::nullopt;
  return require_dtype(options.dtype);
}

/// Writes a copy of the text that free() frees; returns false without memory for it.
bool give(char** report, const std::string& text) {
  if (report == nullptr) return true;
  *report = static_cast<char*>(std::malloc(text.size() + 1));
  if (*report == nullptr) return false;
  std::memcpy(*report, text.c_str(), text.size() + 1);
  return true;
}

mote_status status_of(const FunctionReport& report) {
  if (report.passed) return MOTE_OK;
  return report.judged > 0 ? MOTE_FAILED : MOTE_UNSUPPORTED;
}

mote_status checked(char** report, const std::function<FunctionReport()>& check) {
  if (report != nullptr) *report = nullptr;
  try {
    const FunctionReport result = check();
    return give(report, result.text) ? status_of(result) : MOTE_OUT_OF_MEMORY;
  } catch (const std::bad_alloc&) {
    return MOTE_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    try {
      give(report, e.what());
    } catch (const std::bad_alloc&) {
      return MOTE_OUT_OF_MEMORY;
    }
    return MOTE_INVALID;
  }
}

FunctionReport check_library(const char* path, const char* op, const mote_check_options& options) {
  CampaignOptions campaign;
  campaign.run.isolation = std::make_shared<Isolation>();
  const Backends backends = find_backends({path}, campaign.run.isolation.get());
  campaign.backends = select_backends(backends, {}).chosen;
  if (op != nullptr) campaign.ops = {op};
  if (const std::optional<DType> dtype = dtype_of(options)) campaign.dtypes = {*dtype};
  campaign.count = options.count;
  campaign.seed = options.seed;
  return report_of(run_campaign(campaign));
}

}  // namespace
}  // namespace mote

extern "C" {

mote_status mote_check_function(const char* op, mote_function function,
                                const mote_check_options* options, char** report) {
  return mote::checked(report, [&] {
    const mote_check_options given = mote::complete_options(options);
    mote::required(op, "op");
    if (function == nullptr) throw mote::Error("mote_check: function: got NULL");
    mote::FunctionOptions how;
    how.dtype = mote::dtype_of(given);
    how.without = mote::listed(given.without);
    how.needs = mote::listed(given.needs);
    how.accumulator = given.accumulator;
    how.row_major = given.row_major != 0;
    how.nondeterministic = given.nondeterministic != 0;
    how.indices = given.indices;
    how.count = given.count;
    how.seed = given.seed;
    if (given.name != nullptr) how.name = given.name;
    how.in_process = given.in_process != 0;
    return mote::check_function(op, {function, std::nullopt}, how);
  });
}

mote_status mote_check_library(const char* path, const char* op, const mote_check_options* options,
                               char** report) {
  return mote::checked(report, [&] {
    const mote_check_options given = mote::complete_options(options);
    return mote::check_library(mote::required(path, "library"), op, given);
  });
}

void mote_check_free(char* report) { std::free(report); }

}  // extern "C"
