// SPDX-License-Identifier: Apache-2.0
// The program mote-gen, for generators that add ops of their own to the catalogue first.
#pragma once

namespace mote {

/// What mote-gen does with this command line; the exit code.
int generator_main(int argc, char** argv);

}  // namespace mote
