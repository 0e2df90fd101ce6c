// SPDX-License-Identifier: Apache-2.0
// The entry point of the program mote, for tools that first add ops of their own to the catalogue.
#pragma once

namespace mote {

/// Runs `mote` with this command line; returns the exit code.
int tool_main(int argc, char** argv);

}  // namespace mote
