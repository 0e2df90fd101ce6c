// SPDX-License-Identifier: Apache-2.0
// Takes the step `block_tile`: blocks compute tiles of a sum of products.
#pragma once

#include "stage_form.h"

namespace mote::cuda {

Refusal take_tiles(StageForm& form, const Step& step, std::string& effect);
Schedules tiles_to_try(const StageSearch& search);

}  // namespace mote::cuda
