// SPDX-License-Identifier: Apache-2.0
// Where and when this runs, for the heads of reports.
#pragma once

#include <string>

namespace mote::tool {

/// The processor's name; empty where the system does not say.
std::string cpu_model();
/// The processor's features, apart by blanks.
std::string cpu_flags();
/// "name, Linux 6.1.0 x86_64, 8 x Intel Xeon"
std::string host_text();
std::string host_name();
/// This process's command line, quoted so that a shell reads it as it was.
std::string command_text();
/// "2026-11-25T10:18:26+0100": now, where this is.
std::string date_text();
/// "2026-11-25": the day of $SOURCE_DATE_EPOCH, where builds are to be the same, or else today.
std::string build_date_text();

}  // namespace mote::tool
