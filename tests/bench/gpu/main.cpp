// SPDX-License-Identifier: Apache-2.0
// mote_gpu_bench [--tiny] [--list] [--budget SECONDS] --plugin LIB.so... [OP...]: measures how fast
// the backend cuda is on the GPU, next to NVIDIA's kernels (backends cublas and cudnn) where they
// take the case, and next to a copy on the GPU that moves the same number of bytes. Some products
// are also measured by cuda_tf32, next to cublas_tf32 and cudnn_tf32. It writes lines of JSON to
// standard output as they come, and a line of text for each to standard error. OPs select the cases
// of these ops.
//
// --tiny uses small sizes and few rounds, for a program that plays the GPU; its times then mean
// nothing. --list loads the plug-ins and prints the cases. After --budget no case is begun. The
// exit code is 1 if a kernel fails or is declined; a missed goal is no failure.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases.h"
#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "on_gpu.h"
#include "stopwatch.h"

namespace mote::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSubjects[] = {"cuda", "cuda_tf32"};

bool is_of_tf32(std::string_view backend) { return backend.ends_with("_tf32"); }

struct Options {
  bool tiny = false;
  bool list = false;
  double budget_s = 1e9;
  std::vector<std::string> plugins;
  std::vector<std::string> ops;
};

Options read_options(int count, char** words) {
  Options o;
  const std::vector<std::string> all(words + 1, words + count);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto value = [&] {
      if (k + 1 == all.size()) throw Error(all[k] + ": expected a value after it");
      return all[++k];
    };
    if (all[k] == "--tiny")
      o.tiny = true;
    else if (all[k] == "--list")
      o.list = true;
    else if (all[k] == "--budget")
      o.budget_s = std::atof(value().c_str());
    else if (all[k] == "--plugin")
      o.plugins.push_back(value());
    else if (all[k].starts_with("-"))
      throw Error("unknown option " + all[k]);
    else
      o.ops.push_back(all[k]);
  }
  return o;
}

struct Backends {
  std::vector<Plugin> plugins;
  const mote_backend *subject = nullptr, *subject_tf32 = nullptr;
  std::vector<const mote_backend*> vendors;
};

Backends load(const std::vector<std::string>& paths) {
  Backends found;
  for (const std::string& path : paths) found.plugins.push_back(load_plugin(path));
  for (const Plugin& plugin : found.plugins)
    for (const mote_backend* b : plugin.backends) {
      if (b->name == kSubjects[0]) found.subject = b;
      if (b->name == kSubjects[1]) found.subject_tf32 = b;
      if (limits_of(b->name) != nullptr) found.vendors.push_back(b);
    }
  if (found.subject == nullptr || found.subject_tf32 == nullptr)
    throw Error("no plug-in has the backends cuda and cuda_tf32");
  return found;
}

void print(const Json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

/// Returns the greatest difference as a share of the greatest value; NaN if the two differ where
/// one is not finite.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  double greatest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double apart = a[k] == b[k] ? 0 : std::abs(a[k] - b[k]);
    if (!std::isfinite(apart)) return NAN;
    most = std::max(most, apart);
    greatest = std::max(greatest, std::abs(b[k]));
  }
  return greatest > 0 ? most / greatest : most;
}

class Benchmark {
 public:
  Benchmark(const Options& options, const Backends& backends)
      : tiny_(options.tiny),
        backends_(backends),
        device_(*cuda::Device::open()),
        entered_(device_.enter()) {
    constexpr unsigned kNonBlocking = 1;
    driver().check(driver().calls().create_stream(&stream_, kNonBlocking), "cuStreamCreate");
    constexpr std::size_t kRoom = std::size_t{256} << 20U;
    stopwatch_.emplace(driver(), stream_, tiny_ ? std::size_t{4096} : kRoom);
  }
  ~Benchmark() {
    stopwatch_.reset();
    driver().calls().destroy_stream(stream_);
  }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  int architecture() const { return device_.architecture(); }

