#include "storage/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/scratch_directory.h"
#include "kerolox/base/endian.h"
#include "storage/file_bytes.h"
#include "storage/log_builder.h"

namespace kerolox::storage {
namespace {

class LogReaderTest : public ::testing::Test {
 protected:
  // Puts the log on disk; what was read before is forgotten.
  void write(std::int64_t end = -1) {
    log_.write(directory_.path(), posix_file_system());
    auto layout = read_log_layout({directory_.path()}, 0, posix_file_system());
    ASSERT_TRUE(layout) << layout.error().text();
    layout_ = *layout;
    bytes_ = std::make_unique<FileBytes>(layout_, posix_file_system());
    limits_ = {.min = log_.min(),
               .end = end < 0 ? log_.end() : PhysicalOffset{end},
               .file_bytes = log_.file_bytes(),
               .count_max = 1000,
               .bytes_max = 1 << 20,
               .own_ranges = own_ranges_};
  }
  Result<void> read(PhysicalOffset offset) {
    return LogReader::read(*bytes_, offset, limits_, batch_);
  }
  // The bodies of all batches from `offset` to the end.
  std::vector<std::string> bodies(PhysicalOffset offset) {
    std::vector<std::string> found;
    while (offset < limits_.end) {
      const auto result = read(offset);
      EXPECT_TRUE(result) << result.error().text();
      for (const MessageView& message : batch_) {
        found.emplace_back(reinterpret_cast<const char*>(message.body.data()), message.body.size());
      }
      damaged_.insert(damaged_.end(), batch_.damaged().begin(), batch_.damaged().end());
      if (!result || batch_.next_offset() <= offset) {
        ADD_FAILURE() << "no progress at " << offset.value;
        break;
      }
      offset = batch_.next_offset();
    }
    return found;
  }
  std::vector<std::string> bodies() { return bodies(log_.min()); }

