// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mote::tool {

/// Returns the page docs/gradient-orders.md.
std::string gradient_orders_markdown();

}  // namespace mote::tool
