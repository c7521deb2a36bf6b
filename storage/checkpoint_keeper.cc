#include "storage/checkpoint_keeper.h"

#include <algorithm>
#include <utility>

namespace kerolox::storage {

CheckpointKeeper::CheckpointKeeper(CheckpointFiles files, Checkpoint recovered)
    : limit_(recovered.written_limit.value),
      files_(std::move(files)),
      checkpoint_(std::move(recovered)),
      earlier_ranges_(checkpoint_.own_ranges),
      shared_ranges_(std::make_shared<const std::vector<OwnRange>>(earlier_ranges_)) {}

Result<void> CheckpointKeeper::raise_limit(PhysicalOffset limit,
                                           std::optional<PhysicalOffset> own_begin) {
  MutexLock lock(mutex_);
  // What a save that failed was to record does not count.
  if (limit <= written_limit()) {
    return {};
  }
  checkpoint_.written_limit = std::max(checkpoint_.written_limit, limit);
  checkpoint_.clean = false;
  if (own_begin) {
    own_begin_ = own_begin;
  }
  close_ranges_at(checkpoint_.written_limit);
  return write();
}

Result<void> CheckpointKeeper::end_own_range() {
  MutexLock lock(mutex_);
  // What lies between the last checkpoint and here is ours, too, but not recorded as such: it is
  // held to its body checksums, as Java's records are.
  close_ranges_at(checkpoint_.synced);
  earlier_ranges_ = checkpoint_.own_ranges;
  own_begin_.reset();
  return write();
}

Result<void> CheckpointKeeper::save(const LogSnapshot& snapshot, std::uint64_t last_record_hash,
                                    bool clean) {
  MutexLock lock(mutex_);
  apply(snapshot, last_record_hash);
  checkpoint_.clean = clean;
  if (clean) {
    checkpoint_.written_limit = std::max(snapshot.end, snapshot.written_end);
  }
  close_ranges_at(clean ? snapshot.end : checkpoint_.written_limit);
  return write();
}

Result<void> CheckpointKeeper::begin_cut(const LogSnapshot& snapshot,
                                         std::uint64_t last_record_hash) {
  MutexLock lock(mutex_);
  apply(snapshot, last_record_hash);
  checkpoint_.clean = false;
  checkpoint_.cut_to = snapshot.end;
  // Ours ends at the cut at the latest: what comes back may be another's.
  for (OwnRange& range : earlier_ranges_) {
    range.end = std::min(range.end, snapshot.end);
  }
  std::erase_if(earlier_ranges_, [](const OwnRange& range) { return range.end <= range.begin; });
  close_ranges_at(snapshot.end);
  std::erase_if(checkpoint_.quarantine,
                [&](const DamagedRange& range) { return range.offset >= snapshot.end; });
  return write();
}

Result<void> CheckpointKeeper::finish_cut() {
  MutexLock lock(mutex_);
  checkpoint_.cut_to.reset();
  close_ranges_at(checkpoint_.written_limit);
  return write();
}

void CheckpointKeeper::set_java_files(std::uint64_t checkpoint_hash, std::int64_t abort_pid) {
  MutexLock lock(mutex_);
  checkpoint_.java_checkpoint_hash = checkpoint_hash;
  checkpoint_.abort_pid = abort_pid;
}

bool CheckpointKeeper::add_quarantine(const DamagedRange& range) {
  MutexLock lock(mutex_);
  std::vector<DamagedRange>& known = checkpoint_.quarantine;
  const auto at = std::lower_bound(
      known.begin(), known.end(), range.offset,
      [](const DamagedRange& a, PhysicalOffset offset) { return a.offset < offset; });
  if (at != known.end() && at->offset == range.offset) {
    return false;
  }
  known.insert(at, range);
  return true;
}

std::vector<DamagedRange> CheckpointKeeper::quarantine() const {
  MutexLock lock(mutex_);
  return checkpoint_.quarantine;
}

std::shared_ptr<const std::vector<OwnRange>> CheckpointKeeper::own_ranges() const {
  MutexLock lock(mutex_);
  return shared_ranges_;
}

PhysicalOffset CheckpointKeeper::synced() const {
  MutexLock lock(mutex_);
  return checkpoint_.synced;
}

void CheckpointKeeper::apply(const LogSnapshot& snapshot, std::uint64_t last_record_hash) {
  checkpoint_.min_offset = snapshot.min_offset;
  checkpoint_.synced = snapshot.end;
  checkpoint_.last_record = snapshot.last_record;
  checkpoint_.last_record_hash = last_record_hash;
  checkpoint_.last_store_timestamp_ms = snapshot.last_store_timestamp_ms;
  checkpoint_.has_v2_records = snapshot.has_v2_records;
  own_begin_ = snapshot.own_begin;
  if (places_.empty()) {
    // The first snapshot names every queue: from now on the table's own addresses find them.
    checkpoint_.queue_offsets.clear();
  }
  for (const QueueOffsetTable::Change& change : snapshot.changes) {
    const auto [place, is_new] =
        places_.try_emplace(change.topic, checkpoint_.queue_offsets.size());
    if (is_new) {
      checkpoint_.queue_offsets.push_back(
          {.topic = *change.topic, .queue = change.queue, .next = change.next});
    } else {
      checkpoint_.queue_offsets[place->second].next = change.next;
    }
  }
}

void CheckpointKeeper::close_ranges_at(PhysicalOffset end) {
  std::vector<OwnRange>& ranges = checkpoint_.own_ranges;
  ranges = earlier_ranges_;
  if (own_begin_ && *own_begin_ < end) {
    if (!ranges.empty() && ranges.back().end >= *own_begin_) {
      ranges.back().end = std::max(ranges.back().end, end);
    } else {
      ranges.push_back({.begin = *own_begin_, .end = end});
    }
  }
  shared_ranges_ = std::make_shared<const std::vector<OwnRange>>(ranges);
}

Result<void> CheckpointKeeper::write() {
  saves_.fetch_add(1);
  KEROLOX_RETURN_IF_ERROR(files_.save(checkpoint_));
  limit_.store(checkpoint_.written_limit.value);
  return {};
}

}  // namespace kerolox::storage
