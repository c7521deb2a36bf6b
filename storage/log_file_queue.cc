#include "storage/log_file_queue.h"

#include <algorithm>
#include <utility>

#include "storage/durable_directory.h"

namespace kerolox::storage {
namespace {

// One step of preparation: small enough that a reader of the same disk hardly notices.
constexpr std::int64_t kPrepareStepBytes = std::int64_t{1} << 20;
constexpr std::int64_t kReserveStepBytes = std::int64_t{64} << 20;
constexpr std::int64_t kForgetStepBytes = std::int64_t{8} << 20;
constexpr std::int64_t kPageBytes = 4096;

}  // namespace

LogFileQueue::LogFileQueue(Options options, FileSystem& file_system)
    : options_(std::move(options)), file_system_(file_system) {}

Result<std::unique_ptr<LogFileQueue>> LogFileQueue::open(Options options, const LogLayout& layout,
                                                         PhysicalOffset end,
                                                         FileSystem& file_system) {
  std::unique_ptr<LogFileQueue> queue(new LogFileQueue(std::move(options), file_system));
  KEROLOX_RETURN_IF_ERROR(create_durable_directories(queue->options_.log_directory, file_system));
  KEROLOX_RETURN_IF_ERROR(create_durable_directories(queue->options_.spare_directory, file_system));
  // A file or folder that was named just before its process died has a name that no sync covers
  // yet.
  KEROLOX_RETURN_IF_ERROR(file_system.sync_directory(queue->options_.log_directory.parent_path()));
  KEROLOX_RETURN_IF_ERROR(queue->sync_directories());
  KEROLOX_RETURN_IF_ERROR(queue->remove_spare());
  KEROLOX_RETURN_IF_ERROR(queue->open_files(layout, end));
  return queue;
}

Result<void> LogFileQueue::open_files(const LogLayout& layout, PhysicalOffset end) {
  std::vector<Entry> files;
  for (std::size_t i = 0; i < layout.files.size(); ++i) {
    const LogFileEntry& found = layout.files[i];
    const bool last = i + 1 == layout.files.size();
    const std::int64_t used = std::clamp<std::int64_t>(end - found.base, 0, options_.file_bytes);
    KEROLOX_ASSIGN_OR_RETURN(std::unique_ptr<MappedLogFile> file,
                             open_file(found.path, found.base, used, last));
    files.push_back({.file = std::move(file), .name_durable = true});
  }
  MutexLock lock(files_mutex_);
  files_ = std::move(files);
  forgotten_ = end;
  active_.store(files_.empty() ? nullptr : files_.back().file.get());
  return {};
}

Result<std::unique_ptr<MappedLogFile>> LogFileQueue::open_file(const std::filesystem::path& path,
                                                               PhysicalOffset base,
                                                               std::int64_t used_bytes,
                                                               bool mapped) {
  KEROLOX_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                           file_system_.open(path, {.mode = OpenOptions::Mode::kReadWrite}));
  return MappedLogFile::open({.path = path,
                              .base = base,
                              .bytes = options_.file_bytes,
                              .prepare_mode = options_.prepare_mode,
                              .used_bytes = used_bytes,
                              .mapped = mapped},
                             std::move(file), file_system_);
}

bool LogFileQueue::empty() const {
  MutexLock lock(files_mutex_);
  return files_.empty();
}

PhysicalOffset LogFileQueue::min_offset() const {
  MutexLock lock(files_mutex_);
  return files_.empty() ? PhysicalOffset{0} : files_.front().file->base();
}

LogLayout LogFileQueue::layout() const {
  MutexLock lock(files_mutex_);
  LogLayout layout;
  layout.file_bytes = options_.file_bytes;
  for (const Entry& entry : files_) {
    layout.files.push_back({.path = entry.file->path(), .base = entry.file->base()});
  }
  return layout;
}

Result<void> LogFileQueue::make_spare() {
  // One that an earlier attempt left unfinished holds nothing.
  Result<void> removed = file_system_.remove(spare_path());
  if (!removed && removed.error().code() != ErrorCode::kNotFound) {
    return removed;
  }
  KEROLOX_ASSIGN_OR_RETURN(
      std::unique_ptr<File> file,
      file_system_.open(spare_path(), {.mode = OpenOptions::Mode::kCreateNew}));
  KEROLOX_RETURN_IF_ERROR(file->resize(options_.file_bytes));
  KEROLOX_ASSIGN_OR_RETURN(spare_, MappedLogFile::open({.path = spare_path(),
                                                        .base = PhysicalOffset{0},
                                                        .bytes = options_.file_bytes,
                                                        .prepare_mode = options_.prepare_mode,
                                                        .used_bytes = 0,
                                                        .mapped = true},
                                                       std::move(file), file_system_));
  return {};
}

