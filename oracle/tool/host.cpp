// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <string_view>

namespace mote::tool {
namespace {

std::string cpuinfo(std::initializer_list<std::string_view> keys) {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (std::ranges::find(keys, key) != keys.end()) return line.substr(colon + 2);
  }
  return "";
}

/// The text, in single quotes unless a shell reads it as a plain word.
std::string shell_word(const std::string& text) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string cpu_model() { return cpuinfo({"model name", "Model", "uarch"}); }

std::string cpu_flags() { return cpuinfo({"flags", "Features"}); }

std::string host_name() {
  utsname system{};
  return uname(&system) == 0 ? system.nodename : "";
}

std::string host_text() {
  utsname system{};
  if (uname(&system) != 0) return "";
  const std::string model = cpu_model();
  return fmt::format("{}, {} {} {}, {} x {}", system.nodename, system.sysname, system.release,
                     system.machine, sysconf(_SC_NPROCESSORS_ONLN),
                     model.empty() ? "a processor" : model);
}

std::string command_text() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(stream, word, '\0');)
    text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S%z", &local)};
}

std::string build_date_text() {
  const char* given = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t time =
      given != nullptr ? std::time_t{std::strtoll(given, nullptr, 10)} : std::time(nullptr);
  std::tm day{};
  gmtime_r(&time, &day);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &day)};
}

}  // namespace mote::tool
