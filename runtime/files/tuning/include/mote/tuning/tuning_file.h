// SPDX-License-Identifier: Apache-2.0
// The table of fastest kernels (mote/runtime/tune.h) in a file, so that the next process need not
// measure. The file is JSON of a version, for one machine and one set of libraries: times of others
// say nothing here, so such a file is ignored, as a damaged one is, and the next save replaces it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/runtime/context.h"

namespace MOTE_API mote {

inline constexpr int kTuningVersion = 2;

/// Where a warning goes; one line without an end.
using Warn = void (*)(const std::string& line);
/// "mote: warning: LINE" on standard error.
void warn_on_stderr(const std::string& line);

/// Puts the file's entries into the context's table. Returns why the file was ignored, after it
/// warned; nothing where it was read, or where there is none. Entries of ops and kernels that are
/// not there now are left out.
std::optional<Reason> load_tuning(Context& context, const std::string& path,
                                  Warn warn = warn_on_stderr);
/// Writes the whole table, whatever was in the file. Who reads meanwhile finds the old file or the
/// new one. StatusError MOTE_FAILED where it cannot be written.
void save_tuning(Context& context, const std::string& path);

/// The same with text; `read_tuning` does not warn.
std::string tuning_text(Context& context);
std::optional<Reason> read_tuning(Context& context, std::string_view text);

}  // namespace mote
