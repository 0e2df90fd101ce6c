// SPDX-License-Identifier: Apache-2.0
// Converts results and failures to JSON and back, without loss.
#pragma once

#include <nlohmann/json.hpp>

#include "campaign/tally.h"

namespace mote {

nlohmann::json result_to_json(const CaseResult& result);
CaseResult result_from_json(const nlohmann::json& json);
nlohmann::json found_to_json(const FoundFailure& found);
/// Throws Error if its case is invalid.
FoundFailure found_from_json(const nlohmann::json& json);
nlohmann::json failure_to_json(const Failure& failure);
/// The failure, with one occurrence. Throws Error if its cases are invalid.
Failure failure_from_json(const nlohmann::json& json);

}  // namespace mote
