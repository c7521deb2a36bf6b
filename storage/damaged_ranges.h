// Lists of damage, put together.
#pragma once

#include <vector>

#include "kerolox/base/types.h"
#include "kerolox/storage/read_batch.h"

namespace kerolox::storage {

// What both lists name in [begin, end), ascending, without overlaps: of two that begin at one place
// the longer.
std::vector<DamagedRange> merge_damaged(std::vector<DamagedRange> ranges,
                                        const std::vector<DamagedRange>& more, PhysicalOffset begin,
                                        PhysicalOffset end);

}  // namespace kerolox::storage
