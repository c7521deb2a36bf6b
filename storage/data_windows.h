// The parts of a log that may hold anything but zeros: what lies behind its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "storage/file_bytes.h"
#include "storage/log_layout.h"

namespace kerolox::storage {

// Told each stretch of data, in order, at most FileBytes::kWindowBytes at a time. False ends it.
using DataVisitor = std::function<Result<bool>(const LogFileEntry& entry, PhysicalOffset begin,
                                               std::span<const std::byte> bytes)>;

struct VisitOptions {
  FileBytes::Source source = FileBytes::Source::kCache;
  bool skip_holes = true;  // then they cost nothing
};

// Visits [from, to) of the log's files.
Result<void> visit_data(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                        const VisitOptions& options, FileSystem& file_system,
                        const DataVisitor& visit);

// The first byte in [from, to) that is not zero.
Result<std::optional<PhysicalOffset>> first_nonzero(const LogLayout& layout, PhysicalOffset from,
                                                    PhysicalOffset to, FileSystem& file_system);

// The index of the first byte that is not zero, or the size.
std::size_t skip_zeros(std::span<const std::byte> bytes);

}  // namespace kerolox::storage
