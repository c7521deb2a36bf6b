#include "storage/durable_directory.h"

namespace kerolox::storage {

Result<void> create_durable_directories(const std::filesystem::path& directory,
                                        FileSystem& file_system) {
  KEROLOX_RETURN_IF_ERROR(file_system.create_directories(directory));
  // All the way up: what is there may have been made by a process that died before it could sync.
  for (std::filesystem::path at = directory; at.has_relative_path(); at = at.parent_path()) {
    const std::filesystem::path parent = at.has_parent_path() ? at.parent_path() : ".";
    Result<void> synced = file_system.sync_directory(parent);
    // In a folder that we may not read we have made nothing.
    if (!synced && synced.error().code() != ErrorCode::kPermission) {
      return synced;
    }
  }
  return {};
}

}  // namespace kerolox::storage
