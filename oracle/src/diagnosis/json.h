// SPDX-License-Identifier: Apache-2.0
// A diagnosis as JSON, in reports and in journals.
#pragma once

#include <nlohmann/json.hpp>

#include "mote/oracle/diagnosis.h"

namespace mote {

inline nlohmann::ordered_json diagnosis_json(const Diagnosis& d) {
  return {{"kind", d.kind},
          {"text", d.text},
          {"condition", d.condition},
          {"condition_is_necessary", d.condition_is_necessary},
          {"condition_is_exact", d.condition_is_exact},
          {"with", {{"runs", d.with.runs}, {"failed", d.with.failed}}},
          {"without", {{"runs", d.without.runs}, {"failed", d.without.failed}}},
          {"runs", d.runs},
          {"failed", d.failed},
          {"random_runs", d.random_runs},
          {"random_failed", d.random_failed}};
}

}  // namespace mote
