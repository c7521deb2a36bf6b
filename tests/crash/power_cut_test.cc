// Power cuts on real file systems: a loop-mounted ext4 or XFS is shut down under a writer, so that
// all it had in memory is lost, and mounted again. What was acknowledged at level disk must be
// there; the acknowledgements are in this process, out of reach.
//
// The control is a writer that acknowledges before its sync: the same check must find it out.
//
// KEROLOX_SEED chooses other moments, KEROLOX_CUTS another number of cuts a file system.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "base/scratch_directory.h"
#include "crash/disk_image.h"
#include "crash/store_check.h"
#include "crash/writer_process.h"
#include "support/seeded_random.h"

namespace kerolox::crash {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::int64_t kImageBytes = std::int64_t{320} << 20;
constexpr std::int64_t kFileBytes = std::int64_t{256} << 10;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class PowerCutTest : public ::testing::TestWithParam<DiskKind> {
 protected:
  void SetUp() override {
    if (const std::string missing = why_mounting_is_impossible(); !missing.empty()) {
      GTEST_SKIP() << "power cuts need mounted file systems: " << missing;
    }
  }

  // The writer's disk loses its power at a random moment of full flow, and comes back.
  std::vector<WriterReport> cut(DiskImage& disk, const WriterOptions& options,
                                SeededRandom& random) {
    WriterProcess writer(options);
    EXPECT_TRUE(writer.await_acknowledgements(1 + random.below(3'000), seconds(30)))
        << writer.errors();
    writer.await_acknowledgements(SIZE_MAX, microseconds(random.below(20'000)));
    disk.cut_power();
    EXPECT_TRUE(writer.await_end(seconds(30))) << "the writer goes on without a disk";
    // XFS has a third answer beside failing calls: SIGBUS, once a page is stored to that it had
    // already written back. Only a signal handler could turn that into an error, and a library has
    // none; the machine is dead anyhow. What was acknowledged until then counts all the same.
    if (!(GetParam() == DiskKind::kXfs && writer.ended_by_signal(SIGBUS))) {
      EXPECT_EQ(writer.failure(), ErrorCode::kStoreFailed) << writer.errors();
    }
    disk.unmount();
    disk.mount();
    return writer.acknowledged();
  }

  ScratchDirectory scratch_;
};

TEST_P(PowerCutTest, NothingAcknowledgedFromTheDiskIsMissingAfterAnyCut) {
  const std::uint64_t seed = number_from_environment("KEROLOX_SEED", 1);
  const std::uint64_t cuts = number_from_environment("KEROLOX_CUTS", 10);
  SeededRandom random(seed);
  DiskImage disk(GetParam(), scratch_.path(), kImageBytes);
  std::vector<WriterReport> acknowledged;
  for (std::uint64_t number = 0; number < cuts && !HasFailure(); ++number) {
    SCOPED_TRACE("KEROLOX_SEED=" + std::to_string(seed) + ", cut " + std::to_string(number));
    const WriterOptions options{.store = disk.path() / "store",
                                .sync = number % 5 != 4,
                                .file_bytes = kFileBytes,
                                .run = static_cast<std::int64_t>(number),
                                .threads = number % 2 == 0 ? 1 : 4,
                                .in_flight = number % 3 == 0 ? 1 : 64};
    const std::vector<WriterReport> reports = cut(disk, options, random);
    acknowledged.insert(acknowledged.end(), reports.begin(), reports.end());
    for (const std::string& fault : faults_of({.store = options.store,
                                               .file_bytes = kFileBytes,
                                               .acknowledged_level = storage::LocalLevel::kDisk},
                                              acknowledged)) {
      ADD_FAILURE() << fault;
    }
  }
  std::cout << cuts << " cuts, " << acknowledged.size() << " acknowledgements\n";
}

// Even that writer may be lucky, its last messages synced just before the cut: so it has ten tries.
TEST_P(PowerCutTest, AWriterThatAcknowledgesBeforeItsSyncIsFoundOut) {
  SeededRandom random(number_from_environment("KEROLOX_SEED", 1));
  DiskImage disk(GetParam(), scratch_.path(), kImageBytes);
  std::vector<std::string> faults;
  for (int number = 0; number < 10 && faults.empty() && !HasFailure(); ++number) {
    const WriterOptions options{.store = disk.path() / ("store" + std::to_string(number)),
                                .file_bytes = kFileBytes,
                                .in_flight = 4096,
                                .early = true};
    const std::vector<WriterReport> acknowledged = cut(disk, options, random);
    faults = faults_of({.store = options.store,
                        .file_bytes = kFileBytes,
                        .acknowledged_level = storage::LocalLevel::kDisk},
                       acknowledged);
  }
  EXPECT_FALSE(faults.empty());
  for (const std::string& fault : faults) {
    EXPECT_TRUE(fault.starts_with("acknowledged and missing")) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Disks, PowerCutTest, ::testing::Values(DiskKind::kExt4, DiskKind::kXfs),
                         [](const auto& kind) { return name(kind.param); });

}  // namespace
}  // namespace kerolox::crash