  ScratchDirectory directory_;
  LogBuilder log_{4096};
  LogLayout layout_;
  std::unique_ptr<FileBytes> bytes_;
  std::vector<OwnRange> own_ranges_;
  LogReadLimits limits_;
  ReadBatch batch_;
  std::vector<DamagedRange> damaged_;
};

TEST_F(LogReaderTest, ReadsRecordsInOrderAcrossFiles) {
  std::vector<std::string> written;
  for (int i = 0; i < 100; ++i) {
    written.push_back("body " + std::to_string(i));
    log_.append(written.back());
  }
  write();
  EXPECT_GT(layout_.files.size(), 2U);
  EXPECT_EQ(bodies(), written);
  EXPECT_TRUE(damaged_.empty());
}

TEST_F(LogReaderTest, AViewShowsWhatTheRecordHolds) {
  log_.append("first");
  const PhysicalOffset second = log_.append("second", {.topic = "paid", .queue = 3});
  write();
  ASSERT_TRUE(read(second));
  ASSERT_EQ(batch_.size(), 1U);
  EXPECT_EQ(batch_.front().topic, "paid");
  EXPECT_EQ(batch_.front().queue, QueueId{3});
  EXPECT_EQ(batch_.front().offset, second);
  EXPECT_EQ(batch_.next_offset(), log_.end());
}

TEST_F(LogReaderTest, AtTheEndTheBatchIsEmpty) {
  log_.append("only");
  write();
  ASSERT_TRUE(read(log_.end()));
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(batch_.next_offset(), log_.end());
}

TEST_F(LogReaderTest, OutsideTheLogIsOutOfRangeWithBothBounds) {
  log_.append("only");
  write();
  const auto result = read(log_.end() + 1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kOutOfRange);
  ASSERT_EQ(result.error().numbers().size(), 3U);
  EXPECT_EQ(result.error().numbers()[1].value, log_.min().value);
  EXPECT_EQ(result.error().numbers()[2].value, log_.end().value);
  limits_.min = log_.end();
  EXPECT_EQ(read(log_.min()).error().code(), ErrorCode::kOutOfRange);
}

TEST_F(LogReaderTest, KeepsToTheLimitsOfCountAndBytes) {
  for (int i = 0; i < 10; ++i) {
    log_.append("same length");
  }
  write();
  const std::int64_t record_bytes = log_.records()[1] - log_.records()[0];
  limits_.count_max = 3;
  ASSERT_TRUE(read(log_.min()));
  EXPECT_EQ(batch_.size(), 3U);
  limits_.count_max = 1000;
  limits_.bytes_max = 2 * record_bytes + 1;
  ASSERT_TRUE(read(log_.min()));
  EXPECT_EQ(batch_.size(), 2U);
  EXPECT_EQ(batch_.next_offset(), log_.records()[2]);
}

TEST_F(LogReaderTest, ARecordLargerThanTheLimitIsStillReturnedFirst) {
  log_ = LogBuilder(std::int64_t{8} << 20);
  const std::string large(std::size_t{3} << 20, 'x');
  log_.append("small");
  log_.append(large);
  log_.append("after");
  write();
  limits_.bytes_max = 100;
  EXPECT_EQ(bodies(), (std::vector<std::string>{"small", large, "after"}));
}

TEST_F(LogReaderTest, ABatchOfManyLargeRecordsIsFilledToItsLimits) {
  log_ = LogBuilder(std::int64_t{8} << 20);
  for (int i = 0; i < 20; ++i) {
    log_.append(std::string(40'000, 'x'));
  }
  write();
  limits_.count_max = 10;
  ASSERT_TRUE(read(log_.min()));
  EXPECT_EQ(batch_.size(), 10U);
  for (const MessageView& message : batch_) {
    EXPECT_EQ(message.body.size(), 40'000U);
    EXPECT_EQ(message.body.back(), std::byte{'x'});
  }
}

TEST_F(LogReaderTest, P6ADamagedBodyIsSkippedByTheChainOfSizesAndListedOnce) {
  log_.append("first");
  const PhysicalOffset rotten = log_.append("rotten");
  const PhysicalOffset third = log_.append("third");
  log_.at(rotten + 90) ^= std::byte{1};
  write();
  EXPECT_EQ(bodies(), (std::vector<std::string>{"first", "third"}));
  ASSERT_EQ(damaged_.size(), 1U);
  EXPECT_EQ(damaged_[0].offset, rotten);
  EXPECT_EQ(damaged_[0].bytes, third - rotten);
  EXPECT_EQ(damaged_[0].fault, "the body checksum is wrong");
}

TEST_F(LogReaderTest, P6BehindADestroyedHeadTheNextRecordIsSearched) {
  const PhysicalOffset rotten = log_.append("rotten");
  const PhysicalOffset second = log_.append("second");
  log_.zero(rotten, rotten + 40);
  write();
  EXPECT_EQ(bodies(), std::vector<std::string>{"second"});
  ASSERT_EQ(damaged_.size(), 1U);
  EXPECT_EQ(damaged_[0].bytes, second - rotten);
}

TEST_F(LogReaderTest, P6ADestroyedRestOfAFileIsSkippedToTheNextFile) {
  PhysicalOffset last;
  while (log_.end().value < 4096) {
    last = log_.append("fills the first file");
  }
  const PhysicalOffset rotten = log_.records()[2];
  for (PhysicalOffset at = rotten; at.value < 4096; at = at + 1) {
    log_.at(at) = std::byte{0x5A};
  }
  write();
  const std::vector<std::string> found = bodies();
  EXPECT_EQ(found.size(), 3U);
  ASSERT_EQ(damaged_.size(), 1U);
  EXPECT_EQ(damaged_[0].offset, rotten);
  EXPECT_EQ(damaged_[0].offset + damaged_[0].bytes, PhysicalOffset{4096});
  EXPECT_EQ(batch_[batch_.size() - 1].offset, last);
}

}  // namespace
}  // namespace kerolox::storage
