// The files that we write for a plan are those that RocketMQ writes for it, byte for byte: all but
// the eight bytes of each record's store timestamp, which is the time of the run.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>

#include "interop/java_fixture.h"
#include "kerolox/base/endian.h"
#include "kerolox/base/file_system.h"

namespace kerolox::interop {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kHeadBytes = 88;
constexpr std::size_t kTimestampBytes = 8;

bool is_record(Bytes file, std::size_t at) {
  if (file.size() - at < kHeadBytes) {
    return false;
  }
  const auto magic = load_big_endian<std::uint32_t>(file.data() + at + 4);
  return magic == 0xDAA320A7 || magic == 0xDAA320AB;
}

// Where the store timestamp of the record at `at` stands: behind the born host.
std::size_t timestamp_at(Bytes file, std::size_t at) {
  const bool born_v6 = (load_big_endian<std::uint32_t>(file.data() + at + 36) & 0x10U) != 0;
  return at + (born_v6 ? 68 : 56);
}

bool equal(Bytes a, Bytes b, std::size_t from, std::size_t to) {
  return std::equal(a.begin() + static_cast<std::ptrdiff_t>(from),
                    a.begin() + static_cast<std::ptrdiff_t>(to),
                    b.begin() + static_cast<std::ptrdiff_t>(from));
}

// Walks the records of the first; the second has to have the same. Nothing: no difference.
std::string difference(Bytes ours, Bytes java) {
  if (ours.size() != java.size()) {
    return "lengths " + std::to_string(ours.size()) + " and " + std::to_string(java.size());
  }
  std::size_t at = 0;
  while (is_record(java, at)) {
    const auto bytes = load_big_endian<std::uint32_t>(java.data() + at);
    const std::size_t end = std::min(java.size(), at + bytes);
    const std::size_t masked = timestamp_at(java, at);
    if (!equal(ours, java, at, masked) || !equal(ours, java, masked + kTimestampBytes, end)) {
      return "the record at " + std::to_string(at) + " of the file differs";
    }
    at = end;
  }
  return equal(ours, java, at, java.size()) ? "" : "behind the records, from " + std::to_string(at);
}

class SameBytesTest : public JavaTest, public ::testing::WithParamInterface<Plan> {
 protected:
  std::vector<std::string> names(const std::string& store) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path(store) + "/commitlog")) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::string compare(const std::string& ours, const std::string& java) {
    const auto a = posix_file_system().open(ours, {});
    const auto b = posix_file_system().open(java, {});
    EXPECT_TRUE(a && b);
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(ours));
    const auto mapped_a = (*a)->map(0, bytes, false);
    const auto mapped_b =
        (*b)->map(0, static_cast<std::int64_t>(std::filesystem::file_size(java)), false);
    EXPECT_TRUE(mapped_a && mapped_b);
    return difference((*mapped_a)->bytes(), (*mapped_b)->bytes());
  }
};

TEST_P(SameBytesTest, APlanIsStoredAsRocketMqStoresIt) {
  const Plan& plan = GetParam();
  ASSERT_NO_FATAL_FAILURE(put_plan(plan, {"--record_crc=false"}));
  const tools::Finished java =
      storeprobe(joined(joined({"write", "--store", path("java")}, messages(plan)), sizes(plan)));
  ASSERT_EQ(java.code, 0) << java.err;
  const std::vector<std::string> files = names("java");
  ASSERT_EQ(names("store"), files);
  for (const std::string& file : files) {
    EXPECT_EQ(compare(store() + "/commitlog/" + file, path("java") + "/commitlog/" + file), "")
        << file;
  }
  if (!plan.log_file_bytes.empty()) {
    EXPECT_GE(files.size(), 4U) << "too few rolls";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, SameBytesTest,
    ::testing::Values(Plan{"11", "400", {"--delay-levels", "--v2-topic"}},
                      Plan{"12", "700", {"--delay-levels", "--v2-topic", "--size", "700"}},
                      Plan{"13", "2000", {"--v2-topic", "--size", "100", "--queues", "1"}},
                      Plan{"14", "500", {"--delay-levels", "--v2-topic"}, ""}),
    [](const auto& plan) { return "Seed" + plan.param.seed; });

}  // namespace
}  // namespace kerolox::interop
