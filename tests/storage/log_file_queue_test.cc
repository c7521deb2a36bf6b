// The row of log files: when one of them may give up its memory.
#include "storage/log_file_queue.h"

#include <gtest/gtest.h>

#include "storage/store_fixture.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kFileBytes = 8192;

class LogFileQueueTest : public StoreFixture {
 protected:
  // A queue of so many files, into none of which all copies have been finished.
  std::unique_ptr<LogFileQueue> queue_of(int files) {
    Result<std::unique_ptr<LogFileQueue>> queue =
        LogFileQueue::open({.log_directory = directory() / "commitlog",
                            .spare_directory = directory() / "kerolox" / "spare",
                            .file_bytes = kFileBytes},
                           {}, PhysicalOffset{0}, disk());
    EXPECT_TRUE(queue) << queue.error().text();
    for (int index = 0; index < files; ++index) {
      EXPECT_TRUE((*queue)->roll(PhysicalOffset{index * kFileBytes}, PhysicalOffset{0}));
    }
    return std::move(queue).value();
  }
  static bool in_memory(const LogFileQueue& queue, int file) {
    return !queue.file_at(PhysicalOffset{file * kFileBytes})->pin(0, 16).bytes.empty();
  }
};

TEST_F(LogFileQueueTest, AFileKeepsItsMemoryWhileACopyIntoItMayBeUnderWay) {
  const auto queue = queue_of(3);
  EXPECT_TRUE(queue->roll(PhysicalOffset{3 * kFileBytes}, PhysicalOffset{2 * kFileBytes - 1}));
  EXPECT_FALSE(in_memory(*queue, 0));
  EXPECT_TRUE(in_memory(*queue, 1));
  EXPECT_TRUE(in_memory(*queue, 2));
  EXPECT_TRUE(in_memory(*queue, 3));
}

TEST_F(LogFileQueueTest, TheNewestTwoFilesKeepTheirMemory) {
  const auto queue = queue_of(4);
  EXPECT_TRUE(queue->roll(PhysicalOffset{4 * kFileBytes}, PhysicalOffset{4 * kFileBytes}));
  EXPECT_FALSE(in_memory(*queue, 1));
  EXPECT_FALSE(in_memory(*queue, 2));
  EXPECT_TRUE(in_memory(*queue, 3));
  EXPECT_TRUE(in_memory(*queue, 4));
}

TEST_F(LogFileQueueTest, WholeStepsAreForgottenAndOnlyBelowTheLimit) {
  const auto queue = queue_of(3);
  EXPECT_FALSE(queue->forget(PhysicalOffset{-kFileBytes}));
  EXPECT_FALSE(queue->forget(PhysicalOffset{kFileBytes - 1}));
  EXPECT_TRUE(queue->forget(PhysicalOffset{2 * kFileBytes + 1}));
  EXPECT_TRUE(queue->forget(PhysicalOffset{2 * kFileBytes + 1}));
  EXPECT_FALSE(queue->forget(PhysicalOffset{2 * kFileBytes + 1}));
}

}  // namespace
}  // namespace kerolox::storage
