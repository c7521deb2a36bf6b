#include "storage/log_layout.h"

#include <gtest/gtest.h>

#include <clocale>

#include "storage/store_fixture.h"

namespace kerolox::storage {
namespace {

class LogLayoutTest : public StoreFixture {
 protected:
  static constexpr std::int64_t kFileBytes = 4096;

  void add(std::int64_t base, std::uintmax_t bytes = kFileBytes, const char* folder = "commitlog") {
    write_sized(std::filesystem::path(folder) / log_file_name(PhysicalOffset{base}), bytes);
  }
  Result<LogLayout> layout(std::int64_t file_bytes = 0,
                           const std::vector<const char*>& folders = {"commitlog"}) {
    std::vector<std::filesystem::path> directories;
    for (const char* folder : folders) {
      directories.push_back(directory() / folder);
    }
    return read_log_layout(directories, file_bytes, disk());
  }
  LogLayout good(std::int64_t file_bytes = 0) {
    auto found = layout(file_bytes);
    EXPECT_TRUE(found) << found.error().text();
    return found ? *found : LogLayout{};
  }
  void expect_error(ErrorCode code, std::string_view place, std::string_view message,
                    std::int64_t file_bytes = 0) {
    const auto found = layout(file_bytes);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), code) << found.error().text();
    EXPECT_NE(found.error().place().find(place), std::string::npos) << found.error().text();
    EXPECT_NE(found.error().message().find(message), std::string::npos) << found.error().text();
    EXPECT_FALSE(found.error().remedy().empty());
  }
  static std::vector<std::int64_t> bases(const LogLayout& layout) {
    std::vector<std::int64_t> values;
    for (const LogFileEntry& file : layout.files) {
      values.push_back(file.base.value);
    }
    return values;
  }
};

TEST_F(LogLayoutTest, FilesComeInTheOrderOfTheirOffsets) {
  add(8192);
  add(0);
  add(4096);
  const LogLayout found = good();
  EXPECT_EQ(found.file_bytes, kFileBytes);
  EXPECT_EQ(bases(found), (std::vector<std::int64_t>{0, 4096, 8192}));
  EXPECT_EQ(found.files[1].path, directory() / "commitlog" / "00000000000000004096");
  EXPECT_TRUE(found.empty_files.empty());
}

TEST_F(LogLayoutTest, TheFileOfAnOffsetIsFoundUnlessItIsInAGap) {
  add(4096);
  add(12288);
  const LogLayout found = good();
  EXPECT_EQ(found.file_of(PhysicalOffset{4095}), nullptr);
  EXPECT_EQ(found.file_of(PhysicalOffset{4096})->base, PhysicalOffset{4096});
  EXPECT_EQ(found.file_of(PhysicalOffset{8191})->base, PhysicalOffset{4096});
  EXPECT_EQ(found.file_of(PhysicalOffset{8192}), nullptr);
  EXPECT_EQ(found.file_of(PhysicalOffset{16383})->base, PhysicalOffset{12288});
  EXPECT_EQ(found.file_of(PhysicalOffset{16384}), nullptr);
  EXPECT_EQ(LogLayout{}.file_of(PhysicalOffset{0}), nullptr);
}

TEST_F(LogLayoutTest, W20NamesAreTwentyAsciiDigitsWhateverTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "");
  EXPECT_EQ(log_file_name(PhysicalOffset{0}), "00000000000000000000");
  EXPECT_EQ(log_file_name(PhysicalOffset{1073741824}), "00000000001073741824");
  EXPECT_EQ(log_file_name(PhysicalOffset{INT64_MAX}), "09223372036854775807");
  std::setlocale(LC_ALL, before.c_str());
}

TEST_F(LogLayoutTest, AMissingDirectoryIsNotFound) {
  expect_error(ErrorCode::kNotFound, "commitlog", "no log");
}

TEST_F(LogLayoutTest, AnEmptyDirectoryIsAnEmptyLog) {
  std::filesystem::create_directories(directory() / "commitlog");
  EXPECT_EQ(good().file_bytes, 0);
  EXPECT_TRUE(good(65536).files.empty());
}

