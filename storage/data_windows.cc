#include "storage/data_windows.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace kerolox::storage {
namespace {

constexpr std::int64_t kAlignment = kDirectAlignment;

std::int64_t round_down(std::int64_t value) { return value - value % kAlignment; }
std::int64_t round_up(std::int64_t value) { return round_down(value + kAlignment - 1); }

// Visits [from, to), positions in one file. Returns what the visitor last returned.
Result<bool> visit_file(const LogFileEntry& entry, std::int64_t from, std::int64_t to,
                        const VisitOptions& options, FileSystem& file_system, AlignedBuffer& buffer,
                        const DataVisitor& visit) {
  KEROLOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<File> file,
      file_system.open(entry.path, {.mode = OpenOptions::Mode::kReadOnly,
                                    .direct = options.source == FileBytes::Source::kDisk}));
  std::int64_t at = from;
  while (at < to) {
    std::optional<std::int64_t> data = at;
    if (options.skip_holes) {
      KEROLOX_ASSIGN_OR_RETURN(data, file->next_data(at));
    }
    if (!data || *data >= to) {
      break;
    }
    const std::int64_t begin = round_down(std::max(*data, at));
    const std::int64_t end = std::min(begin + FileBytes::kWindowBytes, round_up(to));
    KEROLOX_ASSIGN_OR_RETURN(
        const std::size_t read,
        file->read_at(begin, buffer.bytes().first(static_cast<std::size_t>(end - begin))));
    const std::int64_t visible_end = std::min(begin + static_cast<std::int64_t>(read), to);
    const std::int64_t visible_begin = std::max(begin, at);
    if (visible_end <= visible_begin) {
      break;  // the file has become shorter: nothing is there any more
    }
    KEROLOX_ASSIGN_OR_RETURN(
        const bool more,
        visit(entry, entry.base + visible_begin,
              std::span<const std::byte>(buffer.bytes())
                  .subspan(static_cast<std::size_t>(visible_begin - begin),
                           static_cast<std::size_t>(visible_end - visible_begin))));
    if (!more) {
      return false;
    }
    at = visible_end;
  }
  return true;
}

}  // namespace

Result<void> visit_data(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                        const VisitOptions& options, FileSystem& file_system,
                        const DataVisitor& visit) {
  AlignedBuffer buffer(static_cast<std::size_t>(FileBytes::kWindowBytes));
  for (const LogFileEntry& entry : layout.files) {
    const std::int64_t begin = std::max<std::int64_t>(from - entry.base, 0);
    const std::int64_t end = std::min(to - entry.base, layout.file_bytes);
    if (begin >= end) {
      continue;
    }
    KEROLOX_ASSIGN_OR_RETURN(const bool more,
                             visit_file(entry, begin, end, options, file_system, buffer, visit));
    if (!more) {
      break;
    }
  }
  return {};
}

std::size_t skip_zeros(std::span<const std::byte> bytes) {
  // Comparing the span with itself, shifted by one byte, runs at the speed of memcmp.
  if (bytes.empty() || bytes.front() != std::byte{0}) {
    return 0;
  }
  if (std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0) {
    return bytes.size();
  }
  return static_cast<std::size_t>(
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; }) -
      bytes.begin());
}

Result<std::optional<PhysicalOffset>> first_nonzero(const LogLayout& layout, PhysicalOffset from,
                                                    PhysicalOffset to, FileSystem& file_system) {
  std::optional<PhysicalOffset> found;
  const DataVisitor look = [&found](const LogFileEntry&, PhysicalOffset begin,
                                    std::span<const std::byte> bytes) -> Result<bool> {
    const std::size_t index = skip_zeros(bytes);
    if (index < bytes.size()) {
      found = begin + static_cast<std::int64_t>(index);
    }
    return !found.has_value();
  };
  KEROLOX_RETURN_IF_ERROR(visit_data(layout, from, to, {}, file_system, look));
  return found;
}

}  // namespace kerolox::storage
