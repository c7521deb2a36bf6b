// Writers that are killed with SIGKILL in full flow: whatever was acknowledged, from memory or from
// the disk, is in the store afterwards, and nothing else is.
//
// KEROLOX_SEED chooses other moments, KEROLOX_KILLS another number of kills a store.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "base/scratch_directory.h"
#include "crash/store_check.h"
#include "crash/writer_process.h"
#include "support/seeded_random.h"

namespace kerolox::crash {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Load {
  const char* name;
  std::int64_t file_bytes;  // small: most kills hit a roll or its neighbourhood
  std::int64_t threads;
  std::int64_t in_flight;
  std::int64_t body_bytes;
};

class KillTest : public ::testing::TestWithParam<Load> {
 protected:
  // Half of the kills wait for some acknowledgements, the others for some time, so that they hit
  // opening and recovery, too.
  void kill_in_full_flow(WriterProcess& writer, SeededRandom& random) {
    if (random.chance(1, 2)) {
      ASSERT_TRUE(writer.await_acknowledgements(1 + random.below(400), seconds(30)))
          << writer.errors();
      writer.await_acknowledgements(SIZE_MAX, microseconds(random.below(3'000)));
    } else {
      writer.await_acknowledgements(SIZE_MAX, microseconds(random.below(40'000)));
    }
    writer.kill();
    ASSERT_TRUE(writer.ended_by_signal(SIGKILL)) << writer.errors();
  }

  // Another writer, killed; then all that any writer of this store was ever told must hold.
  void run_and_kill(std::int64_t run, bool sync, SeededRandom& random) {
    WriterProcess writer({.store = store_,
                          .sync = sync,
                          .file_bytes = GetParam().file_bytes,
                          .run = run,
                          .threads = GetParam().threads,
                          .in_flight = GetParam().in_flight,
                          .body_bytes = GetParam().body_bytes});
    ASSERT_NO_FATAL_FAILURE(kill_in_full_flow(writer, random));
    const std::vector<WriterReport> reports = writer.acknowledged();
    acknowledged_.insert(acknowledged_.end(), reports.begin(), reports.end());
    for (const std::string& fault : faults_of({.store = store_,
                                               .file_bytes = GetParam().file_bytes,
                                               .body_bytes = GetParam().body_bytes},
                                              acknowledged_)) {
      ADD_FAILURE() << fault;
    }
  }

  ScratchDirectory scratch_;
  const std::filesystem::path store_ = scratch_.path() / "store";
  std::vector<WriterReport> acknowledged_;
};

TEST_P(KillTest, NothingAcknowledgedIsMissingAfterAnyKill) {
  const std::uint64_t seed = number_from_environment("KEROLOX_SEED", 1);
  const std::uint64_t kills = number_from_environment("KEROLOX_KILLS", 10);
  SeededRandom random(seed + static_cast<std::uint64_t>(GetParam().file_bytes));
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE("KEROLOX_SEED=" + std::to_string(seed) + ", kill " + std::to_string(kill));
    run_and_kill(static_cast<std::int64_t>(kill), kill % 2 == 0, random);
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(acknowledged_.size(), 10 * kills) << "the kills came before there was anything to lose";
  std::cout << kills << " kills, " << acknowledged_.size() << " acknowledgements\n";
}

INSTANTIATE_TEST_SUITE_P(Loads, KillTest,
                         ::testing::Values(Load{"SmallFiles", 16384, 1, 64, 300},
                                           Load{"TinyRecords", 65536, 1, 256, 20},
                                           Load{"FourThreads", 65536 * 2, 4, 64, 300},
                                           Load{"OneInFlight", 65536 * 4, 1, 1, 300},
                                           Load{"LargeBodies", 1 << 20, 2, 16, 8000}),
                         [](const auto& load) { return std::string(load.param.name); });

}  // namespace
}  // namespace kerolox::crash