// The newest keeps its memory whatever is filled: readers that follow the tail do not fall off it
// at a roll. Memory goes in the order of the files, so the first without any ends the walk.
void LogFileQueue::release_memory_below(PhysicalOffset filled) {
  if (files_.empty()) {
    return;
  }
  for (std::size_t index = files_.size() - 1; index > 0; --index) {
    MappedLogFile& file = *files_[index - 1].file;
    if (!file.in_memory()) {
      return;
    }
    if (file.base() + options_.file_bytes <= filled) {
      file.release_memory();
    }
  }
}

Result<void> LogFileQueue::roll(PhysicalOffset base, PhysicalOffset filled) {
  MutexLock preparing(prepare_mutex_);
  if (MappedLogFile* const full = active_.load(); full != nullptr) {
    KEROLOX_RETURN_IF_ERROR(full->check_name());
  }
  if (spare_ == nullptr) {
    KEROLOX_RETURN_IF_ERROR(make_spare());
  }
  const std::filesystem::path path = options_.log_directory / log_file_name(base);
  const Result<FileStatus> taken = file_system_.status(path);
  if (taken) {
    return Error(ErrorCode::kStoreFailed, "the next log file exists already")
        .at(path.string())
        .with_remedy("another program works on this store: stop it, then open the store again");
  }
  if (taken.error().code() != ErrorCode::kNotFound) {
    return taken.error();
  }
  KEROLOX_RETURN_IF_ERROR(file_system_.rename(spare_path(), path));
  std::shared_ptr<MappedLogFile> file = std::move(spare_);
  file->take_name(path, base);
  MutexLock lock(files_mutex_);
  release_memory_below(filled);
  rolls_.fetch_add(files_.empty() ? 0 : 1);
  active_.store(file.get());
  files_.push_back({.file = std::move(file), .name_durable = false});
  return {};
}

Result<void> LogFileQueue::prepare_active(PhysicalOffset end) {
  MutexLock preparing(prepare_mutex_);
  MappedLogFile* const active = active_.load();
  const std::int64_t before = active->prepared_bytes();
  KEROLOX_RETURN_IF_ERROR(active->prepare(end - active->base()));
  prepared_total_.fetch_add(active->prepared_bytes() - before);
  return {};
}

Result<bool> LogFileQueue::prepare_ahead(PhysicalOffset until) {
  MutexLock preparing(prepare_mutex_);
  MappedLogFile* const active = active_.load();
  if (active == nullptr) {
    return false;
  }
  const std::int64_t step =
      options_.prepare_mode == PrepareMode::kWriteZeros ? kPrepareStepBytes : kReserveStepBytes;
  const PhysicalOffset active_end = active->base() + options_.file_bytes;
  MappedLogFile* file = active;
  std::int64_t wanted = std::min(until, active_end) - active->base();
  if (wanted <= active->prepared_bytes()) {
    if (until <= active_end) {
      return false;
    }
    if (spare_ == nullptr) {
      KEROLOX_RETURN_IF_ERROR(make_spare());
    }
    file = spare_.get();
    wanted = std::min(until - active_end, options_.file_bytes);
    if (wanted <= file->prepared_bytes()) {
      return false;
    }
  }
  const std::int64_t before = file->prepared_bytes();
  KEROLOX_RETURN_IF_ERROR(file->prepare(std::min(wanted, before + step)));
  prepared_total_.fetch_add(file->prepared_bytes() - before);
  return true;
}

PhysicalOffset LogFileQueue::prepared_offset() {
  MutexLock preparing(prepare_mutex_);
  const MappedLogFile* const active = active_.load();
  if (active == nullptr) {
    return PhysicalOffset{0};
  }
  const std::int64_t prepared = active->prepared_bytes();
  const bool whole = prepared == options_.file_bytes && spare_ != nullptr;
  return active->base() + prepared + (whole ? spare_->prepared_bytes() : 0);
}

std::vector<std::shared_ptr<MappedLogFile>> LogFileQueue::files_between(PhysicalOffset from,
                                                                        PhysicalOffset to) {
  MutexLock lock(files_mutex_);
  std::vector<std::shared_ptr<MappedLogFile>> files;
  for (const Entry& entry : files_) {
    if (entry.file->base() < to && entry.file->base() + options_.file_bytes > from) {
      files.push_back(entry.file);
    }
  }
  return files;
}

