// SPDX-License-Identifier: Apache-2.0
// The external headers that the files of the tool include.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "library.h"
