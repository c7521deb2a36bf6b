#include "storage/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "kerolox/base/endian.h"
#include "storage/checkpoint_format.h"
#include "storage/hash.h"
#include "storage/store_fixture.h"

namespace kerolox::storage {
namespace {

Checkpoint full_checkpoint() {
  return {.file_bytes = 65536,
          .boot_id = "9a1d0f6e-0000-4000-8000-000000000001",
          .min_offset = PhysicalOffset{65536},
          .synced = PhysicalOffset{70000},
          .written_limit = PhysicalOffset{131072},
          .last_record = PhysicalOffset{69800},
          .last_record_hash = 0xFEDCBA9876543210,
          .last_store_timestamp_ms = 1700000000123,
          .has_v2_records = true,
          .clean = true,
          .cut_to = PhysicalOffset{66000},
          .java_checkpoint_hash = 0x0123456789ABCDEF,
          .abort_pid = 4711,
          .own_ranges = {{PhysicalOffset{0}, PhysicalOffset{100}},
                         {PhysicalOffset{200}, PhysicalOffset{70000}}},
          .quarantine = {{PhysicalOffset{300}, 91, "body checksum"}},
          .queue_offsets = {{"orders", QueueId{3}, QueueOffset{12}},
                            {std::string(255, 't'), QueueId{0}, QueueOffset{1}}}};
}

std::vector<std::byte> encoded(const Checkpoint& checkpoint, std::uint64_t sequence = 1) {
  std::vector<std::byte> bytes;
  encode_checkpoint(checkpoint, sequence, bytes);
  return bytes;
}

// Gives `bytes` the checksum that they should have: damage that only its author can do.
void seal(std::vector<std::byte>& bytes) {
  store_big_endian(bytes.data() + 8, xxh3_64(std::span(bytes).subspan(16)));
}

TEST(CheckpointFormatTest, EveryFieldSurvivesItsBytes) {
  const Checkpoint written = full_checkpoint();
  const DecodedCheckpoint decoded = decode_checkpoint(encoded(written, 9));
  ASSERT_EQ(decoded.state, CheckpointState::kValid);
  EXPECT_EQ(decoded.sequence, 9U);
  const Checkpoint& read = decoded.checkpoint;
  EXPECT_EQ(read.file_bytes, written.file_bytes);
  EXPECT_EQ(read.boot_id, written.boot_id);
  EXPECT_EQ(read.min_offset, written.min_offset);
  EXPECT_EQ(read.synced, written.synced);
  EXPECT_EQ(read.written_limit, written.written_limit);
  EXPECT_EQ(read.last_record, written.last_record);
  EXPECT_EQ(read.last_record_hash, written.last_record_hash);
  EXPECT_EQ(read.last_store_timestamp_ms, written.last_store_timestamp_ms);
  EXPECT_TRUE(read.has_v2_records);
  EXPECT_TRUE(read.clean);
  EXPECT_EQ(read.cut_to, written.cut_to);
  EXPECT_EQ(read.java_checkpoint_hash, written.java_checkpoint_hash);
  EXPECT_EQ(read.abort_pid, written.abort_pid);
  EXPECT_EQ(read.own_ranges, written.own_ranges);
  ASSERT_EQ(read.quarantine.size(), 1U);
  EXPECT_EQ(read.quarantine[0].offset, PhysicalOffset{300});
  EXPECT_EQ(read.quarantine[0].bytes, 91);
  EXPECT_EQ(read.quarantine[0].fault, "body checksum");
  EXPECT_EQ(read.queue_offsets, written.queue_offsets);
}

TEST(CheckpointFormatTest, AnEmptyOneSurvivesToo) {
  const DecodedCheckpoint decoded = decode_checkpoint(encoded({}));
  ASSERT_EQ(decoded.state, CheckpointState::kValid);
  EXPECT_FALSE(decoded.checkpoint.clean);
  EXPECT_FALSE(decoded.checkpoint.cut_to.has_value());
  EXPECT_EQ(decoded.checkpoint.last_record, PhysicalOffset{-1});
}

TEST(CheckpointFormatTest, AnyFlippedBitIsSeen) {
  const std::vector<std::byte> good = encoded(full_checkpoint());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_EQ(decode_checkpoint(bad).state, CheckpointState::kDamaged) << "bit " << bit;
  }
}

TEST(CheckpointFormatTest, AnyShorterPieceIsSeen) {
  const std::vector<std::byte> good = encoded(full_checkpoint());
  for (std::size_t bytes = 1; bytes < good.size(); ++bytes) {
    ASSERT_EQ(decode_checkpoint(std::span(good).first(bytes)).state, CheckpointState::kDamaged);
  }
}

TEST(CheckpointFormatTest, WhatFollowsTheContentDoesNotMatter) {
  std::vector<std::byte> bytes = encoded(full_checkpoint());
  bytes.resize(bytes.size() + 1000, std::byte{0xEE});
  EXPECT_EQ(decode_checkpoint(bytes).state, CheckpointState::kValid);
}

TEST(CheckpointFormatTest, AHostileCountIsNotBelievedEvenUnderARightChecksum) {
  for (const std::size_t at : {116U, 120U, 124U}) {  // own ranges, quarantine, queues
    std::vector<std::byte> bytes = encoded(full_checkpoint());
    store_big_endian(bytes.data() + at, std::uint32_t{0xFFFFFFFF});
    seal(bytes);
    EXPECT_EQ(decode_checkpoint(bytes).state, CheckpointState::kDamaged) << at;
  }
}

TEST(CheckpointFormatTest, AHostileLengthIsNotBelieved) {
  std::vector<std::byte> bytes = encoded(full_checkpoint());
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{39},
                                    std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    store_big_endian(bytes.data() + 32, length);
    seal(bytes);
    EXPECT_FALSE(claimed_checkpoint_bytes(bytes, std::int64_t{1} << 50)) << length;
    EXPECT_EQ(decode_checkpoint(bytes).state, CheckpointState::kDamaged) << length;
  }
}

