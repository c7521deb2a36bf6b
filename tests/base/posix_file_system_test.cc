// The machine's files keep the contract of file_system.h, on the file system of the temporary
// directory. The locks have a test of their own: posix_lock_test.cc.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/scratch_directory.h"
#include "kerolox/base/file_system.h"
#include "storage/base/boot_id.h"

namespace kerolox {
namespace {

using Mode = OpenOptions::Mode;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class PosixFileSystemTest : public ::testing::Test {
 protected:
  std::filesystem::path path(std::string_view name) const { return scratch_.path() / name; }

  std::unique_ptr<File> open(std::string_view name, Mode mode = Mode::kCreateOrOpen,
                             bool direct = false) {
    auto file = files_.open(path(name), {.mode = mode, .direct = direct});
    EXPECT_TRUE(file) << file.error().text();
    return std::move(file).value();
  }

  std::unique_ptr<File> write(std::string_view name, std::string_view text) {
    std::unique_ptr<File> file = open(name);
    EXPECT_TRUE(file->write_at(0, as_bytes(text)));
    return file;
  }

  static std::string read(File& file, std::int64_t offset, std::size_t bytes) {
    std::string text(bytes, '?');
    const auto count = file.read_at(offset, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(count) << count.error().text();
    text.resize(*count);
    return text;
  }

  ScratchDirectory scratch_;
  FileSystem& files_ = posix_file_system();
};

// The calls of one child process, whose limits and identity may differ from the tests'. Answers the
// text of its error, or "none".
std::string error_in_child(const std::function<Result<void>()>& body) {
  std::array<int, 2> ends;
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<void> result = body();
    const std::string text = result ? "none" : result.error().text();
    const ssize_t sent = ::write(ends[1], text.data(), text.size());
    ::_exit(sent == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), 4096), 0)));
  ::close(ends[0]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return text;
}

TEST_F(PosixFileSystemTest, ReadsBackWhatWasWrittenAtAnyOffset) {
  const auto file = write("log", "one two");
  ASSERT_TRUE(file->write_at(4, as_bytes("TWO!")));
  EXPECT_EQ(read(*file, 0, 8), "one TWO!");
  EXPECT_EQ(read(*file, 4, 3), "TWO");
}

TEST_F(PosixFileSystemTest, AReadEndsWithTheFile) {
  const auto file = write("log", "short");
  EXPECT_EQ(read(*file, 2, 100), "ort");
  EXPECT_EQ(read(*file, 5, 100), "");
  EXPECT_EQ(read(*file, 500, 100), "");
}

TEST_F(PosixFileSystemTest, AWriteBeyondTheEndLeavesAHoleOfZeros) {
  const auto file = open("log");
  ASSERT_TRUE(file->write_at(1 << 20, as_bytes("x")));
  EXPECT_EQ(read(*file, 0, 3), std::string(3, '\0'));
  EXPECT_EQ(file->status().value().bytes, (1 << 20) + 1);
}

