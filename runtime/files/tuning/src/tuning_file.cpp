// SPDX-License-Identifier: Apache-2.0
#include "mote/tuning/tuning_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "command/kernel_choice.h"
#include "command/signature.h"
#include "json.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/runtime/file.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "tensor/number_text.h"

namespace mote {
namespace {

constexpr const char* kFormat = "mote tuning";

/// Returns the processor's model, if the system tells, and the number of processors.
std::string machine_text() {
  std::string model = "unknown processor";
  try {
    const std::vector<std::byte> bytes = read_file("/proc/cpuinfo");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.find("model name");
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t colon = text.find(": ", at);
    if (colon < end) model = text.substr(colon + 2, end - colon - 2);
  } catch (const StatusError& e) {
    if (e.status() == MOTE_OUT_OF_MEMORY) throw;
  }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

/// Returns versions by the backend's name; that of gen says which instructions it uses.
std::map<std::string, std::string> libraries_of(const Context& context) {
  std::map<std::string, std::string> libraries = {{gen_backend().name, gen_backend().version}};
  for (const mote_backend* backend : context.backends())
    libraries[backend->name] = backend->version != nullptr ? backend->version : "";
  return libraries;
}

std::string hex_words(std::span<const std::uint64_t> words) {
  std::string text;
  std::array<char, 16> digits{};
  for (const std::uint64_t word : words) {
    auto* const end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
    text += (text.empty() ? "" : " ") + std::string(digits.data(), end);
  }
  return text;
}

/// Returns nothing for text that hex_words did not write.
std::optional<std::vector<std::uint64_t>> parse_words(std::string_view text) {
  std::vector<std::uint64_t> words;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint64_t word = 0;
    const auto [next, failed] = std::from_chars(at, end, word, 16);
    if (failed != std::errc()) return std::nullopt;
    words.push_back(word);
    if (next == end) break;
    if (*next != ' ') return std::nullopt;
    at = next + 1;
  }
  if (!call_kind(words)) return std::nullopt;
  return words;
}

/// Writes one name and value per line, between braces.
std::string object_text(const std::vector<std::pair<std::string, std::string>>& members,
                        const std::string& indent) {
  std::string text;
  for (const auto& [name, value] : members)
    text += (text.empty() ? "{\n" : ",\n") + indent + "  " + json::quoted(name) + ": " + value;
  return text.empty() ? "{}" : text + "\n" + indent + "}";
}

std::string entry_text(const TuningEntry& entry) {
  std::vector<std::pair<std::string, std::string>> times;
  for (const Timing& t : entry.timings) times.emplace_back(t.kernel, real_text(t.nanoseconds));
  return object_text({{"command", json::quoted(to_string(entry.command))},
                      {"signature", json::quoted(hex_words(entry.signature))},
                      {"example", json::quoted(entry.example)},
                      {"kernel", json::quoted(entry.kernel)},
                      {"nanoseconds", object_text(times, "      ")}},
                     "    ");
}

/// An entry as the file has it.
struct FileEntry {
  std::string command;
  std::vector<std::uint64_t> signature;
  std::string example;
  std::string kernel;
  std::vector<Timing> timings;
};

const std::string* text_in(const json::Value& object, const char* name) {
  const json::Value* member = object.find(name);
  return member != nullptr && member->kind == json::Value::Kind::text ? &member->text : nullptr;
}

std::optional<FileEntry> parse_entry(const json::Value& object) {
  const std::string* command = text_in(object, "command");
  const std::string* signature = text_in(object, "signature");
  const std::string* example = text_in(object, "example");
  const std::string* kernel = text_in(object, "kernel");
  const json::Value* times = object.find("nanoseconds");
  const bool complete = command != nullptr && signature != nullptr && example != nullptr &&
                        kernel != nullptr && times != nullptr &&
                        times->kind == json::Value::Kind::object;
  if (!complete) return std::nullopt;
  auto words = parse_words(*signature);
  if (!words) return std::nullopt;
  FileEntry entry = {*command, std::move(*words), *example, std::string(current_name(*kernel)), {}};
  for (std::size_t k = 0; k < times->names.size(); ++k) {
    const json::Value& time = times->elements[k];
    if (time.kind != json::Value::Kind::number || !(time.number >= 0)) return std::nullopt;
    entry.timings.push_back({std::string(current_name(times->names[k])), time.number});
  }
  return entry;
}

std::optional<Command> find_command(const std::string& text) {
  try {
    return parse_command(text);
  } catch (const StatusError& e) {
    if (e.status() == MOTE_OUT_OF_MEMORY) throw;
    return std::nullopt;
  }
}

/// Returns the entry as this process can use it; nothing if its op or its kernel is unknown.
std::optional<TuningEntry> resolve(FileEntry entry, const Context& context) {
  std::optional<Command> command = find_command(entry.command);
  if (!command) return std::nullopt;
  const CallKind kind = *call_kind(entry.signature);
  const std::vector<NamedKernel> kernels =
      kernels_of(*command, kind.instance, kind.input_mask, context.backends());
  const auto fastest = std::ranges::find(kernels, entry.kernel, &NamedKernel::name);
  if (fastest == kernels.end()) return std::nullopt;
  return TuningEntry{.command = std::move(*command),
                     .signature = std::move(entry.signature),
                     .example = std::move(entry.example),
                     .kernel = std::move(entry.kernel),
                     .fastest = fastest->kernel,
                     .timings = std::move(entry.timings)};
}

bool has_libraries(const json::Value& file, const Context& context) {
  const json::Value* found = file.find("libraries");
  if (found == nullptr || found->kind != json::Value::Kind::object) return false;
  const std::map<std::string, std::string> expected = libraries_of(context);
  return found->names.size() == expected.size() &&
         std::ranges::all_of(expected, [&](const auto& library) {
           const json::Value* version = found->find(library.first);
           return version != nullptr && version->is(library.second);
         });
}

/// Returns the reason why the file is not for this process, if there is one.
std::optional<Reason> foreign(const json::Value& file, const Context& context) {
  const json::Value* format = file.find("format");
  const json::Value* version = file.find("version");
  const json::Value* machine = file.find("machine");
  if (format == nullptr || !format->is(kFormat)) return Reason{"it is no tuning file"};
  if (version == nullptr || version->kind != json::Value::Kind::number ||
      version->number != kTuningVersion)
    return Reason{"it is not of version " + std::to_string(kTuningVersion)};
  if (machine == nullptr || !machine->is(machine_text()))
    return Reason{"it was measured on another machine"};
  if (!has_libraries(file, context)) return Reason{"it was measured with other libraries"};
  return std::nullopt;
}

/// Returns the name of a file that no other thread or process writes: others may save too.
std::string fresh_name(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  return path + ".new-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

/// A temporary file that is removed unless it is renamed.
class NewFile {
 public:
  NewFile(const std::string& path, std::string_view text) : path_(path), fresh_(fresh_name(path)) {
    write_file(fresh_, std::as_bytes(std::span(text)));
  }
  ~NewFile() {
    if (!is_named_) std::remove(fresh_.c_str());
  }
  void take_its_name() {
    if (std::rename(fresh_.c_str(), path_.c_str()) != 0)
      throw StatusError(MOTE_FAILED, "cannot write " + path_ + ": " + std::strerror(errno));
    is_named_ = true;
  }

 private:
  std::string path_;
  std::string fresh_;
  bool is_named_ = false;
};

}  // namespace

void warn_on_stderr(const std::string& line) {
  std::fprintf(stderr, "mote: warning: %s\n", line.c_str());
}

std::string tuning_text(Context& context) {
  std::vector<const TuningEntry*> sorted = context.tuning().entries();
  std::ranges::sort(sorted, {}, [](const TuningEntry* e) {
    return std::pair(to_string(e->command), e->signature);
  });
  std::string entries;
  for (const TuningEntry* entry : sorted)
    entries += (entries.empty() ? "[\n    " : ",\n    ") + entry_text(*entry);
  std::vector<std::pair<std::string, std::string>> libraries;
  for (const auto& [name, version] : libraries_of(context))
    libraries.emplace_back(name, json::quoted(version));
  return object_text({{"format", json::quoted(kFormat)},
                      {"version", std::to_string(kTuningVersion)},
                      {"machine", json::quoted(machine_text())},
                      {"libraries", object_text(libraries, "  ")},
                      {"entries", entries.empty() ? "[]" : entries + "\n  ]"}},
                     "") +
         "\n";
}

std::optional<Reason> read_tuning(Context& context, std::string_view text) {
  const std::optional<json::Value> file = json::parse(text);
  if (!file) return Reason{"it is no JSON"};
  if (std::optional<Reason> reason = foreign(*file, context)) return reason;
  const json::Value* entries = file->find("entries");
  if (entries == nullptr || entries->kind != json::Value::Kind::list)
    return Reason{"it holds no entries"};
  std::vector<FileEntry> parsed;
  for (const json::Value& object : entries->elements) {
    std::optional<FileEntry> entry = parse_entry(object);
    if (!entry) return Reason{"entry " + std::to_string(parsed.size()) + " is damaged"};
    parsed.push_back(std::move(*entry));
  }
  for (FileEntry& entry : parsed)
    if (std::optional<TuningEntry> usable = resolve(std::move(entry), context))
      context.tuning().put(std::move(*usable));
  return std::nullopt;
}

std::optional<Reason> load_tuning(Context& context, const std::string& path, Warn warn) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::nullopt;
  std::optional<Reason> reason;
  try {
    const std::vector<std::byte> bytes = read_file(path);
    reason = read_tuning(context, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const StatusError& e) {
    if (e.status() == MOTE_OUT_OF_MEMORY) throw;
    reason = Reason{e.what()};
  }
  if (reason && warn != nullptr) warn("tuning file " + path + " is ignored: " + reason->text);
  return reason;
}

void save_tuning(Context& context, const std::string& path) {
  NewFile(path, tuning_text(context)).take_its_name();
}

}  // namespace mote
