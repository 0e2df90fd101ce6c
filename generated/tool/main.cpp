// SPDX-License-Identifier: Apache-2.0
#include "mote/generator/generator.h"

int main(int argc, char** argv) { return mote::generator_main(argc, argv); }
