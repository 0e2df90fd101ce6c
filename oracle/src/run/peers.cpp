// SPDX-License-Identifier: Apache-2.0
// Asks the other backends about a failing case, to tell whether one kernel is wrong or the case is.
#include "run/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mote/base/error.h"

namespace mote {
namespace {

/// The maximum warm-up of a peer in seconds: the user did not ask for it, so one that hangs must
/// not delay the report for as long as a subject may.
constexpr double kPeersWarmUp = 5;

Peer peer_of(Prepared& prepared, const BackendEntry& e) {
  const Target& target = *prepared.subject_case().target;
  if (!has_kernel(e, target)) return {e.name(), Verdict::declined, "no kernel for " + target.op()};
  const Outcome outcome = prepared.run(*e.backend, e.plugin);
  return {e.name(), outcome.verdict, outcome.reason};
}

std::string with_reason(const Peer& p) {
  return p.reason.empty() ? p.backend : fmt::format("{} ({})", p.backend, p.reason);
}

}  // namespace

std::vector<Peer> peers_on(const Case& c, const std::vector<BackendEntry>& backends,
                           const CaseRunOptions& options) {
  std::vector<Peer> peers;
  std::optional<Prepared> prepared;
  CaseRunOptions of_peers = options;
  of_peers.warm_up_s = std::min(of_peers.warm_up_s, kPeersWarmUp);
  try {
    prepared.emplace(c, of_peers);
  } catch (const Error&) {  // it does not fit into memory any more
    return peers;
  }
  for (const BackendEntry& e : backends)
    if (e.name() != c.backend) peers.push_back(peer_of(*prepared, e));
  return peers;
}

std::string peers_text(const std::vector<Peer>& peers) {
  std::vector<std::string> agree, fail, declined, unknown;
  for (const Peer& p : peers) {
    if (p.verdict == Verdict::passed || p.verdict == Verdict::vacuous)
      agree.push_back(p.backend);
    else if (is_failure(p.verdict))
      fail.push_back(fmt::format("{}: {}", p.backend, name(p.verdict)));
    else
      (p.verdict == Verdict::declined ? declined : unknown).push_back(with_reason(p));
  }
  std::vector<std::string> parts;
  const auto add = [&](std::string_view what, const std::vector<std::string>& who) {
    if (!who.empty()) parts.push_back(fmt::format("{} {}", what, fmt::join(who, ", ")));
  };
  add("agree with the reference:", agree);
  add("fail too:", fail);
  add("declined:", declined);
  add("not judged:", unknown);
  return parts.empty() ? "" : fmt::format("other backends {}", fmt::join(parts, "; "));
}

nlohmann::ordered_json peers_json(const std::vector<Peer>& peers) {
  auto all = nlohmann::ordered_json::array();
  for (const Peer& p : peers)
    all.push_back({{"backend", p.backend}, {"verdict", name(p.verdict)}, {"reason", p.reason}});
  return all;
}

}  // namespace mote