  /// Brings the clocks of the GPU up to speed.
  void warm_up() const {
    constexpr auto kBytes = double{1U << 29U};
    if (!tiny_) stopwatch_->time({[this] { stopwatch_->copy(kBytes); }}, 20, 0.02);
  }

  /// Returns a line of measurements, or {"refused": why}.
  Json measure(const TimedCase& timed) const {
    Case c = parse_case(timed.text);
    c.fill = {FillKind::uniform, 1};
    CaseOnGpu on_gpu(tiny_ ? made_small(c) : c, driver(), stream_);
    const mote_backend& subject = timed.tf32 ? *backends_.subject_tf32 : *backends_.subject;
    Json line = {
        {"type", "case"}, {"case", to_string(on_gpu.subject_case())}, {"backend", subject.name}};
    const KernelChoice own = on_gpu.choose(subject);
    if (own.kernel == nullptr) {
      line["refused"] = own.reason;
      return line;
    }
    const Vendor vendor = choose_vendor(on_gpu, timed.tf32);
    std::vector<Queued> all = {[&] { stopwatch_->copy(on_gpu.bytes()); },
                               [&] { on_gpu.run(*own.kernel); }};
    if (vendor.kernel != nullptr) all.emplace_back([&] { on_gpu.run(*vendor.kernel); });
    line.update(compared(on_gpu, own.kernel, vendor));
    constexpr double kLeastSeconds = 0.003;
    const std::vector<Times> times =
        stopwatch_->time(all, tiny_ ? 3 : 11, tiny_ ? 1e-9 : kLeastSeconds);
    describe(line, timed, on_gpu, times);
    return line;
  }

 private:
  struct Vendor {
    std::string backend;
    const mote_kernel* kernel = nullptr;
    std::string reason;
  };

  const cuda::Driver& driver() const { return device_.driver(); }

  Vendor choose_vendor(CaseOnGpu& on_gpu, bool tf32) const {
    Vendor found;
    for (const mote_backend* b : backends_.vendors) {
      if (is_of_tf32(b->name) != tf32) continue;
      const KernelChoice choice = on_gpu.choose(*b);
      if (choice.kernel != nullptr) return {b->name, choice.kernel, ""};
      found.reason +=
          fmt::format("{}{}: {}", found.reason.empty() ? "" : "; ", b->name, choice.reason);
    }
    return found;
  }

  /// Runs both kernels once and reports the difference of their results.
  static Json compared(CaseOnGpu& on_gpu, const mote_kernel* own, const Vendor& vendor) {
    on_gpu.run(*own);
    const std::vector<double> ours = on_gpu.sampled_outputs();
    if (vendor.kernel == nullptr) return {{"vendor", nullptr}, {"vendor_reason", vendor.reason}};
    on_gpu.run(*vendor.kernel);
    return {{"vendor", vendor.backend},
            {"vendor_limits", limits_of(vendor.backend)},
            {"difference", difference(ours, on_gpu.sampled_outputs())}};
  }

  void describe(Json& line, const TimedCase& timed, const CaseOnGpu& on_gpu,
                const std::vector<Times>& times) const {
    const Case& c = on_gpu.subject_case();
    const double bytes = on_gpu.bytes();
    const double copied_per_s = stopwatch_->copied(bytes) / times[0].median;
    const double own = times[1].median;
    line["bytes"] = bytes;
    line["seconds"] = own;
    line["spread"] = times[1].spread;
    line["bytes_per_s"] = bytes / own;
    line["copied_bytes_per_s"] = copied_per_s;
    line["copy_spread"] = times[0].spread;
    line["multiply_adds_per_s"] = multiply_adds(*c.program, c.binding) / own;
    line["of_copy"] = bytes / own / copied_per_s;
    if (times.size() > 2) {
      line["vendor_seconds"] = times[2].median;
      line["vendor_spread"] = times[2].spread;
      line["of_vendor"] = times[2].median / own;
    }
    const char* yardstick = timed.yardstick == Yardstick::copy ? "of_copy" : "of_vendor";
    line["yardstick"] = yardstick;
    const bool has_goal = timed.goal > 0 && !tiny_;
    line["goal"] = has_goal ? Json(timed.goal) : Json(nullptr);
    if (has_goal && line.contains(yardstick))
      line["reached"] = line[yardstick].get<double>() >= timed.goal;
  }

