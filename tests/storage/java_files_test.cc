#include "storage/java_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "storage/store_fixture.h"
#include "support/golden.h"

namespace kerolox::storage {
namespace {

class JavaFilesTest : public StoreFixture {
 protected:
  JavaFilesTest() { std::filesystem::create_directories(directory() / "kerolox"); }

  JavaCheckpoint load() {
    const auto loaded = files_.load_checkpoint();
    EXPECT_TRUE(loaded) << loaded.error().text();
    EXPECT_TRUE(loaded->has_value());
    return loaded->value_or(JavaCheckpoint{});
  }

  static constexpr JavaCheckpoint kVector{.physic_timestamp_ms = 1700000000456,
                                          .logics_timestamp_ms = 1700000000456,
                                          .index_timestamp_ms = 1700000000000,
                                          .master_flushed = PhysicalOffset{0},
                                          .confirm = PhysicalOffset{216}};
  static constexpr const char* kVectorHex =
      "0000018bcfe569c80000018bcfe569c80000018bcfe5680000000000000000000000000000"
      "0000d8";

  JavaFiles files_{directory(), disk()};
};

TEST_F(JavaFilesTest, ASavedCheckpointHasJavasBytesAndSize) {
  ASSERT_TRUE(files_.save_checkpoint(kVector));
  const std::string content = read("checkpoint");
  ASSERT_EQ(content.size(), 4096U);
  EXPECT_EQ(hex(std::as_bytes(std::span(content)).first(40)), kVectorHex);
  EXPECT_EQ(content.find_first_not_of('\0', 40), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(directory() / "kerolox"));
}

TEST_F(JavaFilesTest, TheVectorOfJavasCheckpointIsRead) {
  const auto bytes = test::bytes_of_hex(kVectorHex);
  write("checkpoint", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const JavaCheckpoint loaded = load();
  EXPECT_EQ(loaded.physic_timestamp_ms, kVector.physic_timestamp_ms);
  EXPECT_EQ(loaded.logics_timestamp_ms, kVector.logics_timestamp_ms);
  EXPECT_EQ(loaded.index_timestamp_ms, kVector.index_timestamp_ms);
  EXPECT_EQ(loaded.master_flushed, kVector.master_flushed);
  EXPECT_EQ(loaded.confirm, kVector.confirm);
}

TEST_F(JavaFilesTest, FieldsThatAnOlderCheckpointLacksAreZero) {
  const auto bytes = test::bytes_of_hex(kVectorHex);
  write("checkpoint", {reinterpret_cast<const char*>(bytes.data()), 24 + 3});
  const JavaCheckpoint loaded = load();
  EXPECT_EQ(loaded.index_timestamp_ms, kVector.index_timestamp_ms);
  EXPECT_EQ(loaded.master_flushed, PhysicalOffset{0});
  EXPECT_EQ(loaded.confirm, PhysicalOffset{0});
}

TEST_F(JavaFilesTest, AnEmptyCheckpointIsAllZeros) {
  write("checkpoint", "");
  EXPECT_EQ(load().physic_timestamp_ms, 0);
}

TEST_F(JavaFilesTest, AMissingCheckpointIsNothing) {
  const auto loaded = files_.load_checkpoint();
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->has_value());
}

TEST_F(JavaFilesTest, TheHashTellsWhetherSomebodyElseWroteTheCheckpoint) {
  EXPECT_EQ(*files_.checkpoint_hash(), 0U);
  ASSERT_TRUE(files_.save_checkpoint(kVector));
  const std::uint64_t ours = *files_.checkpoint_hash();
  EXPECT_NE(ours, 0U);
  EXPECT_EQ(*files_.checkpoint_hash(), ours);
  rot("checkpoint", 15);
  EXPECT_NE(*files_.checkpoint_hash(), ours);
}

TEST_F(JavaFilesTest, BytesThatACrashLeftInTheTemporaryFileDoNotReachTheCheckpoint) {
  write("kerolox/java-checkpoint.tmp", std::string(9000, 'x'));
  ASSERT_TRUE(files_.save_checkpoint(kVector));
  EXPECT_EQ(read("checkpoint").size(), 4096U);
  EXPECT_EQ(load().confirm, kVector.confirm);
}

TEST_F(JavaFilesTest, AbortHoldsOurProcessIdAndNothingElse) {
  write("abort", "123456789012345");
  const auto pid = files_.create_abort();
  ASSERT_TRUE(pid);
  EXPECT_EQ(*pid, ::getpid());
  EXPECT_EQ(read("abort"), std::to_string(::getpid()));
  EXPECT_TRUE(*files_.abort_exists());
  EXPECT_EQ(*files_.abort_pid(), *pid);
}

TEST_F(JavaFilesTest, TheProcessIdOfAnAbortFileIsReadOrZero) {
  EXPECT_FALSE(files_.abort_pid()->has_value());
  for (const auto& [content, pid] : {std::pair{"4711", 4711},
                                     {"4711\n", 4711},
                                     {"", 0},
                                     {"x", 0},
                                     {"12x", 0},
                                     {"-4", 0},
                                     {"99999999999999999999999999999999999", 0}}) {
    write("abort", content);
    EXPECT_EQ(files_.abort_pid()->value_or(-1), pid) << content;
  }
}

TEST_F(JavaFilesTest, ARemovedAbortIsGoneAndRemovingItAgainIsNoError) {
  ASSERT_TRUE(files_.create_abort());
  EXPECT_TRUE(files_.remove_abort());
  EXPECT_FALSE(*files_.abort_exists());
  EXPECT_FALSE(std::filesystem::exists(directory() / "abort"));
  EXPECT_TRUE(files_.remove_abort());
}

TEST_F(JavaFilesTest, AStoreWithoutItsKeroloxFolderIsAnError) {
  std::filesystem::remove(directory() / "kerolox");
  const auto saved = files_.save_checkpoint(kVector);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory() / "checkpoint"));
}

}  // namespace
}  // namespace kerolox::storage
