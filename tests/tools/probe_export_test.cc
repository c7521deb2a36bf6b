// Stores that RocketMQ wrote, listed exactly as RocketMQ lists them.
#include <gtest/gtest.h>

#include <string>

#include "tools/command_fixture.h"

namespace kerolox::tools {
namespace {

class ProbeExportTest : public CommandTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ProbeExportTest, PrintsWhatRocketMqPrints) {
  const std::string name = std::string("stores/") + GetParam();
  unpack(name + ".tar.zst");
  const Finished listing = run_program(
      {"zstd", "-dcq", std::string(KEROLOX_SOURCE_DIR "/tests/golden/") + name + ".jsonl.zst"});
  ASSERT_EQ(listing.code, 0) << listing.err;
  const Finished run =
      kerolox({"store", "export", "--store", store(), "--format=probe", "--all_keys"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const auto ours = lines_of(run.out);
  const auto javas = lines_of(listing.out);
  ASSERT_EQ(ours.size(), javas.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i], javas[i]) << "line " << i + 1;
  }
  EXPECT_TRUE(run.out == listing.out);
}

TEST_P(ProbeExportTest, WithoutAllKeysTheKeyLinesAreMissingAndNothingElse) {
  const std::string name = std::string("stores/") + GetParam();
  unpack(name + ".tar.zst");
  const Finished all =
      kerolox({"store", "export", "--store", store(), "--format=probe", "--all_keys"});
  const Finished some = kerolox({"store", "export", "--store", store(), "--format=probe"});
  EXPECT_EQ(some.code, 0) << some.err;
  const std::size_t keys = all.out.find("{\"type\":\"key\"");
  ASSERT_NE(keys, std::string::npos);
  EXPECT_TRUE(some.out == all.out.substr(0, keys));
}

INSTANTIATE_TEST_SUITE_P(JavaStores, ProbeExportTest,
                         ::testing::Values("497-small-clean", "497-small-killed", "533-small-clean",
                                           "533-small-killed", "533-small-propcrc",
                                           "533-many-queues"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return "Store" + name;
                         });

class ProbeExportOfEmptyTest : public CommandTest {};

TEST_F(ProbeExportOfEmptyTest, AStoreWithoutALogFileHasNoOffsets) {
  std::filesystem::create_directories(store() + "/commitlog");
  const Finished run = kerolox({"store", "export", "--store", store(), "--format=probe"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "{\"type\":\"store\",\"minPhyOffset\":-1,\"maxPhyOffset\":0}\n");
}

}  // namespace
}  // namespace kerolox::tools
