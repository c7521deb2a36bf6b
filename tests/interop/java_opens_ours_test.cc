// RocketMQ opens stores that we wrote, and finds in them what we find; we refuse what we cannot
// keep right yet.
#include <csignal>

#include "crash/writer_process.h"
#include "interop/java_fixture.h"

namespace kerolox::interop {
namespace {

class JavaOpensOursTest : public JavaTest {};

TEST_F(JavaOpensOursTest, A53StoreDispatchesOurClosedStoreWhole) {
  const Plan plan{"21", "500", {"--delay-levels", "--v2-topic"}};
  ASSERT_NO_FATAL_FAILURE(put_plan(plan, {}));
  expect_equal_listings(plan);
}

TEST_F(JavaOpensOursTest, A53StoreOpensOursOfDefaultSizes) {
  const Plan plan{"22", "300", {"--delay-levels"}, ""};
  ASSERT_NO_FATAL_FAILURE(put_plan(plan, {"--record_crc=false"}));
  expect_equal_listings(plan);
}

TEST_F(JavaOpensOursTest, A49StoreOpensOursWithoutVersion2Records) {
  const Plan plan{"23", "500", {}};
  ASSERT_NO_FATAL_FAILURE(put_plan(plan, {}, "4.9.7"));
  expect_equal_listings(plan, "4.9.7");
}

TEST_F(JavaOpensOursTest, AStoreOfOursThatWasKilledIsJavasAfterItsRecovery) {
  const Plan plan{"", "", {}};
  crash::WriterProcess writer({.store = store(), .file_bytes = 65536});
  ASSERT_TRUE(writer.await_acknowledgements(300, std::chrono::seconds(30))) << writer.errors();
  writer.kill();
  ASSERT_TRUE(writer.ended_by_signal(SIGKILL)) << writer.errors();
  const tools::Finished recovered = kerolox({"store", "recover", "--store", store()});
  ASSERT_EQ(recovered.code, 0) << recovered.err;
  expect_equal_listings(plan);
}

TEST_F(JavaOpensOursTest, AStoreWithJavasQueuesIsRefusedForWritingAndLeftAsItIs) {
  const Plan plan{"24", "200", {}};
  const tools::Finished java = storeprobe(
      joined(joined({"write", "--kill", "--store", store()}, messages(plan)), sizes(plan)));
  ASSERT_EQ(java.code, 0) << java.err;
  const auto listed = [this] {
    return kerolox({"store", "export", "--store", store(), "--format=probe"}).out;
  };
  const std::string before = listed();
  const tools::Finished put =
      kerolox({"put", "--store", store(), "--topic", "t"}, {.input = "one more"});
  EXPECT_EQ(put.code, 1) << put.err;
  EXPECT_NE(put.err.find("consumequeue"), std::string::npos) << put.err;
  EXPECT_EQ(listed(), before);
}

}  // namespace
}  // namespace kerolox::interop
