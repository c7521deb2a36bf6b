// What a measurement depends on, so that no number stands without it.
#pragma once

#include <string>

#include "tools/json_lines.h"

namespace kerolox::tools {

// Members `kernel`, `machine`, `cpu_count`, `file_system` (of `directory`), `memory_bytes`,
// `version`.
void add_conditions(const std::string& directory, JsonLine& json);

// User and system time of this process so far.
double process_cpu_seconds();

}  // namespace kerolox::tools
