// SPDX-License-Identifier: Apache-2.0
// The definitions of the opaque handles of mote/mote.h.
#pragma once

#include <memory>
#include <string>

#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/stream.h"

struct mote_command {
  mote::Command command;
  std::string text;
};

struct mote_context {
  mote::Context context;
};

/// A prepared command, which it shares with the streams that it runs on.
struct mote_prepared {
  std::shared_ptr<mote::PreparedCommand> prepared;
};

struct mote_stream {
  mote::Stream stream;
};

struct mote_event {
  mote::Event event;
};
