// SPDX-License-Identifier: Apache-2.0
// The groups of cases that come with mote: `mote check --cases GROUP`.
#pragma once

#include <string>
#include <vector>

namespace mote::tool {

std::string case_folder();
/// The names of the groups in a folder.
std::vector<std::string> groups_in(const std::string& folder);
/// The file of a group, or the path itself. Throws Error that lists the known groups.
std::string case_file(const std::string& group);

}  // namespace mote::tool
