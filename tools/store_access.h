// How commands open stores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kerolox/base/result.h"
#include "kerolox/storage/read_only_log.h"
#include "kerolox/storage/recovery_report.h"

namespace kerolox::tools {

// For the commands that change nothing.
Result<std::unique_ptr<storage::ReadOnlyLog>> open_read_only(const std::string& directory);

// Calls `visit` with each batch of [min_offset(), end()), in order. Stops at the first error.
Result<void> for_each_batch(storage::ReadOnlyLog& log,
                            const std::function<Result<void>(const storage::ReadBatch&)>& visit);

std::string_view name(storage::LastWriter writer);

}  // namespace kerolox::tools
