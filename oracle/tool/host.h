// SPDX-License-Identifier: Apache-2.0
// Describes the machine and the time of a run, for the heads of reports.
#pragma once

#include <string>

namespace mote::tool {

/// The processor's name; empty if the system does not say.
std::string cpu_model();
/// The processor's features, separated by blanks.
std::string cpu_flags();
/// A text such as "name, Linux 6.1.0 x86_64, 8 x Intel Xeon".
std::string host_text();
std::string host_name();
/// This process's command line, quoted for a shell.
std::string command_text();
/// The current local time: "2026-11-25T10:18:26+0100".
std::string date_text();
/// The day of $SOURCE_DATE_EPOCH, which makes builds reproducible, or today: "2026-11-25".
std::string build_date_text();

}  // namespace mote::tool