TEST(CheckpointFormatTest, OffsetsOutOfOrderAreDamageEvenUnderARightChecksum) {
  struct Case {
    std::size_t at;
    std::int64_t value;
  };
  // file_bytes, synced, synced above written_limit, last_record, cut_to, begin of an own range
  for (const Case& wrong : {Case{40, -1}, Case{48, -1}, Case{48, 131073}, Case{64, -2},
                            Case{88, -5}, Case{128 + 2 + 36, -1}, Case{128 + 2 + 36 + 16, 99}}) {
    std::vector<std::byte> bytes = encoded(full_checkpoint());
    store_big_endian(bytes.data() + wrong.at, wrong.value);
    seal(bytes);
    EXPECT_EQ(decode_checkpoint(bytes).state, CheckpointState::kDamaged) << wrong.at;
  }
}

TEST(CheckpointFormatTest, TenThousandQueuesTakeLessThanTwoMilliseconds) {
  Checkpoint checkpoint = full_checkpoint();
  for (std::int32_t queue = 0; queue < 10000; ++queue) {
    checkpoint.queue_offsets.push_back(
        {"topic-" + std::to_string(queue / 8), QueueId{queue % 8}, QueueOffset{queue}});
  }
  std::vector<std::byte> bytes;
  auto fastest = std::chrono::nanoseconds::max();
  for (int round = 0; round < 20; ++round) {  // the fastest of them: the machine may be busy
    const auto begin = std::chrono::steady_clock::now();
    encode_checkpoint(checkpoint, 1, bytes);
    fastest = std::min(fastest, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  EXPECT_EQ(decode_checkpoint(bytes).checkpoint.queue_offsets, checkpoint.queue_offsets);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(fastest, std::chrono::milliseconds(2));
#endif
}

class CheckpointFilesTest : public StoreFixture {
 protected:
  static Checkpoint at(std::int64_t synced) {
    return {.synced = PhysicalOffset{synced}, .written_limit = PhysicalOffset{synced}};
  }
  void save(CheckpointFiles& files, const Checkpoint& checkpoint) {
    const Result<void> saved = files.save(checkpoint);
    ASSERT_TRUE(saved) << saved.error().text();
  }
  std::optional<Checkpoint> load(CheckpointFiles& files) {
    auto loaded = files.load();
    EXPECT_TRUE(loaded) << loaded.error().text();
    return loaded ? std::move(*loaded) : std::nullopt;
  }
  std::int64_t loaded_synced() {
    CheckpointFiles files(directory(), disk());
    const auto checkpoint = load(files);
    return checkpoint ? checkpoint->synced.value : -1;
  }
  // Three saves: b holds 200, a holds 300.
  void save_three() {
    CheckpointFiles files(directory(), disk());
    EXPECT_FALSE(load(files));
    save(files, at(100));
    save(files, at(200));
    save(files, at(300));
  }
};

TEST_F(CheckpointFilesTest, TheNewestIsLoaded) {
  save_three();
  EXPECT_EQ(loaded_synced(), 300);
}

TEST_F(CheckpointFilesTest, AnotherRunGoesOnInTheOlderCopy) {
  save_three();
  CheckpointFiles files(directory(), disk());
  ASSERT_TRUE(load(files));
  save(files, at(400));
  EXPECT_EQ(loaded_synced(), 400);
  rot("checkpoint-b", 50);
  EXPECT_EQ(loaded_synced(), 300);
}

TEST_F(CheckpointFilesTest, ATornNewestLeavesTheOneBefore) {
  save_three();
  rot("checkpoint-a", 50);
  CheckpointFiles files(directory(), disk());
  EXPECT_EQ(load(files)->synced, PhysicalOffset{200});
  EXPECT_EQ(files.damaged_copies(), 1);
  // The good copy must not be the one that is overwritten next.
  save(files, at(500));
  rot("checkpoint-a", 50);
  EXPECT_EQ(loaded_synced(), 200);
}

TEST_F(CheckpointFilesTest, TwoDamagedCopiesAreNothingButAreToldFromNone) {
  CheckpointFiles files(directory(), disk());
  EXPECT_FALSE(load(files));
  EXPECT_EQ(files.damaged_copies(), 0);
  save_three();
  rot("checkpoint-a", 0);
  rot("checkpoint-b", 60);
  EXPECT_FALSE(load(files));
  EXPECT_EQ(files.damaged_copies(), 2);
  save(files, at(700));
  EXPECT_EQ(loaded_synced(), 700);
}

TEST_F(CheckpointFilesTest, ATruncatedCopyIsDamaged) {
  save_three();
  std::filesystem::resize_file(directory() / "checkpoint-a", 100);
  CheckpointFiles files(directory(), disk());
  EXPECT_EQ(load(files)->synced, PhysicalOffset{200});
  EXPECT_EQ(files.damaged_copies(), 1);
}

TEST_F(CheckpointFilesTest, ANewerFormatIsRefusedByItsNumber) {
  save_three();
  std::vector<std::byte> bytes = encoded(full_checkpoint(), 2);
  store_big_endian(bytes.data() + 16, std::uint32_t{7});
  seal(bytes);
  write("checkpoint-b", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  CheckpointFiles files(directory(), disk());
  const auto loaded = files.load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(loaded.error().numbers().at(0).value, 7);
  EXPECT_NE(loaded.error().place().find("checkpoint-b"), std::string::npos);
  EXPECT_FALSE(loaded.error().remedy().empty());
}

TEST_F(CheckpointFilesTest, AShorterContentDoesNotShortenTheFile) {
  CheckpointFiles files(directory(), disk());
  EXPECT_FALSE(load(files));
  Checkpoint large = at(1);
  for (std::int32_t queue = 0; queue < 5000; ++queue) {
    large.queue_offsets.push_back({"a-topic-of-some-length", QueueId{queue}, QueueOffset{1}});
  }
  save(files, large);
  const auto bytes = std::filesystem::file_size(directory() / "checkpoint-a");
  save(files, at(2));
  save(files, at(3));
  EXPECT_EQ(std::filesystem::file_size(directory() / "checkpoint-a"), bytes);
  EXPECT_EQ(loaded_synced(), 3);
}

TEST_F(CheckpointFilesTest, BothCopiesHaveTheirBlocksFromTheFirstSaveOn) {
  CheckpointFiles files(directory(), disk());
  EXPECT_FALSE(load(files));
  save(files, at(1));
  for (const char* name : {"checkpoint-a", "checkpoint-b"}) {
    const auto status = disk().status(directory() / name);
    ASSERT_TRUE(status);
    EXPECT_GE(status->bytes, 65536) << name;
    const auto file = disk().open(directory() / name, {});
    ASSERT_TRUE((*file)->next_data(0)->has_value());
  }
}

TEST_F(CheckpointFilesTest, ACopyWhoseNameIsGoneIsMadeAnew) {
  CheckpointFiles files(directory(), disk());
  EXPECT_FALSE(load(files));
  save(files, at(1));
  save(files, at(2));
  std::filesystem::remove(directory() / "checkpoint-a");
  std::filesystem::remove(directory() / "checkpoint-b");
  save(files, at(3));
  EXPECT_EQ(loaded_synced(), 3);
}

TEST_F(CheckpointFilesTest, LoadingChangesNothing) {
  CheckpointFiles files(directory() / "kerolox", disk());
  EXPECT_FALSE(load(files));
  EXPECT_TRUE(std::filesystem::is_empty(directory()));
}

TEST_F(CheckpointFilesTest, AnyCheckpointSurvivesAnySequenceOfSaves) {
  std::mt19937_64 random(20240101);
  CheckpointFiles files(directory(), disk());
  EXPECT_FALSE(load(files));
  for (int round = 0; round < 50; ++round) {
    Checkpoint checkpoint = at(static_cast<std::int64_t>(random() % 1000000));
    for (std::size_t queues = random() % 3000; queues > 0; --queues) {
      checkpoint.queue_offsets.push_back({std::string(random() % 128, 'x'),
                                          QueueId{static_cast<std::int32_t>(queues)},
                                          QueueOffset{static_cast<std::int64_t>(random() >> 1)}});
    }
    save(files, checkpoint);
    CheckpointFiles reader(directory(), disk());
    ASSERT_EQ(load(reader)->queue_offsets, checkpoint.queue_offsets) << "round " << round;
  }
}

}  // namespace
}  // namespace kerolox::storage