// The limit on file size cuts the first write short, so that the rest has to be tried again, and
// fails with the cause at the offset that was reached.
TEST_F(PosixFileSystemTest, AWriteThatTheKernelCutsShortIsContinued) {
  const std::string text = error_in_child([&] {
    const rlimit limit{.rlim_cur = 8192, .rlim_max = 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    return open("log")->write_at(0, std::vector<std::byte>(10'000, std::byte{7}));
  });
  EXPECT_EQ(text, path("log").native() + " at 8192: pwrite: File too large");
  EXPECT_EQ(files_.status(path("log")).value().bytes, 8192);
}

TEST_F(PosixFileSystemTest, OpeningModesDifferOnMissingAndExistingFiles) {
  EXPECT_EQ(files_.open(path("log"), {}).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_.open(path("log"), {.mode = Mode::kReadWrite}).error().code(),
            ErrorCode::kNotFound);
  EXPECT_TRUE(files_.open(path("log"), {.mode = Mode::kCreateNew}));
  const auto again = files_.open(path("log"), {.mode = Mode::kCreateNew});
  EXPECT_EQ(again.error().code(), ErrorCode::kIoError);
  EXPECT_EQ(again.error().os_error(), EEXIST);
  EXPECT_TRUE(files_.open(path("log"), {.mode = Mode::kCreateOrOpen}));
  EXPECT_TRUE(files_.open(path("log"), {.mode = Mode::kReadWrite}));
}

TEST_F(PosixFileSystemTest, AFailedCallIsNamedWithItsPath) {
  EXPECT_THAT(files_.open(path("none"), {}).error().text(),
              StartsWith(path("none").native() + ": open: No such file"));
  EXPECT_THAT(files_.status(path("none")).error().text(), HasSubstr("none: statx: "));
  EXPECT_THAT(files_.list(path("none")).error().text(), HasSubstr("none: opendir: "));
  EXPECT_THAT(files_.remove(path("none")).error().text(), HasSubstr("none: unlink: "));
  EXPECT_THAT(files_.rename(path("none"), path("b")).error().text(), HasSubstr("b: rename: "));
  EXPECT_THAT(files_.sync_directory(path("none")).error().text(), HasSubstr("none: open: "));
  EXPECT_THAT(files_.space(path("none")).error().text(), HasSubstr("none: statvfs: "));
}

TEST_F(PosixFileSystemTest, AReadOnlyFileRefusesEveryChange) {
  write("log", "text");
  const auto file = open("log", Mode::kReadOnly);
  EXPECT_THAT(file->write_at(2, as_bytes("x")).error().text(), HasSubstr("log at 2: pwrite: "));
  EXPECT_THAT(file->resize(9).error().text(), HasSubstr("log at 9: ftruncate: "));
  EXPECT_THAT(file->reserve(0, 9).error().text(), HasSubstr("log at 0: fallocate: "));
  EXPECT_EQ(file->map(0, 4, true).error().code(), ErrorCode::kPermission);
  EXPECT_EQ(read(*file, 0, 9), "text");
}

TEST_F(PosixFileSystemTest, WithoutPermissionTheErrorSaysSo) {
  const auto file = write("log", "text");
  ASSERT_EQ(::chmod(path("log").c_str(), 0), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0755), 0);
  const std::string text = error_in_child([&]() -> Result<void> {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) {
      return {};
    }
    auto opened = files_.open(path("log"), {});
    return opened ? Result<void>() : opened.error();
  });
  EXPECT_THAT(text, HasSubstr("log: open: Permission denied; check the owner"));
}

TEST_F(PosixFileSystemTest, ADirectoryOrAFifoInPlaceOfAFileFailsAtOnce) {
  EXPECT_EQ(files_.open(scratch_.path(), {.mode = Mode::kReadWrite}).error().os_error(), EISDIR);
  std::array<std::byte, 4> buffer;
  EXPECT_EQ(open("", Mode::kReadOnly)->read_at(0, buffer).error().os_error(), EISDIR);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(open("fifo", Mode::kReadOnly)->read_at(0, buffer).error().os_error(), ESPIPE);
}

TEST_F(PosixFileSystemTest, AFileIsNotInheritedByOtherPrograms) {
  const auto file = open("log");
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry, ignored) == path("log")) {
      const int fd = std::stoi(entry.path().filename());
      EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
      return;
    }
  }
  FAIL() << "the open file is not in /proc/self/fd";
}

TEST_F(PosixFileSystemTest, ResizingCutsAndExtendsWithZeros) {
  const auto file = write("log", "abcdef");
  ASSERT_TRUE(file->resize(3));
  ASSERT_TRUE(file->resize(5));
  EXPECT_EQ(read(*file, 0, 10), std::string("abc\0\0", 5));
  EXPECT_EQ(file->resize(-1).error().os_error(), EINVAL);
}

TEST_F(PosixFileSystemTest, ReservingGivesBlocksAndKeepsContentAndLength) {
  const auto file = write("log", "abc");
  ASSERT_TRUE(file->reserve(0, 1 << 20));
  const FileStatus status = file->status().value();
  EXPECT_EQ(status.bytes, 3);
  EXPECT_GE(status.allocated_bytes, 1 << 20);
  EXPECT_EQ(read(*file, 0, 10), "abc");
}

