// SPDX-License-Identifier: Apache-2.0
// Stores numbers as texts, since JSON has neither NaN nor 64-bit integers that every reader keeps.
#include "campaign/journal_text.h"

#include <fmt/format.h>

#include <cstdlib>

#include "diagnosis/json.h"
#include "mote/base/error.h"
#include "mote/oracle/resolve.h"
#include "mote/oracle/text.h"
#include "run/peers.h"

namespace mote {
namespace {

using Json = nlohmann::json;

std::string to_text(const Number& n) { return (n.is_real() ? "r" : "i") + number_text(n); }

Number number(const Json& json) {
  const auto text = json.get<std::string>();
  const char* digits = text.c_str() + 1;
  return text.starts_with('r') ? Number(std::strtod(digits, nullptr))
                               : Number(std::int64_t{std::strtoll(digits, nullptr, 10)});
}

Share share(const Json& json) { return {json.at("runs"), json.at("failed")}; }

Diagnosis read_diagnosis(const Json& json) {
  return {.kind = json.at("kind"),
          .text = json.at("text"),
          .condition = json.at("condition"),
          .condition_is_necessary = json.at("condition_is_necessary"),
          .condition_is_exact = json.at("condition_is_exact"),
          .with = share(json.at("with")),
          .without = share(json.at("without")),
          .runs = json.at("runs"),
          .failed = json.at("failed"),
          .random_runs = json.at("random_runs"),
          .random_failed = json.at("random_failed")};
}

Verdict verdict_of(const std::string& text) {
  for (std::size_t v = 0; v < kVerdicts; ++v)
    if (name(static_cast<Verdict>(v)) == text) return static_cast<Verdict>(v);
  throw Error("unknown verdict '" + text + "'");
}

Json to_json(const Outcome& o) {
  Json json = {{"verdict", name(o.verdict)},       {"reason", o.reason},
               {"elements", o.elements},           {"differing", o.differing},
               {"indeterminate", o.indeterminate}, {"error", to_text(Number(o.error))}};
  if (o.declined_by_run) json["declined_by_run"] = true;
  for (const Difference& d : o.differences) {
    Json one = {{"tensor", d.tensor},
                {"index", d.index},
                {"expected", to_text(d.expected)},
                {"got", to_text(d.got)}};
    if (d.allowed) one["allowed"] = {to_text(d.allowed->first), to_text(d.allowed->second)};
    json["differences"].push_back(std::move(one));
  }
  return json;
}

Outcome outcome(const Json& json) {
  Outcome o;
  o.verdict = verdict_of(json.at("verdict"));
  o.reason = json.at("reason");
  o.elements = json.at("elements");
  o.differing = json.at("differing");
  o.indeterminate = json.at("indeterminate");
  o.error = number(json.at("error")).real();
  o.declined_by_run = json.value("declined_by_run", false);
  for (const Json& d : json.value("differences", Json::array())) {
    Difference difference{d.at("tensor"), d.at("index"), number(d.at("expected")),
                          number(d.at("got")), std::nullopt};
    if (d.contains("allowed"))
      difference.allowed.emplace(number(d["allowed"].at(0)), number(d["allowed"].at(1)));
    o.differences.push_back(std::move(difference));
  }
  return o;
}

}  // namespace

Json result_to_json(const CaseResult& r) {
  Outcome counted = r.outcome;
  counted.differences.clear();
  return {{"op", r.op},
          {"dtype", name(r.dtype)},
          {"backend", r.backend},
          {"fill", name(r.fill)},
          {"work", to_text(Number(r.work))},
          {"layouts", r.features.layouts},
          {"values", r.features.values},
          {"outcome", to_json(counted)}};
}

CaseResult result_from_json(const Json& json) {
  return {json.at("op"),
          require_dtype(json.at("dtype").get<std::string>()),
          json.at("backend"),
          parse_fill(json.at("fill").get<std::string>()).kind,
          outcome(json.at("outcome")),
          number(json.at("work")).real(),
          {json.value("layouts", std::vector<std::string>()),
           json.value("values", std::vector<std::string>())}};
}

Json found_to_json(const FoundFailure& f) {
  return {{"first", to_string(f.first)},
          {"outcome", to_json(f.outcome)},
          {"found_after_s", f.found_after_s}};
}

FoundFailure found_from_json(const Json& json) {
  return {parse_case(json.at("first").get<std::string>()), outcome(json.at("outcome")),
          json.at("found_after_s")};
}

Json failure_to_json(const Failure& f) {
  return {{"first", to_string(f.first)},
          {"smallest", to_string(f.smallest)},
          {"first_outcome", to_json(f.first_outcome)},
          {"outcome", to_json(f.outcome)},
          {"diagnosis", Json(diagnosis_json(f.diagnosis))},
          {"other_backends", Json(peers_json(f.peers))},
          {"sparsest", f.sparsest},
          {"sparsest_text", f.sparsest_text},
          {"not_smaller", f.not_smaller},
          {"only_after", f.only_after},
          {"tries", f.tries},
          {"found_after_s", f.found_after_s}};
}

Failure failure_from_json(const Json& json) {
  Failure f;
  f.first = parse_case(json.at("first").get<std::string>());
  f.smallest = parse_case(json.at("smallest").get<std::string>());
  f.first_outcome = outcome(json.at("first_outcome"));
  f.outcome = outcome(json.at("outcome"));
  f.diagnosis = read_diagnosis(json.at("diagnosis"));
  for (const Json& p : json.value("other_backends", Json::array()))
    f.peers.push_back({p.at("backend"), verdict_of(p.at("verdict")), p.at("reason")});
  f.sparsest = json.value("sparsest", "");
  f.sparsest_text = json.value("sparsest_text", "");
  f.not_smaller = json.at("not_smaller");
  f.only_after = json.value("only_after", "");
  f.tries = json.at("tries");
  f.found_after_s = json.at("found_after_s");
  return f;
}

}  // namespace mote