TEST_F(LogLayoutTest, AForeignFileIsNamed) {
  add(0);
  for (const char* name :
       {"notes.txt", "0000000000000004096", "000000000000000000000", "0000000000000000409x",
        "99999999999999999999", "-0000000000000000001", ".00000000000000000000"}) {
    write(std::filesystem::path("commitlog") / name, "x");
    expect_error(ErrorCode::kCorruption, name, "not a log file");
    std::filesystem::remove(directory() / "commitlog" / name);
  }
  EXPECT_EQ(good().files.size(), 1U);
}

TEST_F(LogLayoutTest, SubFoldersAreSkipped) {
  add(0);
  write("commitlog/lost+found/x", "");
  std::filesystem::create_directories(directory() / "commitlog" / "00000000000000004096");
  EXPECT_EQ(good().files.size(), 1U);
}

TEST_F(LogLayoutTest, AnotherFileSizeIsNamedWithTheOptionThatOpensIt) {
  add(0);
  add(4096);
  expect_error(ErrorCode::kInvalidArgument, "00000000000000000000", "another size", 65536);
  const auto found = layout(65536);
  EXPECT_NE(found.error().remedy().find("file_bytes = 4096"), std::string::npos);
  EXPECT_NE(found.error().remedy().find("--log_file_bytes=4096"), std::string::npos);
  EXPECT_EQ(good(4096).files.size(), 2U);
}

TEST_F(LogLayoutTest, ATruncatedFileIsNamed) {
  add(0);
  add(4096, 4000);
  add(8192);
  expect_error(ErrorCode::kCorruption, "00000000000000004096", "truncated");
}

TEST_F(LogLayoutTest, AnOversizedFileIsNamed) {
  add(0);
  add(4096);
  add(8192, 4097);
  expect_error(ErrorCode::kCorruption, "00000000000000008192", "too long");
}

TEST_F(LogLayoutTest, OfTwoLengthsTheNamesSayWhichIsRight) {
  add(4096, 5000);
  add(8192, 4096);
  expect_error(ErrorCode::kCorruption, "00000000000000004096", "too long");
}

TEST_F(LogLayoutTest, AZeroLengthLastFileIsLeftOutAndListed) {
  add(0);
  add(4096, 0);
  const LogLayout found = good();
  EXPECT_EQ(bases(found), std::vector<std::int64_t>{0});
  ASSERT_EQ(found.empty_files.size(), 1U);
  EXPECT_EQ(found.empty_files[0].filename(), "00000000000000004096");
}

TEST_F(LogLayoutTest, AZeroLengthFileAloneIsAnEmptyLog) {
  add(0, 0);
  const LogLayout found = good();
  EXPECT_TRUE(found.files.empty());
  EXPECT_EQ(found.empty_files.size(), 1U);
}

TEST_F(LogLayoutTest, AZeroLengthFileBeforeOthersIsTruncated) {
  add(0, 0);
  add(4096);
  add(8192);
  expect_error(ErrorCode::kCorruption, "00000000000000000000", "truncated");
}

TEST_F(LogLayoutTest, OnlyTheLastOfTwoZeroLengthFilesCanBeACrashs) {
  add(0, 0);
  add(4096, 0);
  expect_error(ErrorCode::kCorruption, "00000000000000000000", "truncated");
}

TEST_F(LogLayoutTest, ANameThatIsNoMultipleOfTheSizeIsNamed) {
  add(0);
  add(4100);
  expect_error(ErrorCode::kCorruption, "00000000000000004100", "multiple");
}

TEST_F(LogLayoutTest, AGapIsLeftToRecovery) {
  add(0);
  add(8192);
  EXPECT_EQ(bases(good()), (std::vector<std::int64_t>{0, 8192}));
}

TEST_F(LogLayoutTest, SeveralDirectoriesMakeOneLog) {
  add(0, kFileBytes, "one");
  add(4096, kFileBytes, "two");
  add(8192, kFileBytes, "one");
  const auto found = layout(0, {"two", "one", "missing"});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(bases(*found), (std::vector<std::int64_t>{0, 4096, 8192}));
  EXPECT_EQ(found->files[1].path.parent_path(), directory() / "two");
}

