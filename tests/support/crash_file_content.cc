#include "support/crash_file_content.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "kerolox/base/check.h"
#include "support/racy_memory.h"

namespace kerolox {
namespace {

constexpr auto kPageSize = static_cast<std::size_t>(kCrashPageBytes);
constexpr auto kSectorSize = static_cast<std::size_t>(kCrashSectorBytes);
constexpr std::size_t kSectorsPerPage = kPageSize / kSectorSize;

constexpr std::array<std::byte, kPageSize> kZeros{};

std::int64_t page_of(std::int64_t offset) { return offset / kCrashPageBytes; }
std::int64_t pages_for(std::int64_t bytes) { return page_of(bytes + kCrashPageBytes - 1); }

// Calls part(page index, first byte in the page, byte count, bytes already done) for each page that
// [offset, offset + bytes) touches.
template <typename Part>
void for_each_page(std::int64_t offset, std::size_t bytes, Part part) {
  std::size_t done = 0;
  while (done < bytes) {
    const std::int64_t position = offset + static_cast<std::int64_t>(done);
    const auto begin = static_cast<std::size_t>(position % kCrashPageBytes);
    const std::size_t count = std::min(kPageSize - begin, bytes - done);
    part(page_of(position), begin, count, done);
    done += count;
  }
}

std::uint8_t sector_bit(std::size_t sector) { return static_cast<std::uint8_t>(1U << sector); }

std::uint8_t sector_bits(std::size_t begin, std::size_t count) {
  std::uint8_t bits = 0;
  for (std::size_t s = begin / kSectorSize; s * kSectorSize < begin + count; ++s) {
    bits |= sector_bit(s);
  }
  return bits;
}

}  // namespace

CrashMemory::CrashMemory() {
  void* const address =
      ::mmap(nullptr, static_cast<std::size_t>(kCrashFileBytesMax), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  KEROLOX_CHECK(address != MAP_FAILED);
  data_ = static_cast<std::byte*>(address);
}

CrashMemory::~CrashMemory() { ::munmap(data_, static_cast<std::size_t>(kCrashFileBytesMax)); }

CrashFileContent::Page* CrashFileContent::page(std::int64_t index) const {
  const auto slot = static_cast<std::size_t>(index);
  return slot < pages_.size() ? pages_[slot].get() : nullptr;
}

CrashFileContent::Page& CrashFileContent::make_page(std::int64_t index) {
  const auto slot = static_cast<std::size_t>(index);
  if (slot >= pages_.size()) {
    pages_.resize(slot + 1);
  }
  if (pages_[slot] == nullptr) {
    pages_[slot] = std::make_unique<Page>();
  }
  return *pages_[slot];
}

std::shared_ptr<CrashMemory> CrashFileContent::memory() {
  if (memory_ == nullptr) {
    memory_ = std::make_shared<CrashMemory>();
  }
  return memory_;
}

std::byte* CrashFileContent::cache(std::int64_t index) {
  return memory()->data() + index * kCrashPageBytes;
}

void CrashFileContent::set_allocated(Page& page, bool allocated) {
  allocated_pages_ += static_cast<int>(allocated) - static_cast<int>(page.allocated);
  page.allocated = allocated;
}

std::size_t CrashFileContent::read(std::int64_t offset, std::span<std::byte> into) {
  if (offset >= bytes_ || into.empty()) {
    return 0;
  }
  const std::size_t count = std::min(into.size(), static_cast<std::size_t>(bytes_ - offset));
  racy_copy(into.data(), memory()->data() + offset, count);
  return count;
}

std::size_t CrashFileContent::read_direct(std::int64_t offset, std::span<std::byte> into) {
  if (offset >= bytes_) {
    return 0;
  }
  observe();
  const std::size_t bytes = std::min(into.size(), static_cast<std::size_t>(bytes_ - offset));
  for_each_page(offset, bytes,
                [&](std::int64_t index, std::size_t begin, std::size_t count, std::size_t done) {
                  const Page* const found = page(index);
                  for (std::size_t i = 0; i < count; ++i) {
                    const std::size_t at = begin + i;
                    if (found == nullptr) {
                      into[done + i] = std::byte{0};
                    } else {
                      const bool dirty = (found->dirty & sector_bit(at / kSectorSize)) != 0;
                      into[done + i] = dirty ? found->seen[at] : found->disk[at];
                    }
                  }
                });
  return bytes;
}

std::optional<std::int64_t> CrashFileContent::next_data(std::int64_t offset) {
  observe();
  for (std::int64_t index = page_of(offset); index * kCrashPageBytes < bytes_; ++index) {
    if (index >= static_cast<std::int64_t>(pages_.size())) {
      break;
    }
    const Page* const found = page(index);
    if (found != nullptr && found->written && offset < bytes_) {
      return std::max(offset, index * kCrashPageBytes);
    }
  }
  return std::nullopt;
}

std::int64_t CrashFileContent::pages_missing(std::int64_t offset, std::int64_t bytes) const {
  std::int64_t missing = 0;
  for (std::int64_t index = page_of(offset); index < pages_for(offset + bytes); ++index) {
    const Page* const found = page(index);
    missing += found == nullptr || !found->allocated ? 1 : 0;
  }
  return missing;
}

std::int64_t CrashFileContent::allocate(std::int64_t offset, std::int64_t bytes,
                                        std::int64_t pages_left) {
  for (std::int64_t index = page_of(offset); index < pages_for(offset + bytes); ++index) {
    const Page* const found = page(index);
    if (found != nullptr && found->allocated) {
      continue;
    }
    if (pages_left-- <= 0) {
      return std::max<std::int64_t>(0, index * kCrashPageBytes - offset);
    }
    set_allocated(make_page(index), true);
  }
  return bytes;
}

void CrashFileContent::write(std::int64_t offset, std::span<const std::byte> from) {
  // First, so that stores to these pages through a mapping are judged on their own.
  observe_pages(page_of(offset), pages_for(offset + static_cast<std::int64_t>(from.size())));
  for_each_page(offset, from.size(),
                [&](std::int64_t index, std::size_t begin, std::size_t count, std::size_t done) {
                  Page& target = make_page(index);
                  racy_copy(cache(index) + begin, from.data() + done, count);
                  std::memcpy(target.seen.data() + begin, from.data() + done, count);
                  target.dirty |= sector_bits(begin, count);
                  target.written = true;
                });
  bytes_ = std::max(bytes_, offset + static_cast<std::int64_t>(from.size()));
}

void CrashFileContent::zero(std::int64_t index, std::int64_t from_byte) {
  Page* const target = page(index);
  if (target == nullptr) {
    return;
  }
  const auto begin = static_cast<std::size_t>(from_byte);
  racy_copy(cache(index) + begin, kZeros.data(), kPageSize - begin);
  std::memset(target->seen.data() + begin, 0, kPageSize - begin);
  target->dirty |= sector_bits(begin, kPageSize - begin);
  if (begin == 0) {
    set_allocated(*target, false);
    target->written = false;
  }
}

void CrashFileContent::resize(std::int64_t bytes) {
  observe();
  if (bytes < bytes_) {
    // Blocks reserved past the end go, too. The disk keeps its bytes until the next sync: a power
    // cut may bring them back.
    zero(page_of(bytes), bytes % kCrashPageBytes);
    for (auto index = page_of(bytes) + 1; index < static_cast<std::int64_t>(pages_.size());
         ++index) {
      zero(index, 0);
    }
  }
  bytes_ = bytes;
}

void CrashFileContent::sync() {
  observe();
  for (std::unique_ptr<Page>& slot : pages_) {
    if (slot == nullptr) {
      continue;
    }
    for (std::size_t s = 0; s < kSectorsPerPage; ++s) {
      if ((slot->dirty & sector_bit(s)) != 0) {
        std::memcpy(slot->disk.data() + s * kSectorSize, slot->seen.data() + s * kSectorSize,
                    kSectorSize);
        slot->on_disk = true;
      }
    }
    slot->dirty = 0;
    slot->durably_allocated = slot->allocated;
    if (!slot->allocated) {
      slot.reset();  // cut off by resize()
    }
  }
  durable_bytes_ = bytes_;
}

void CrashFileContent::lose_dirty() {
  observe();
  for (const std::unique_ptr<Page>& slot : pages_) {
    if (slot != nullptr) {
      slot->dirty = 0;
    }
  }
}

void CrashFileContent::show_disk(std::int64_t index) {
  Page& shown = *page(index);
  shown.seen = shown.disk;
  racy_copy(cache(index), shown.disk.data(), kPageSize);
}

void CrashFileContent::evict(std::int64_t begin, std::int64_t end) {
  observe();
  const auto pages = static_cast<std::int64_t>(pages_.size());
  const auto page_bytes = static_cast<std::int64_t>(kPageSize);
  for (std::int64_t index = begin / page_bytes; index < std::min(pages, end / page_bytes);
       ++index) {
    const Page* const found = page(index);
    if (found != nullptr && found->dirty == 0 && found->seen != found->disk) {
      show_disk(index);
    }
  }
}

void CrashFileContent::rot(std::int64_t offset, std::span<const std::byte> bytes) {
  KEROLOX_CHECK(offset + static_cast<std::int64_t>(bytes.size()) <= bytes_);
  observe();
  for_each_page(offset, bytes.size(),
                [&](std::int64_t index, std::size_t begin, std::size_t count, std::size_t done) {
                  Page& target = make_page(index);
                  set_allocated(target, true);
                  target.durably_allocated = true;
                  target.on_disk = true;
                  target.written = true;
                  racy_copy(cache(index) + begin, bytes.data() + done, count);
                  std::memcpy(target.seen.data() + begin, bytes.data() + done, count);
                  std::memcpy(target.disk.data() + begin, bytes.data() + done, count);
                });
}

std::vector<std::byte> CrashFileContent::disk() const {
  std::vector<std::byte> content(static_cast<std::size_t>(durable_bytes_));
  for_each_page(0, content.size(),
                [&](std::int64_t index, std::size_t, std::size_t count, std::size_t done) {
                  if (const Page* const found = page(index); found != nullptr) {
                    std::memcpy(content.data() + done, found->disk.data(), count);
                  }
                });
  return content;
}

std::uint64_t CrashFileContent::map(std::int64_t offset, std::int64_t bytes, bool writable) {
  mappings_.push_back({++last_mapping_, page_of(offset), pages_for(offset + bytes), writable});
  return last_mapping_;
}

void CrashFileContent::unmap(std::uint64_t mapping) {
  observe();
  std::erase_if(mappings_, [&](const Mapping& other) { return other.id == mapping; });
}

void CrashFileContent::observe_page(std::int64_t index, bool writable) {
  Page* const known = page(index);
  const Bytes& before = known != nullptr ? known->seen : kZeros;
  if (racy_equal(cache(index), before.data(), kPageSize)) {
    return;
  }
  Page& changed = make_page(index);
  const std::string where = "a store to the page at " + std::to_string(index * kCrashPageBytes);
  if (!writable) {
    violations_.push_back(where + " through a read-only mapping");
  } else if (index * kCrashPageBytes >= bytes_) {
    violations_.push_back(where + " past the end of the file");
  } else if (!changed.allocated) {
    violations_.push_back(where + " without a block");
  }
  Bytes now;
  racy_copy(now.data(), cache(index), kPageSize);
  for (std::size_t s = 0; s < kSectorsPerPage; ++s) {
    const std::size_t at = s * kSectorSize;
    if (std::memcmp(now.data() + at, changed.seen.data() + at, kSectorSize) != 0) {
      changed.dirty |= sector_bit(s);
    }
  }
  changed.seen = now;
  changed.written = true;
  set_allocated(changed, true);
}

void CrashFileContent::observe_pages(std::int64_t first_page, std::int64_t last_page) {
  // The writable mappings first: what they changed, a read-only one of the same page may show.
  for (const bool writable : {true, false}) {
    for (const Mapping& mapping : mappings_) {
      if (mapping.writable != writable) {
        continue;
      }
      const std::int64_t end = std::min(mapping.last_page, last_page);
      for (auto index = std::max(mapping.first_page, first_page); index < end; ++index) {
        observe_page(index, writable);
      }
    }
  }
}

void CrashFileContent::observe() { observe_pages(0, page_of(kCrashFileBytesMax)); }

void CrashFileContent::detach() {
  observe();
  mappings_.clear();
  if (memory_ == nullptr || memory_.use_count() == 1) {
    return;
  }
  memory_ = nullptr;
  for (std::int64_t index = 0; index < static_cast<std::int64_t>(pages_.size()); ++index) {
    if (const Page* const found = page(index); found != nullptr) {
      std::memcpy(cache(index), found->seen.data(), kPageSize);
    }
  }
}

void CrashFileContent::cut_power_of(Page& target, PowerCut& cut) {
  bool reached = false;
  for (std::size_t s = 0; s < kSectorsPerPage; ++s) {
    if ((target.dirty & sector_bit(s)) == 0) {
      continue;
    }
    const std::size_t at = s * kSectorSize;
    if (cut.garbage && !target.on_disk && cut.random.chance(1, 4)) {
      for (std::size_t i = 0; i < kSectorSize; i += sizeof(std::uint64_t)) {
        const std::uint64_t garbage = cut.random.next();
        std::memcpy(target.disk.data() + at + i, &garbage, sizeof garbage);
      }
      reached = true;
    } else if (cut.random.chance(cut.keep_in_256, 256)) {
      std::memcpy(target.disk.data() + at, target.seen.data() + at, kSectorSize);
      reached = true;
    }
  }
  target.dirty = 0;
  target.on_disk = target.on_disk || reached;
  target.durably_allocated = target.durably_allocated || reached ||
                             (target.allocated && cut.random.chance(cut.keep_in_256, 256));
}

void CrashFileContent::power_cut(PowerCut& cut) {
  detach();
  if (cut.random.chance(cut.keep_in_256, 256)) {
    durable_bytes_ = bytes_;
  }
  bytes_ = durable_bytes_;
  for (std::int64_t index = 0; index < static_cast<std::int64_t>(pages_.size()); ++index) {
    Page* const target = page(index);
    if (target == nullptr) {
      continue;
    }
    cut_power_of(*target, cut);
    const std::int64_t inside =
        std::clamp<std::int64_t>(bytes_ - index * kCrashPageBytes, 0, kCrashPageBytes);
    std::fill(target->disk.begin() + inside, target->disk.end(), std::byte{0});
    if (inside == 0) {
      target->on_disk = false;
      target->written = false;
    }
    show_disk(index);
    set_allocated(*target, target->durably_allocated);
    if (!target->allocated) {
      pages_[static_cast<std::size_t>(index)].reset();
    }
  }
}

}  // namespace kerolox