// A file comes from the one to the other: until both are synced, it may be in either, or in none.
Result<void> LogFileQueue::sync_directories() {
  KEROLOX_RETURN_IF_ERROR(file_system_.sync_directory(options_.log_directory));
  return file_system_.sync_directory(options_.spare_directory);
}

Result<void> LogFileQueue::make_names_durable(PhysicalOffset from, PhysicalOffset to) {
  bool needed = false;
  {
    MutexLock lock(files_mutex_);
    for (const Entry& entry : files_) {
      needed = needed || (!entry.name_durable && entry.file->base() < to &&
                          entry.file->base() + options_.file_bytes > from);
    }
  }
  if (!needed) {
    return {};
  }
  KEROLOX_RETURN_IF_ERROR(sync_directories());
  MutexLock lock(files_mutex_);
  for (Entry& entry : files_) {
    // Those that came meanwhile have a later base.
    entry.name_durable = entry.name_durable || entry.file->base() < to;
  }
  return {};
}

bool LogFileQueue::forget(PhysicalOffset below) {
  std::shared_ptr<MappedLogFile> file;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  {
    MutexLock lock(files_mutex_);
    if (files_.empty()) {
      return false;
    }
    forgotten_ = std::max(forgotten_, files_.front().file->base());
    file = find(forgotten_);
    if (file == nullptr) {
      return false;
    }
    // Steps are aligned, so that no large folio of the page cache lies in two of them.
    begin = (forgotten_ - file->base()) / kPageBytes * kPageBytes;
    end = std::min((begin / kForgetStepBytes + 1) * kForgetStepBytes, options_.file_bytes);
    if (below < file->base() + end) {
      return false;
    }
    forgotten_ = file->base() + end;
  }
  file->forget(begin, end);
  return true;
}

Result<void> LogFileQueue::flush(PhysicalOffset from, PhysicalOffset to) {
  KEROLOX_RETURN_IF_ERROR(make_names_durable(from, to));
  const std::vector<std::shared_ptr<MappedLogFile>> files = files_between(from, to);
  for (const auto& file : files) {
    file->request_flush(std::min(to - file->base(), options_.file_bytes));
  }
  for (const auto& file : files) {
    KEROLOX_ASSIGN_OR_RETURN(const std::int64_t durable, file->complete_flush());
    KEROLOX_CHECK(durable >= std::min(to - file->base(), options_.file_bytes));
    // Synced into a file that has lost its name means gone with the next restart.
    KEROLOX_RETURN_IF_ERROR(file->check_name());
  }
  return {};
}

std::shared_ptr<MappedLogFile> LogFileQueue::find(PhysicalOffset offset) const {
  const auto after = std::upper_bound(
      files_.begin(), files_.end(), offset,
      [](PhysicalOffset at, const Entry& entry) { return at < entry.file->base(); });
  if (after == files_.begin()) {
    return nullptr;
  }
  const std::shared_ptr<MappedLogFile>& file = std::prev(after)->file;
  return offset < file->base() + options_.file_bytes ? file : nullptr;
}

Result<void> LogFileQueue::truncate(PhysicalOffset end) {
  LogLayout kept;
  kept.file_bytes = options_.file_bytes;
  std::vector<Entry> files;
  {
    MutexLock lock(files_mutex_);
    files = files_;
  }
  for (auto entry = files.rbegin(); entry != files.rend(); ++entry) {
    const PhysicalOffset base = entry->file->base();
    if (base > end) {
      KEROLOX_RETURN_IF_ERROR(file_system_.remove(entry->file->path()));
    } else if (base + options_.file_bytes > end) {
      KEROLOX_RETURN_IF_ERROR(entry->file->clear(end - base, options_.file_bytes));
    }
  }
  KEROLOX_RETURN_IF_ERROR(sync_directories());
  for (const Entry& entry : files) {
    if (entry.file->base() <= end) {
      kept.files.push_back({.path = entry.file->path(), .base = entry.file->base()});
    }
  }
  return open_files(kept, end);
}

Result<void> LogFileQueue::remove_spare() {
  MutexLock preparing(prepare_mutex_);
  spare_.reset();
  Result<void> removed = file_system_.remove(spare_path());
  if (!removed && removed.error().code() != ErrorCode::kNotFound) {
    return removed;
  }
  return {};
}

}  // namespace kerolox::storage
