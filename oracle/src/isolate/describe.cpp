// SPDX-License-Identifier: Apache-2.0
// Writes and reads JSON; reals are stored as their bits, so that an infinite one survives.
#include "describe.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "mote/base/error.h"
#include "mote/base/kernel_call.h"

namespace mote::isolate {
namespace {

using Json = nlohmann::json;

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
double real(const Json& bits) { return std::bit_cast<double>(bits.get<std::uint64_t>()); }

Json pairs_of(const mote_contract& c) {
  constexpr std::size_t kEnd =                                // up to and including that pointer
      offsetof(mote_contract, in_place) + sizeof c.in_place;  // NOLINT(bugprone-sizeof-expression)
  if (c.size < kEnd) return Json::array();
  if (c.in_place_count == MOTE_IN_PLACE_ALL) return "all";
  Json pairs = Json::array();
  for (std::int32_t k = 0; k < c.in_place_count; ++k)
    pairs.push_back({c.in_place[k].input, c.in_place[k].output});
  return pairs;
}

Json to_json(const mote_contract& c) {
  Json functions = Json::array();
  for (const mote_accuracy& f : accuracies_of(c))
    functions.push_back({f.function, bits(f.ulp), bits(f.arg), bits(f.abs)});
  return {{"accumulator", c.accumulator},
          {"multiply_rounding", c.multiply_rounding},
          {"flushes_denormals", c.flushes_denormals},
          {"deterministic", c.deterministic},
          {"form", c.form},
          {"functions", functions},
          {"in_place", pairs_of(c)},
          {"ignores_nan", ignores_nan(c)},
          {"indices", indices_of(c)}};
}

/// Owns the data that the structs point to.
struct Mirror {
  std::deque<std::string> texts;
  std::deque<std::vector<mote_accuracy>> functions;
  std::deque<std::vector<mote_op_pair>> pairs;
  std::deque<mote_contract> contracts;
  std::deque<std::vector<mote_kernel>> kernels;
  std::deque<mote_backend> backends;

  const char* text(const Json& from) { return texts.emplace_back(from.get<std::string>()).c_str(); }

  void set_pairs(mote_contract& c, const Json& from) {
    if (from == "all") {
      c.in_place_count = MOTE_IN_PLACE_ALL;
      return;
    }
    std::vector<mote_op_pair>& list = pairs.emplace_back();
    for (const Json& p : from) list.push_back({p.at(0), p.at(1)});
    c.in_place_count = static_cast<std::int32_t>(list.size());
    c.in_place = list.empty() ? nullptr : list.data();
  }

  const mote_contract* contract(const Json& from) {
    std::vector<mote_accuracy>& list = functions.emplace_back();
    for (const Json& f : from.at("functions"))
      list.push_back({text(f.at(0)), real(f.at(1)), real(f.at(2)), real(f.at(3))});
    mote_contract c{};
    c.size = sizeof c;
    c.accumulator = from.at("accumulator");
    c.multiply_rounding = from.at("multiply_rounding");
    c.flushes_denormals = from.at("flushes_denormals");
    c.deterministic = from.at("deterministic");
    c.form = text(from.at("form"));
    c.function_count = static_cast<std::int32_t>(list.size());
    c.functions = list.empty() ? nullptr : list.data();
    set_pairs(c, from.at("in_place"));
    c.ignores_nan = from.at("ignores_nan").get<bool>() ? 1 : 0;
    c.indices = from.at("indices");
    return &contracts.emplace_back(c);
  }

  const mote_backend* backend(const Json& from) {
    std::vector<mote_kernel>& list = kernels.emplace_back();
    for (const Json& k : from.at("kernels")) {
      mote_kernel kernel{};
      kernel.size = sizeof kernel;
      kernel.op = text(k.at("op"));
      kernel.contract = contract(k.at("contract"));
      kernel.can_run = decline;
      kernel.run = [](const mote_call* call, void*) { return decline(call); };
      list.push_back(kernel);
    }
    mote_backend b{};
    b.size = sizeof b;
    b.name = text(from.at("name"));
    b.version = text(from.at("version"));
    b.kernel_count = static_cast<std::int32_t>(list.size());
    b.kernels = list.data();
    return &backends.emplace_back(b);
  }

  static mote_status decline(const mote_call* call) {
    if (call->message != nullptr && call->message_bytes > 0) {
      std::strncpy(call->message, "its library is loaded in a worker only",
                   call->message_bytes - 1);
      call->message[call->message_bytes - 1] = '\0';
    }
    return MOTE_UNSUPPORTED;
  }
};

}  // namespace

std::string describe(const std::vector<const mote_backend*>& backends) {
  Json all = Json::array();
  for (const mote_backend* b : backends) {
    Json kernels = Json::array();
    for (std::int32_t k = 0; k < b->kernel_count; ++k) {
      const mote_kernel& kernel = kernel_at(*b, k);
      kernels.push_back({{"op", kernel.op}, {"contract", to_json(*kernel.contract)}});
    }
    all.push_back({{"name", b->name}, {"version", b->version}, {"kernels", kernels}});
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Plugin described(const std::string& path, const std::string& text) {
  const auto mirror = std::make_shared<Mirror>();
  Plugin plugin{.path = path, .backends = {}, .library = mirror};
  try {
    for (const Json& b : Json::parse(text)) plugin.backends.push_back(mirror->backend(b));
  } catch (const Json::exception& e) {
    throw Error("plug-in " + path + ": its description cannot be read: " + e.what());
  }
  return plugin;
}

}  // namespace mote::isolate
