// Making the disk agree with what memory shows. After a failed sync the page cache keeps bytes that
// the disk has lost, and the next sync succeeds without them (W7): only a direct read tells.
#pragma once

#include <cstdint>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "storage/log_layout.h"

namespace kerolox::storage {

// fdatasync of every file that holds a part of [from, to). `from` < `to`.
Result<void> sync_files(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                        FileSystem& file_system);

// Whether direct reads of the log's files are possible. The layout must have files.
Result<bool> has_direct_reads(const LogLayout& layout, FileSystem& file_system);

// Writes [from, to) again wherever the disk's bytes are not those that memory shows (everywhere, if
// not `direct`), and syncs. Returns the bytes written.
Result<std::int64_t> rewrite_lost(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                                  bool direct, FileSystem& file_system);

// Writes zeros over everything in [from, to) that is not zero in memory or (with `direct`) on the
// disk, and syncs. The first eight bytes go first and are synced alone, so that no crash leaves a
// record at `from` that parts of the zeroing have made valid. When it returns, the disk has been
// seen to hold zeros (without `direct`: all data there was written again). kIoError if it does not.
Result<void> zero_tail(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to, bool direct,
                       FileSystem& file_system);

}  // namespace kerolox::storage