  bool tiny_;
  const Backends& backends_;
  cuda::Device& device_;
  cuda::Held entered_;
  cuda::DriverStream* stream_ = nullptr;
  std::optional<Stopwatch> stopwatch_;
};

/// Returns "0.912 of a copy (goal 0.85), 1.020 of cudnn  softmax x=f32[…]", or for a product "21.3
/// T multiply-adds/s, 0.711 of cublas (goal 0.60)  matmul a=f32[…] b=f32[…]".
std::string text_of(const Json& line) {
  const std::string of = line["case"];
  if (line.contains("refused")) return fmt::format("declined: {}  {}", line["refused"].dump(), of);
  if (line.contains("failed")) return fmt::format("failed: {}  {}", line["failed"].dump(), of);
  const auto goal = [&](const char* yardstick) {
    const bool has = line["yardstick"] == yardstick && !line["goal"].is_null();
    return has ? fmt::format(" (goal {:.2f})", line["goal"].get<double>()) : "";
  };
  std::string text =
      line["yardstick"] == "of_copy"
          ? fmt::format("{:.3f} of a copy{}", line["of_copy"].get<double>(), goal("of_copy"))
          : fmt::format("{:.1f} T multiply-adds/s",
                        1e-12 * line["multiply_adds_per_s"].get<double>());
  if (line.contains("of_vendor"))
    text += fmt::format(", {:.3f} of {}{}", line["of_vendor"].get<double>(),
                        line["vendor"].get<std::string>(), goal("of_vendor"));
  return text + "  " + of;
}

bool is_asked_for(const Options& o, const TimedCase& timed) {
  if (o.ops.empty()) return true;
  const std::string_view text = timed.text;
  return std::ranges::find(o.ops, text.substr(0, text.find(' '))) != o.ops.end();
}

struct Tally {
  int cases = 0, failed = 0, cut = 0, goals = 0, reached = 0;
  void add(const Json& line) {
    ++cases;
    failed += line.contains("refused") || line.contains("failed") ? 1 : 0;
    goals += line.contains("reached") ? 1 : 0;
    reached += line.value("reached", false) ? 1 : 0;
  }
};

int run(const Options& o, const Backends& backends) {
  const auto start = std::chrono::steady_clock::now();
  Benchmark benchmark(o, backends);
  benchmark.warm_up();
  print({{"type", "start"}, {"tiny", o.tiny}, {"architecture", benchmark.architecture()}});
  for (const mote_backend* b : backends.vendors)
    if (!is_of_tf32(b->name)) fmt::print(stderr, "{}: {}\n", b->name, limits_of(b->name));
  Tally tally;
  for (const TimedCase& timed : timed_cases()) {
    if (!is_asked_for(o, timed)) continue;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() > o.budget_s) {
      ++tally.cut;
      print({{"type", "cut"}, {"case", timed.text}});
      continue;
    }
    Json line;
    try {
      line = benchmark.measure(timed);
    } catch (const Error& e) {
      line = {{"type", "case"}, {"case", timed.text}, {"failed", e.what()}};
    }
    tally.add(line);
    print(line);
    fmt::print(stderr, "{}\n", text_of(line));
  }
  const int code = tally.failed > 0 ? 1 : 0;
  print({{"type", "result"},
         {"exit", code},
         {"cases", tally.cases},
         {"failed", tally.failed},
         {"cut", tally.cut},
         {"goals", tally.goals},
         {"reached", tally.reached}});
  return code;
}

}  // namespace
}  // namespace mote::bench

int main(int count, char** words) {
  using namespace mote::bench;
  try {
    const Options options = read_options(count, words);
    const Backends backends = load(options.plugins);
    if (!options.list) return run(options, backends);
    for (const TimedCase& timed : timed_cases()) fmt::print("{}\n", timed.text);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote_gpu_bench: {}\n", e.what());
    return 1;
  }
}
