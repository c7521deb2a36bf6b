// What a read returns: views of records, and the memory behind them.
//
// Memory: views borrow from the batch, which either holds a copy read from disk or pins a mapping
// of the log's tail; they are valid until the batch is destroyed, cleared or read into again.
// Holding one keeps at most its files' mappings alive; it never stalls appends. Threads: one at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

// A part of the log that could not be served, because its bytes contradict their checksums (P6).
struct DamagedRange {
  PhysicalOffset offset;
  std::int64_t bytes = 0;
  std::string fault;
};

class KEROLOX_API ReadBatch {
 public:
  std::size_t size() const { return views_.size(); }
  bool empty() const { return views_.empty(); }
  const MessageView& operator[](std::size_t index) const { return views_[index]; }
  const MessageView& front() const { return views_.front(); }
  std::vector<MessageView>::const_iterator begin() const { return views_.begin(); }
  std::vector<MessageView>::const_iterator end() const { return views_.end(); }

  // Where the next sequential read goes on: behind the last record, blanks and damage skipped.
  PhysicalOffset next_offset() const { return next_offset_; }
  // What was skipped between the records; empty in a healthy log.
  const std::vector<DamagedRange>& damaged() const { return damaged_; }

  void clear();

 private:
  friend class LogReader;
  std::vector<MessageView> views_;
  std::vector<DamagedRange> damaged_;
  PhysicalOffset next_offset_;
  std::vector<std::byte> buffer_;                  // bytes read from disk; capacity is kept
  std::vector<std::shared_ptr<const void>> pins_;  // mappings that views point into
};

}  // namespace kerolox::storage