TEST_F(LogLayoutTest, TheSameFileInTwoDirectoriesIsAnErrorThatNamesBoth) {
  add(0, kFileBytes, "one");
  add(0, kFileBytes, "two");
  const auto found = layout(0, {"one", "two"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(found.error().text().find("one/0000"), std::string::npos);
  EXPECT_NE(found.error().text().find("two/0000"), std::string::npos);
}

TEST_F(LogLayoutTest, AFileInTheDirectorysPlaceIsAnError) {
  write("commitlog", "");
  const auto found = layout();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kIoError);
}

class SupportedStoreTest : public StoreFixture {
 protected:
  Result<void> check(bool for_writing) { return check_supported(directory(), for_writing, disk()); }
  void expect_refused(const Result<void>& result, std::string_view place, std::string_view what) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(result.error().place().find(place), std::string::npos) << result.error().text();
    EXPECT_NE(result.error().message().find(what), std::string::npos) << result.error().text();
    EXPECT_FALSE(result.error().remedy().empty());
  }
  void expect_readable_only(std::string_view place, std::string_view what) {
    EXPECT_TRUE(check(false));
    expect_refused(check(true), place, what);
  }
};

TEST_F(SupportedStoreTest, AnEmptyOrMissingStoreIsFine) {
  EXPECT_TRUE(check(true));
  EXPECT_TRUE(check_supported(directory() / "missing", true, disk()));
}

TEST_F(SupportedStoreTest, AStoreWithALogAndFilesThatDoNotMatterIsFine) {
  write("commitlog/00000000000000000000", "x");
  write("config/topics.json", "{}");
  write("timerlog/00000000000000000000", "x");
  write("timerwheel", "x");
  write("checkpoint", "x");
  write("abort", "1");
  std::filesystem::create_directories(directory() / "consumequeue/orders/0");
  std::filesystem::create_directories(directory() / "index");
  std::filesystem::create_directories(directory() / "dledger-n0/data");
  EXPECT_TRUE(check(true));
}

TEST_F(SupportedStoreTest, DLedgerIsRefusedEvenForReading) {
  write("dledger-n0/data/00000000000000000000", "x");
  expect_refused(check(false), "dledger-n0", "DLedger");
  expect_refused(check(true), "dledger-n0", "DLedger");
}

TEST_F(SupportedStoreTest, RocksDbQueuesAreReadOnly) {
  write("consumequeue/CURRENT", "MANIFEST-000004\n");
  expect_readable_only("consumequeue", "RocksDB");
}

TEST_F(SupportedStoreTest, RocksDbTablesAreReadOnly) {
  write("config/consumerOffsets/MANIFEST-000004", "x");
  expect_readable_only("consumerOffsets", "RocksDB");
}

TEST_F(SupportedStoreTest, BatchQueuesAreReadOnly) {
  write("batchconsumequeue/orders/0/00000000000000000000", "x");
  expect_readable_only("batchconsumequeue", "batch consume queues");
}

TEST_F(SupportedStoreTest, CompactedTopicsAreReadOnly) {
  write("compaction/compactionLog/orders/0/00000000000000000000", "x");
  expect_readable_only("compaction", "compacted topics");
}

TEST_F(SupportedStoreTest, ExtendedQueuesAreReadOnly) {
  write("consumequeue_ext/orders/0/00000000000000000000", "x");
  expect_readable_only("consumequeue_ext", "extended consume queues");
}

TEST_F(SupportedStoreTest, LightMessageQueuesAreReadOnly) {
  write("consumequeue/orders/0/00000000000000000000", "x");
  write("consumequeue/%LMQ%lights/0/00000000000000000000", "x");
  expect_readable_only("%LMQ%lights", "light message queues");
}

TEST_F(SupportedStoreTest, QueuesThatJavaWroteAreReadOnlyForNow) {
  write("consumequeue/orders/0/00000000000000000000", "x");
  expect_readable_only("consumequeue/orders/0/0000", "queues that Java wrote");
}

TEST_F(SupportedStoreTest, AnIndexThatJavaWroteIsReadOnlyForNow) {
  write("index/20260101000000000", "x");
  expect_readable_only("index/2026", "an index that Java wrote");
}

}  // namespace
}  // namespace kerolox::storage
