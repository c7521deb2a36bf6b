#include "storage/damaged_ranges.h"

#include <algorithm>
#include <utility>

namespace kerolox::storage {

std::vector<DamagedRange> merge_damaged(std::vector<DamagedRange> ranges,
                                        const std::vector<DamagedRange>& more, PhysicalOffset begin,
                                        PhysicalOffset end) {
  ranges.insert(ranges.end(), more.begin(), more.end());
  std::erase_if(ranges, [begin, end](const DamagedRange& range) {
    return range.bytes <= 0 || range.offset < begin || range.offset >= end;
  });
  std::sort(ranges.begin(), ranges.end(), [](const DamagedRange& a, const DamagedRange& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes > b.bytes;
  });
  std::vector<DamagedRange> merged;
  for (DamagedRange& range : ranges) {
    if (merged.empty() || range.offset >= merged.back().offset + merged.back().bytes) {
      merged.push_back(std::move(range));
    }
  }
  return merged;
}

}  // namespace kerolox::storage
