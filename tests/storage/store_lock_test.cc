#include "storage/store_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/store_fixture.h"
#include "support/manual_clock.h"
#include "support/other_process.h"

namespace kerolox::storage {
namespace {

using test::OtherProcess;

class StoreLockTest : public StoreFixture {
 protected:
  std::filesystem::path store() const { return directory() / "a" / "store"; }
  Result<StoreLock> take() { return StoreLock::take(store(), disk(), clock_); }
  bool held() {
    const auto held = StoreLock::held(store(), disk());
    EXPECT_TRUE(held);
    return held && *held;
  }
  std::string owner() { return StoreLock::owner(store(), disk()); }
  // A process that has opened the store as we do.
  OtherProcess ours() {
    return OtherProcess([this] {
      static auto lock = take();
      return lock.has_value();
    });
  }
  // One that has as a Java broker does.
  OtherProcess java() {
    return OtherProcess([this] {
      std::filesystem::create_directories(store());
      return test::take_java_lock(store() / "lock");
    });
  }
  std::string refusal() {
    const auto taken = take();
    EXPECT_FALSE(taken);
    if (taken) {
      return "taken";
    }
    EXPECT_EQ(taken.error().code(), ErrorCode::kLocked);
    EXPECT_FALSE(taken.error().remedy().empty());
    return taken.error().message();
  }
  bool refusal_names(const OtherProcess& broker) {
    return refusal().ends_with("is open in pid " + std::to_string(broker.pid()) +
                               ", which left no stamp: a Java broker?");
  }

  ManualClock clock_{1767225600000};
};

TEST_F(StoreLockTest, TakingItMakesTheStoreAndStampsIt) {
  const auto lock = take();
  ASSERT_TRUE(lock) << lock.error().text();
  EXPECT_EQ(read("a/store/lock"), "lock");
  EXPECT_EQ(read("a/store/kerolox/owner").size(), 512U);
  EXPECT_TRUE(owner().starts_with("pid " + std::to_string(::getpid()) + " on ")) << owner();
  EXPECT_TRUE(owner().ends_with(" since 2026-01-01T00:00:00Z")) << owner();
  EXPECT_TRUE(held());
}

TEST_F(StoreLockTest, ASecondOpenInTheSameProcessIsRefusedByNameOfItsOwner) {
  const auto lock = take();
  ASSERT_TRUE(lock);
  EXPECT_EQ(refusal(), "store " + store().string() + " is open in " + owner());
}

TEST_F(StoreLockTest, TheLockGoesWithItsObject) {
  {
    ASSERT_TRUE(take());
  }
  EXPECT_FALSE(held());
  EXPECT_TRUE(take());
}

TEST_F(StoreLockTest, AnotherProcessThatHasItIsNamed) {
  const OtherProcess other = ours();
  ASSERT_TRUE(other.taken());
  EXPECT_TRUE(held());
  EXPECT_NE(refusal().find("is open in pid " + std::to_string(other.pid()) + " on "),
            std::string::npos);
}

TEST_F(StoreLockTest, TheLockAndStampOfADeadProcessNeedNoHuman) {
  OtherProcess other = ours();
  ASSERT_TRUE(other.taken());
  other.kill();
  EXPECT_FALSE(held());
  ASSERT_TRUE(take());
  EXPECT_NE(owner().find("pid " + std::to_string(::getpid())), std::string::npos);
}

TEST_F(StoreLockTest, AJavaBrokerIsNamedByItsProcessAndAsOneThatLeavesNoStamp) {
  const OtherProcess broker = java();
  ASSERT_TRUE(broker.taken());
  EXPECT_TRUE(held());
  EXPECT_TRUE(refusal_names(broker));
  // Nothing but the lock was touched.
  EXPECT_FALSE(std::filesystem::exists(store() / "kerolox" / "owner"));
}

TEST_F(StoreLockTest, AnOldStampDoesNotBlameItsDeadProcessForAJavaBrokersLock) {
  OtherProcess former = ours();
  ASSERT_TRUE(former.taken());
  former.kill();
  const OtherProcess broker = java();
  ASSERT_TRUE(broker.taken());
  EXPECT_TRUE(refusal_names(broker));
}

TEST_F(StoreLockTest, AStampFromBeforeTheMachineRestartedIsNotBlamedEither) {
  {
    ASSERT_TRUE(take());
  }
  std::string stamp = read("a/store/kerolox/owner");
  const std::size_t boot_id = stamp.find("boot_id: ") + 9;
  stamp[boot_id] = stamp[boot_id] == '0' ? '1' : '0';
  write("a/store/kerolox/owner", stamp);
  const OtherProcess broker = java();
  ASSERT_TRUE(broker.taken());
  EXPECT_TRUE(refusal_names(broker));
}

TEST_F(StoreLockTest, AStampOfAnotherHostIsBelieved) {
  write("a/store/kerolox/owner", "pid: 1\nhost: elsewhere\nsince: 2026-02-03T04:05:06Z\n");
  const OtherProcess other = java();
  EXPECT_TRUE(refusal().ends_with("in pid 1 on elsewhere since 2026-02-03T04:05:06Z"));
}

TEST_F(StoreLockTest, AStampOfGarbageIsNoStamp) {
  for (const char* garbage : {"", "pid: x\nhost: h\n", "pid: 12\n", "host: h\n", "\xff\xfe\x01"}) {
    write("a/store/kerolox/owner", garbage);
    EXPECT_EQ(owner(), "") << garbage;
  }
  write("a/store/kerolox/owner", std::string(1 << 20, '\0'));
  EXPECT_EQ(owner(), "");
}

TEST_F(StoreLockTest, UnprintableBytesOfAStampDoNotReachTheMessage) {
  write("a/store/kerolox/owner", "pid: 1\nhost: a\x1b[31mb\nsince: now\n");
  EXPECT_EQ(owner(), "pid 1 on a?[31mb since now");
}

TEST_F(StoreLockTest, ALockFileThatIsRightIsNotWrittenAgain) {
  {
    ASSERT_TRUE(take());
  }
  const auto written = std::filesystem::last_write_time(store() / "lock");
  const auto earlier = written - std::chrono::hours(1);
  std::filesystem::last_write_time(store() / "lock", earlier);
  ASSERT_TRUE(take());
  EXPECT_EQ(std::filesystem::last_write_time(store() / "lock"), earlier);
}

TEST_F(StoreLockTest, AFolderWhereTheStampBelongsIsAnErrorWithItsPlaceAndRemedy) {
  std::filesystem::create_directories(store() / "kerolox" / "owner");
  const auto taken = take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().place(), (store() / "kerolox" / "owner").string());
  EXPECT_FALSE(taken.error().remedy().empty());
}

TEST_F(StoreLockTest, AStoreThatIsNotThereIsNotHeldAndNotMade) {
  EXPECT_FALSE(held());
  EXPECT_EQ(owner(), "");
  EXPECT_FALSE(std::filesystem::exists(directory() / "a"));
}

TEST_F(StoreLockTest, AFileWhereTheStoreShouldBeIsAnError) {
  write("a/store", "");
  const auto taken = take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kIoError);
  EXPECT_NE(taken.error().place().find("store"), std::string::npos);
}

}  // namespace
}  // namespace kerolox::storage
