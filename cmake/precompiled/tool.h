// SPDX-License-Identifier: Apache-2.0
// What the files of the tool include from outside.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "library.h"
