#include "storage/file_bytes.h"

#include <algorithm>
#include <string>

namespace kerolox::storage {
namespace {

constexpr std::int64_t kAlignment = kDirectAlignment;

std::int64_t round_down(std::int64_t value) { return value - value % kAlignment; }
std::int64_t round_up(std::int64_t value) { return round_down(value + kAlignment - 1); }

std::string place_of(const LogFileEntry& entry, std::int64_t position) {
  return entry.path.string() + " at " + std::to_string(position);
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes_min)
    : size_(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes_min)))),
      memory_(static_cast<std::byte*>(::operator new(size_, std::align_val_t{kDirectAlignment}))) {}

FileBytes::FileBytes(const LogLayout& layout, FileSystem& file_system, Source source)
    : layout_(layout), file_system_(file_system), source_(source) {}

Result<std::span<const std::byte>> FileBytes::bytes_at(PhysicalOffset offset,
                                                       std::int64_t bytes_wanted,
                                                       std::vector<std::byte>&,
                                                       std::shared_ptr<const void>& pin) {
  const LogFileEntry* entry = layout_.file_of(offset);
  if (entry == nullptr || bytes_wanted <= 0) {
    return std::span<const std::byte>();
  }
  const std::int64_t wanted = std::min(bytes_wanted, entry->base + layout_.file_bytes - offset);
  const bool held = window_ != nullptr && offset >= window_->begin &&
                    offset - window_->begin + wanted <= window_->bytes &&
                    window_->begin >= entry->base;
  if (!held) {
    pin.reset();  // else a caller that passes its last pin again keeps the window from being reused
    KEROLOX_RETURN_IF_ERROR(fill(*entry, offset, wanted));
  }
  pin = window_;
  const std::int64_t skip = offset - window_->begin;
  return std::span<const std::byte>(window_->memory.bytes())
      .subspan(static_cast<std::size_t>(skip), static_cast<std::size_t>(window_->bytes - skip));
}

Result<void> FileBytes::open(const LogFileEntry& entry) {
  if (file_ != nullptr && file_base_ == entry.base) {
    return {};
  }
  file_.reset();
  auto opened = file_system_.open(
      entry.path, {.mode = OpenOptions::Mode::kReadOnly, .direct = source_ == Source::kDisk});
  if (!opened && opened.error().code() == ErrorCode::kNotFound) {
    return Error(ErrorCode::kIoError, "the log file has gone while it was read")
        .at(entry.path.string());
  }
  KEROLOX_ASSIGN_OR_RETURN(file_, std::move(opened));
  file_base_ = entry.base;
  return {};
}

Result<void> FileBytes::fill(const LogFileEntry& entry, PhysicalOffset offset,
                             std::int64_t bytes_wanted) {
  KEROLOX_RETURN_IF_ERROR(open(entry));
  const std::int64_t begin = round_down(offset - entry.base);
  const std::int64_t last = std::min(
      layout_.file_bytes, std::max(offset - entry.base + bytes_wanted, begin + kWindowBytes));
  const auto read_bytes = static_cast<std::size_t>(round_up(last - begin));
  if (window_ == nullptr || window_.use_count() > 1 ||
      window_->memory.bytes().size() < read_bytes) {
    window_.reset();
    // A window begins at a block's begin, so that what is wanted may need one block more.
    window_ = std::make_shared<Window>(std::max(
        read_bytes,
        static_cast<std::size_t>(std::min(kWindowBytes + kAlignment, layout_.file_bytes))));
  }
  window_->bytes = 0;
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t read,
                           file_->read_at(begin, window_->memory.bytes().first(read_bytes)));
  if (static_cast<std::int64_t>(read) < last - begin) {
    return Error(ErrorCode::kIoError, "the log file has become shorter while it was read")
        .at(place_of(entry, begin))
        .with_number("file_bytes", layout_.file_bytes)
        .with_number("bytes_found", begin + static_cast<std::int64_t>(read));
  }
  window_->begin = entry.base + begin;
  window_->bytes = last - begin;
  return {};
}

}  // namespace kerolox::storage
