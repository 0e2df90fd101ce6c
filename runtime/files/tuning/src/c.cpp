// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote.h for files of measured times.
#include "c/guard.h"
#include "c/objects.h"
#include "mote/tuning/tuning_file.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_save_tuning(mote_context* context, const char* path) {
  return guarded(__func__, [&] {
    Context& measured = given(context, "context").context;
    save_tuning(measured, &given(path, "path"));
  });
}

mote_status mote_load_tuning(mote_context* context, const char* path) {
  return guarded(__func__, [&] {
    Context& into = given(context, "context").context;
    const std::string file = &given(path, "path");
    const std::optional<Reason> ignored = load_tuning(into, file, nullptr);
    if (ignored) throw StatusError(MOTE_FAILED, "tuning file " + file + ": " + ignored->text);
  });
}
