// SPDX-License-Identifier: Apache-2.0
// Results and failures as JSON, so that they read back to the same.
#pragma once

#include <nlohmann/json.hpp>

#include "campaign/tally.h"

namespace mote {

nlohmann::json result_to_json(const CaseResult& result);
CaseResult result_from_json(const nlohmann::json& json);
nlohmann::json found_to_json(const FoundFailure& found);
/// Throws Error where its case is none.
FoundFailure found_from_json(const nlohmann::json& json);
nlohmann::json failure_to_json(const Failure& failure);
/// Once seen. Throws Error where its cases are none.
Failure failure_from_json(const nlohmann::json& json);

}  // namespace mote
