#include "storage/store_sizes.h"

#include <gtest/gtest.h>

#include <string>

#include "support/crash_file_system.h"

namespace kerolox::storage {
namespace {

class StoreSizesTest : public ::testing::Test {
 protected:
  StoreSizesTest() {
    EXPECT_TRUE(disk_.create_directories("/s/kerolox"));
    EXPECT_TRUE(disk_.sync_directory("/"));
    EXPECT_TRUE(disk_.sync_directory("/s"));
  }

  void write(const std::string& path, const std::string& text, std::int64_t bytes = -1) {
    const std::filesystem::path file_path(path);
    ASSERT_TRUE(disk_.create_directories(file_path.parent_path()));
    auto file = disk_.open(file_path, {.mode = OpenOptions::Mode::kCreateOrOpen});
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->resize(0));
    ASSERT_TRUE((*file)->write_at(0, std::as_bytes(std::span(text))));
    if (bytes >= 0) {
      ASSERT_TRUE((*file)->resize(bytes));
    }
  }
  StoreSizes settled(StoreSizes wanted) {
    const Result<StoreSizes> sizes = settle_store_sizes("/s", wanted, disk_);
    EXPECT_TRUE(sizes) << (sizes ? "" : sizes.error().text());
    return sizes ? *sizes : StoreSizes{};
  }
  ErrorCode refusal(StoreSizes wanted) {
    const Result<StoreSizes> sizes = settle_store_sizes("/s", wanted, disk_);
    EXPECT_FALSE(sizes);
    return sizes ? ErrorCode::kShutdown : sizes.error().code();
  }

  CrashFileSystem disk_;
};

TEST_F(StoreSizesTest, ANewStoreHasRocketMqsDefaults) {
  EXPECT_EQ(settled({}), (StoreSizes{.queue_file_bytes = 6'000'000, .index_slots = 5'000'000}));
}

TEST_F(StoreSizesTest, WhatWasChosenAtCreationIsFoundAfterwards) {
  settled({.queue_file_bytes = 400, .index_slots = 100});
  disk_.crash(CrashKind::kPowerCut, 7);
  EXPECT_EQ(settled({}), (StoreSizes{.queue_file_bytes = 400, .index_slots = 100}));
  EXPECT_EQ(settled({.queue_file_bytes = 400}), settled({}));
}

TEST_F(StoreSizesTest, AnotherSizeThanTheStoresIsRefusedAndChangesNothing) {
  settled({.queue_file_bytes = 400, .index_slots = 100});
  EXPECT_EQ(refusal({.queue_file_bytes = 800}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.index_slots = 99}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(settled({}), (StoreSizes{.queue_file_bytes = 400, .index_slots = 100}));
}

TEST_F(StoreSizesTest, TheSizesOfJavasFilesAreDetected) {
  write("/s/consumequeue/orders/0/00000000000000000000", "", 400);
  write("/s/index/20260101000000000", "", 40 + 84 * 100);
  const Result<StoreSizes> found = find_store_sizes("/s", disk_);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (StoreSizes{.queue_file_bytes = 400, .index_slots = 100}));
}

TEST_F(StoreSizesTest, FilesThatAreThereWinOverTheRecord) {
  settled({.queue_file_bytes = 800, .index_slots = 100});
  write("/s/consumequeue/orders/0/00000000000000000000", "", 400);
  EXPECT_EQ(settled({}).queue_file_bytes, 400);
}

TEST_F(StoreSizesTest, ADamagedRecordIsRefusedWithItsRemedy) {
  for (const char* text :
       {"", "kerolox-sizes 1\n", "kerolox-sizes 1\nqueue_file_bytes 400\n",
        "kerolox-sizes 1\nqueue_file_bytes 4x\nindex_slots 5\n",
        "kerolox-sizes 1\nqueue_file_bytes -20\nindex_slots 5\n",
        "kerolox-sizes 1\nqueue_file_bytes 99999999999999999999\nindex_slots 5\n",
        "kerolox-sizes 1\nqueue_file_bytes 400\nindex_slots 5\nmore\n", "foreign"}) {
    write("/s/kerolox/sizes", text);
    EXPECT_EQ(refusal({}), ErrorCode::kCorruption) << text;
  }
}

TEST_F(StoreSizesTest, ANewerRecordIsRefusedByName) {
  write("/s/kerolox/sizes", "kerolox-sizes 2\nqueue_file_bytes 400\nindex_slots 5\n");
  EXPECT_EQ(refusal({}), ErrorCode::kUnsupported);
}

TEST_F(StoreSizesTest, AQueueFileThatCannotBeOneIsRefused) {
  write("/s/consumequeue/orders/0/00000000000000000000", "", 401);
  EXPECT_EQ(refusal({}), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace kerolox::storage
