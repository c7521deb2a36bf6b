// Counts allocations, so it is a program of its own: it replaces operator new.
#include <gtest/gtest.h>

#include <string>

#include "base/scratch_directory.h"
#include "kerolox/base/endian.h"
#include "storage/file_bytes.h"
#include "storage/log_builder.h"
#include "storage/log_reader.h"
#include "storage/recovery.h"
#include "support/counted_allocations.h"

namespace kerolox::storage {
namespace {

TEST(LogReaderAllocationTest, TheCounterCounts) {
  const long before = allocations;
  largest_allocation = 0;
  const std::string text(5000, 'x');
  EXPECT_EQ(allocations - before, 1);
  EXPECT_GE(largest_allocation, text.size());
}

TEST(LogReaderAllocationTest, SteadyReadingAllocatesNothing) {
  ScratchDirectory directory;
  LogBuilder log(std::int64_t{4} << 20);
  for (int i = 0; i < 20'000; ++i) {
    log.append("a small body");
  }
  log.write(directory.path(), posix_file_system());
  const auto layout = read_log_layout({directory.path()}, 0, posix_file_system());
  ASSERT_TRUE(layout);
  FileBytes bytes(*layout, posix_file_system());
  const OwnRange own{log.min(), log.end()};
  const LogReadLimits limits{.min = log.min(),
                             .end = log.end(),
                             .file_bytes = log.file_bytes(),
                             .count_max = 1000,
                             .bytes_max = 1 << 20,
                             .own_ranges = {&own, 1}};
  ReadBatch batch;
  PhysicalOffset at = log.min();
  ASSERT_TRUE(LogReader::read(bytes, at, limits, batch));  // its buffers have their sizes now
  at = batch.next_offset();

  const long before = allocations;
  std::size_t read = 0;
  while (at < log.end()) {
    ASSERT_TRUE(LogReader::read(bytes, at, limits, batch));
    read += batch.size();
    at = batch.next_offset();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(read, 19'000U);
}

// A large sparse file, whose second record says that nearly all of it is its body.
TEST(LogReaderAllocationTest, W11SizesFromDiskAreNotAllocatedBeforeTheyAreChecked) {
  constexpr std::int64_t kFileBytes = std::int64_t{256} << 20;
  constexpr std::int32_t kClaimed = 200 << 20;
  ScratchDirectory directory;
  LogBuilder log(1 << 20);
  log.append("good");
  const PhysicalOffset hostile = log.append("hostile");
  store_big_endian(&log.at(hostile), kClaimed);
  store_big_endian(&log.at(hostile + 84), kClaimed - 97);
  log.write(directory.path() / "commitlog", posix_file_system());
  std::filesystem::resize_file(directory.path() / "commitlog" / log_file_name(log.min()),
                               kFileBytes);

  largest_allocation = 0;
  const auto survey = survey_log({.directory = directory.path()}, posix_file_system());
  ASSERT_TRUE(survey) << survey.error().text();
  EXPECT_EQ(survey->end, hostile);
  EXPECT_EQ(survey->end_kind, LogEnd::kTornRecord);

  FileBytes bytes(survey->layout, posix_file_system());
  ReadBatch batch;
  const LogReadLimits limits{.end = PhysicalOffset{kFileBytes},
                             .file_bytes = kFileBytes,
                             .count_max = 10,
                             .bytes_max = 1 << 20};
  ASSERT_TRUE(LogReader::read(bytes, hostile, limits, batch));
  EXPECT_TRUE(batch.empty());
  ASSERT_EQ(batch.damaged().size(), 1U);
  EXPECT_EQ(batch.damaged()[0].offset, hostile);
  EXPECT_LE(largest_allocation, std::size_t{2} << 20);
}

}  // namespace
}  // namespace kerolox::storage
