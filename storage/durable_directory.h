// Folders whose names survive a power cut.
#pragma once

#include <filesystem>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"

namespace kerolox::storage {

// Makes `directory` and its missing parents. Each new name is on disk when it returns.
Result<void> create_durable_directories(const std::filesystem::path& directory,
                                        FileSystem& file_system);

}  // namespace kerolox::storage
