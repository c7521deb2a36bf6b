#include "storage/durable_directory.h"

#include <utility>
#include <vector>

namespace kerolox::storage {

Result<void> create_durable_directories(const std::filesystem::path& directory,
                                        FileSystem& file_system) {
  std::vector<std::filesystem::path> parents;
  for (std::filesystem::path missing = directory; !missing.empty();) {
    const auto status = file_system.status(missing);
    if (status) {
      break;
    }
    if (status.error().code() != ErrorCode::kNotFound) {
      return status.error();
    }
    std::filesystem::path parent = missing.parent_path();
    parents.push_back(parent.empty() ? "." : parent);
    missing = std::move(parent);
  }
  if (parents.empty()) {
    return {};
  }
  KEROLOX_RETURN_IF_ERROR(file_system.create_directories(directory));
  for (const std::filesystem::path& parent : parents) {
    KEROLOX_RETURN_IF_ERROR(file_system.sync_directory(parent));
  }
  return {};
}

}  // namespace kerolox::storage
