// SPDX-License-Identifier: Apache-2.0
#include "fault_outcome.h"

#include <fmt/format.h>

#include <csignal>

#include "judge/outcome.h"
#include "mote/oracle/text.h"

namespace mote::isolate {
namespace {

/// A text such as "reads byte 4 after the end of x".
std::string location_text(const Hit& hit, const char* access) {
  const std::string& name = hit.extent->name;
  if (hit.before > 0) {
    return fmt::format("{} {} before the beginning of {}", access, counted(hit.before, "byte"),
                       name);
  }
  if (hit.after > 0) {
    return fmt::format("{} byte {} after the end of {}", access, hit.after, name);
  }
  return fmt::format("{} {}", access, name);
}

/// The outcome of an access to a closed page of a tensor, of this call or an earlier one, outside
/// of the call.
Outcome untimely(const Hit& hit, const char* access, const char* when, bool wrote_or_returned) {
  return outcome_of(wrote_or_returned ? Verdict::late_access : Verdict::stale,
                    fmt::format("{} {}", location_text(hit, access), when));
}

Outcome outcome_of_access(const Answer& answer, const Site& current, const Site* earlier) {
  const Reply& r = answer.reply;
  const char* access = r.wrote ? "writes" : "reads";
  const auto here = current.nearest(r.address);
  const auto before = earlier != nullptr ? earlier->nearest(r.address) : std::nullopt;
  if (before && before->open && !(here && here->open))
    return untimely(*before, access, "of an earlier call, after that returned", r.wrote);
  if (!here) {
    return outcome_of(Verdict::crashed,
                      fmt::format("{}: {} address {}", answer.how, access, fmt::ptr(r.address)));
  }
  if (here->open && r.phase == Phase::returned)
    return untimely(*here, access, "after the call returned", true);
  if (here->open && r.phase == Phase::asked) {
    return outcome_of(Verdict::crashed,
                      fmt::format("{} when it is asked whether it can run, where there is no data",
                                  location_text(*here, access)));
  }
  const bool inside = here->distance() == 0 && here->open;
  return outcome_of(inside ? Verdict::changed_input : Verdict::out_of_bounds,
                    location_text(*here, access) + (inside ? ", its input" : ""));
}

}  // namespace

Outcome outcome_of_ending(const Answer& answer, const Site& current, const Site* earlier,
                          const CallTime& given) {
  switch (answer.ending) {
    case Ending::hung:
      if (!answer.how.empty()) return outcome_of(Verdict::hung, answer.how);
      return outcome_of(
          Verdict::hung,
          fmt::format("no result after {} s{}", given.limit_s,
                      given.warm_up_s > 0
                          ? fmt::format(", and {:.2g} s more to warm up", given.warm_up_s)
                          : ""));
    case Ending::memory:
      return outcome_of(Verdict::too_much_memory, answer.how);
    case Ending::gaps:  // this is no mistake, but cannot go on
      return outcome_of(Verdict::skipped, answer.how);
    default:
      break;
  }
  const Reply& r = answer.reply;
  const bool access = r.fault && r.code > 0 && (r.signal == SIGSEGV || r.signal == SIGBUS);
  return access ? outcome_of_access(answer, current, earlier)
                : outcome_of(Verdict::crashed, answer.how);
}

}  // namespace mote::isolate