// Nothing that /proc offers can be reserved or opened for direct I/O, on any machine.
TEST_F(PosixFileSystemTest, WhatTheFileSystemCannotDoIsUnsupported) {
  const auto direct = files_.open("/proc/self/status", {.direct = true});
  EXPECT_EQ(direct.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(direct.error().text(), StartsWith("/proc/self/status: open: "));
  const auto file = files_.open("/proc/self/comm", {.mode = Mode::kReadWrite});
  ASSERT_TRUE(file);
  const auto reserved = file.value()->reserve(0, 4096);
  EXPECT_EQ(reserved.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(reserved.error().text(), StartsWith("/proc/self/comm at 0: fallocate: "));
}

TEST_F(PosixFileSystemTest, AFailedSyncIsAnError) {
  EXPECT_TRUE(write("log", "abc")->sync());
  const auto file = files_.open("/proc/self/comm", {});
  ASSERT_TRUE(file);
  EXPECT_THAT(file.value()->sync().error().text(), StartsWith("/proc/self/comm: fdatasync: "));
}

TEST_F(PosixFileSystemTest, StatusTellsFilesDirectoriesAndLostNamesApart) {
  const auto file = write("log", "abc");
  const FileStatus by_name = files_.status(path("log")).value();
  EXPECT_EQ(by_name.bytes, 3);
  EXPECT_EQ(by_name.link_count, 1);
  EXPECT_FALSE(by_name.directory);
  EXPECT_EQ(by_name.inode, file->status().value().inode);
  EXPECT_EQ(by_name.device, file->status().value().device);
  EXPECT_TRUE(files_.status(scratch_.path()).value().directory);

  ASSERT_TRUE(files_.remove(path("log")));
  EXPECT_EQ(file->status().value().link_count, 0);
}

TEST_F(PosixFileSystemTest, ASparseFileOccupiesLessThanItsLengthAndItsDataIsFound) {
  const auto file = open("log");
  ASSERT_TRUE(file->resize(8 << 20));
  EXPECT_EQ(file->next_data(0).value(), std::nullopt);
  ASSERT_TRUE(file->write_at(4 << 20, as_bytes("x")));
  EXPECT_EQ(file->next_data(0).value(), 4 << 20);
  EXPECT_EQ(file->next_data(4 << 20).value(), 4 << 20);
  EXPECT_EQ(file->next_data(6 << 20).value(), std::nullopt);
  EXPECT_EQ(file->next_data(9 << 20).value(), std::nullopt);
  EXPECT_LT(file->status().value().allocated_bytes, 1 << 20);
}

TEST_F(PosixFileSystemTest, AMappingAndTheFileShowEachOther) {
  const auto file = write("log", std::string(8192, '.'));
  auto region = file->map(4096, 4096, true);
  ASSERT_TRUE(region);
  ASSERT_TRUE(file->write_at(4096, as_bytes("written")));
  EXPECT_EQ(region.value()->bytes()[0], std::byte{'w'});
  region.value()->bytes()[1] = std::byte{'!'};
  EXPECT_EQ(read(*file, 4096, 7), "w!itten");
  EXPECT_TRUE(file->sync());
}

TEST_F(PosixFileSystemTest, ForgettingLosesNothingSyncedOrNot) {
  const auto file = open("log");
  ASSERT_TRUE(file->resize(3 * 4096));
  const auto region = file->map(0, 3 * 4096, true).value();
  region->bytes()[0] = std::byte{'s'};
  ASSERT_TRUE(file->sync());
  region->bytes()[4096] = std::byte{'d'};
  region->forget(0, 2 * 4096);
  file->forget(0, 2 * 4096);
  EXPECT_EQ(region->bytes()[0], std::byte{'s'});
  EXPECT_EQ(region->bytes()[4096], std::byte{'d'});
  std::array<std::byte, 4097> read{};
  EXPECT_EQ(file->read_at(0, read).value(), read.size());
  EXPECT_EQ(read.front(), std::byte{'s'});
  EXPECT_EQ(read.back(), std::byte{'d'});
}

TEST_F(PosixFileSystemTest, AMappingOutlivesItsFile) {
  auto file = write("log", std::string(4096, '.'));
  auto region = file->map(0, 4096, true).value();
  file.reset();
  region->bytes()[0] = std::byte{'x'};
  EXPECT_EQ(read(*open("log"), 0, 2), "x.");
}

TEST_F(PosixFileSystemTest, AReadOnlyFileCanBeMappedForReading) {
  write("log", std::string(4096, 'r'));
  const auto region = open("log", Mode::kReadOnly)->map(0, 4096, false);
  ASSERT_TRUE(region);
  EXPECT_EQ(region.value()->bytes()[4095], std::byte{'r'});
}

TEST_F(PosixFileSystemTest, AWrongMappingIsRefused) {
  const auto file = write("log", std::string(8192, '.'));
  EXPECT_EQ(file->map(0, 0, false).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(file->map(0, -1, false).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(file->map(100, 10, false).error().text(), HasSubstr("log at 100: mmap: "));
}

TEST_F(PosixFileSystemTest, DirectReadsSeeWhatWasWrittenAndStopAtAnUnalignedEnd) {
  const auto buffered = write("log", std::string(5000, 'd'));
  const auto direct = files_.open(path("log"), {.mode = Mode::kReadOnly, .direct = true});
  ASSERT_TRUE(direct) << direct.error().text();
  alignas(kDirectAlignment) static std::array<std::byte, 4 * kDirectAlignment> buffer;
  const auto count = direct.value()->read_at(0, buffer);
  ASSERT_TRUE(count) << count.error().text();
  EXPECT_EQ(*count, 5000U);
  EXPECT_EQ(buffer[4999], std::byte{'d'});
  EXPECT_EQ(direct.value()->read_at(4096, buffer).value(), 904U);
  EXPECT_EQ(direct.value()->read_at(8192, buffer).value(), 0U);
}

TEST_F(PosixFileSystemTest, ListsSortedNamesAndKnowsDirectories) {
  write("b", "");
  write("a", "");
  ASSERT_TRUE(files_.create_directories(path("c")));
  std::filesystem::create_symlink("c", path("d"));
  std::string listed;
  const auto entries = files_.list(scratch_.path());
  for (const DirectoryEntry& entry : entries.value()) {
    listed += entry.name + (entry.directory ? "/ " : " ");
  }
  EXPECT_EQ(listed, "a b c/ d/ ");
}

TEST_F(PosixFileSystemTest, CreatesEveryMissingLevelOfADirectory) {
  EXPECT_TRUE(files_.create_directories(path("x/y/z")));
  EXPECT_TRUE(files_.status(path("x/y/z")).value().directory);
  EXPECT_TRUE(files_.create_directories(path("x/y/z")));
  EXPECT_TRUE(files_.create_directories(path("x/y/v/")));
  EXPECT_TRUE(files_.sync_directory(path("x/y")));
  write("file", "");
  EXPECT_EQ(files_.create_directories(path("file")).error().os_error(), EEXIST);
  EXPECT_EQ(files_.create_directories(path("file/below")).error().os_error(), ENOTDIR);
}

TEST_F(PosixFileSystemTest, RenamingReplacesTheTarget) {
  write("from", "new");
  write("to", "old");
  ASSERT_TRUE(files_.rename(path("from"), path("to")));
  EXPECT_EQ(read(*open("to"), 0, 9), "new");
  EXPECT_EQ(files_.status(path("from")).error().code(), ErrorCode::kNotFound);
}

TEST_F(PosixFileSystemTest, RemovesFilesAndEmptyDirectoriesOnly) {
  ASSERT_TRUE(files_.create_directories(path("full/empty")));
  EXPECT_THAT(files_.remove(path("full")).error().text(), HasSubstr("full: rmdir: "));
  EXPECT_TRUE(files_.remove(path("full/empty")));
  EXPECT_TRUE(files_.remove(path("full")));
  write("file", "");
  EXPECT_TRUE(files_.remove(path("file")));
  EXPECT_TRUE(files_.list(scratch_.path()).value().empty());
}

TEST_F(PosixFileSystemTest, SpaceIsCountedInBytes) {
  const SpaceStatus space = files_.space(scratch_.path()).value();
  EXPECT_GT(space.total_bytes, 1 << 20);
  EXPECT_LE(space.available_bytes, space.total_bytes);
}

TEST_F(PosixFileSystemTest, WritingToAFullDeviceIsNoSpace) {
  auto full = files_.open("/dev/full", {.mode = Mode::kReadWrite});
  ASSERT_TRUE(full);
  const Result<void> written = full.value()->write_at(0, as_bytes("x"));
  EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
  EXPECT_THAT(written.error().text(), StartsWith("/dev/full at 0: pwrite: No space left"));
}

TEST_F(PosixFileSystemTest, AFullFileSystemRefusesBlocksAndWrites) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to mount a file system of 1 MiB";
  }
  ASSERT_EQ(::mount("none", scratch_.path().c_str(), "tmpfs", 0, "size=1m"), 0);
  {
    const auto file = open("log");
    EXPECT_EQ(file->reserve(0, 2 << 20).error().code(), ErrorCode::kNoSpace);
    EXPECT_EQ(file->write_at(0, std::vector<std::byte>(2 << 20)).error().code(),
              ErrorCode::kNoSpace);
    EXPECT_EQ(files_.space(scratch_.path()).value().total_bytes, 1 << 20);
  }
  EXPECT_EQ(::umount(scratch_.path().c_str()), 0);
}

TEST_F(PosixFileSystemTest, TheBootIdIsTheKernelsAndStays) {
  std::string expected;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> expected;
  ASSERT_EQ(expected.size(), 36U);
  EXPECT_EQ(files_.boot_id(), expected);
  EXPECT_EQ(files_.boot_id(), files_.boot_id());
}

TEST_F(PosixFileSystemTest, AnUnreadableBootIdNeverEqualsAnother) {
  write("empty", "");
  const std::string first = read_boot_id(path("missing").c_str());
  EXPECT_THAT(first, StartsWith("unknown-"));
  EXPECT_NE(first, read_boot_id(path("missing").c_str()));
  EXPECT_THAT(read_boot_id(path("empty").c_str()), StartsWith("unknown-"));
}

}  // namespace
}  // namespace kerolox
