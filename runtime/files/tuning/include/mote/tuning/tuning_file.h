// SPDX-License-Identifier: Apache-2.0
// The table of fastest kernels (mote/runtime/tune.h) in a file, so that the next process need not
// measure. The file is JSON with a version, for one machine and one set of libraries: times of
// others mean nothing here, so such a file is ignored, as a damaged one is, and the next save
// replaces it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/runtime/context.h"

namespace MOTE_API mote {

inline constexpr int kTuningVersion = 2;

/// The receiver of a warning: one line without a line end.
using Warn = void (*)(const std::string& line);
/// Writes "mote: warning: LINE" to standard error.
void warn_on_stderr(const std::string& line);

/// Puts the file's entries into the context's table. If the file is ignored, warns and returns the
/// reason; returns nothing if it was read or does not exist. Entries of unknown ops and kernels are
/// left out.
std::optional<Reason> load_tuning(Context& context, const std::string& path,
                                  Warn warn = warn_on_stderr);
/// Writes the whole table, whatever was in the file. A concurrent reader finds the old file or the
/// new one. Throws StatusError MOTE_FAILED if it cannot be written.
void save_tuning(Context& context, const std::string& path);

/// These functions use text instead of a file; `read_tuning` does not warn.
std::string tuning_text(Context& context);
std::optional<Reason> read_tuning(Context& context, std::string_view text);

}  // namespace mote
