#include "mote/tuning/tuning_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernel_choice.h"
#include "mote/generated/kernels.h"
#include "mote/runtime/file.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "signature.h"

namespace mote {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kFormat = "mote tuning";

/// The processor's model, as far as the system tells, and how many there are.
std::string machine_text() {
  std::string model = "unknown processor";
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    model = line.substr(colon + 2);
    break;
  }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

/// Versions by the backend's name; that of gen says which instructions it uses.
Json libraries_of(const Context& context) {
  Json libraries = Json::object();
  libraries[gen_backend().name] = gen_backend().version;
  for (const mote_backend* backend : context.backends())
    libraries[backend->name] = backend->version != nullptr ? backend->version : "";
  return libraries;
}

std::string hex_words(std::span<const std::uint64_t> words) {
  std::string text;
  std::array<char, 16> digits{};
  for (const std::uint64_t word : words) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
    text += (text.empty() ? "" : " ") + std::string(digits.data(), end);
  }
  return text;
}

/// Nothing for text that hex_words did not write.
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
  if (!call_kind(words.front())) return std::nullopt;
  return words;
}

OrderedJson to_json(const TuningEntry& entry) {
  OrderedJson times = OrderedJson::object();
  for (const Timing& t : entry.timings) times[t.kernel] = t.nanoseconds;
  return {{"command", to_string(entry.command)},
          {"signature", hex_words(entry.signature)},
          {"example", entry.example},
          {"kernel", entry.kernel},
          {"nanoseconds", times}};
}

/// An entry as it stands in the file.
struct FileEntry {
  std::string command;
  std::vector<std::uint64_t> signature;
  std::string example;
  std::string kernel;
  std::vector<Timing> timings;
};

const std::string* text_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() ? at->get_ptr<const std::string*>() : nullptr;
}

std::optional<FileEntry> parse_entry(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  const std::string* command = text_in(object, "command");
  const std::string* signature = text_in(object, "signature");
  const std::string* example = text_in(object, "example");
  const std::string* kernel = text_in(object, "kernel");
  const auto times = object.find("nanoseconds");
  const bool complete = command != nullptr && signature != nullptr && example != nullptr &&
                        kernel != nullptr && times != object.end() && times->is_object();
  if (!complete) return std::nullopt;
  auto words = parse_words(*signature);
  if (!words) return std::nullopt;
  FileEntry entry = {*command, std::move(*words), *example, *kernel, {}};
  for (const auto& [name, time] : times->items()) {
    if (!time.is_number() || !(time.get<double>() >= 0)) return std::nullopt;
    entry.timings.push_back({name, time.get<double>()});
  }
  return entry;
}

std::optional<Command> find_command(const std::string& text) {
  try {
    return parse_command(text);
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

/// The entry as this process can use it; nothing where its op or its kernel is not there.
std::optional<TuningEntry> resolve(FileEntry entry, const Context& context) {
  std::optional<Command> command = find_command(entry.command);
  if (!command) return std::nullopt;
  const CallKind kind = *call_kind(entry.signature.front());
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

/// Why the file is not for this process.
std::optional<Reason> foreign(const Json& file, const Context& context) {
  const auto is = [&](const char* name, const Json& value) {
    const auto at = file.find(name);
    return at != file.end() && *at == value;
  };
  if (!file.is_object() || !is("format", kFormat)) return Reason{"it is no tuning file"};
  if (!is("version", kTuningVersion))
    return Reason{"it is not of version " + std::to_string(kTuningVersion)};
  if (!is("machine", machine_text())) return Reason{"it was measured on another machine"};
  if (!is("libraries", libraries_of(context)))
    return Reason{"it was measured with other libraries"};
  return std::nullopt;
}

}  // namespace

void warn_on_stderr(const std::string& line) {
  std::fprintf(stderr, "mote: warning: %s\n", line.c_str());
}

std::string tuning_text(Context& context) {
  OrderedJson entries = OrderedJson::array();
  std::vector<const TuningEntry*> sorted = context.tuning().entries();
  std::ranges::sort(sorted, {}, [](const TuningEntry* e) {
    return std::pair(to_string(e->command), e->signature);
  });
  for (const TuningEntry* entry : sorted) entries.push_back(to_json(*entry));
  const OrderedJson file = {{"format", kFormat},
                            {"version", kTuningVersion},
                            {"machine", machine_text()},
                            {"libraries", OrderedJson(libraries_of(context))},
                            {"entries", entries}};
  return file.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::optional<Reason> read_tuning(Context& context, std::string_view text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return Reason{"it is no JSON"};
  if (std::optional<Reason> reason = foreign(file, context)) return reason;
  const auto entries = file.find("entries");
  if (entries == file.end() || !entries->is_array()) return Reason{"it holds no entries"};
  std::vector<FileEntry> parsed;
  for (const Json& object : *entries) {
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
    reason = Reason{e.what()};
  }
  if (reason && warn != nullptr) warn("tuning file " + path + " is ignored: " + reason->text);
  return reason;
}

void save_tuning(Context& context, const std::string& path) {
  const std::string text = tuning_text(context);
  const std::string fresh = path + ".new-" + std::to_string(getpid());
  write_file(fresh, std::as_bytes(std::span(text)));
  std::error_code failed;
  std::filesystem::rename(fresh, path, failed);
  if (!failed) return;
  std::error_code left_behind;
  std::filesystem::remove(fresh, left_behind);
  throw StatusError(MOTE_FAILED, "cannot write " + path + ": " + failed.message());
}

}  // namespace mote
