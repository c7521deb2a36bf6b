// storage/FORMAT.md says what the code writes: each of its examples is encoded here and compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "kerolox/storage/client_batch.h"
#include "kerolox/storage/message_id.h"
#include "kerolox/storage/record.h"
#include "storage/checkpoint_format.h"
#include "storage/codec_support.h"
#include "storage/java_files.h"
#include "storage/store_fixture.h"
#include "storage/store_lock.h"

namespace kerolox::storage {
namespace {

using test::bytes_of;

// The example blocks of FORMAT.md by name, without spaces.
std::map<std::string, std::string> examples() {
  std::ifstream document(std::filesystem::path(KEROLOX_SOURCE_DIR) / "storage/FORMAT.md");
  std::map<std::string, std::string> found;
  std::string name;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) {
      const bool example = line.starts_with("```hex ") || line.starts_with("```text ");
      name = example ? line.substr(line.find(' ') + 1) : "";
    } else if (!name.empty()) {
      std::erase(line, ' ');
      found[name] += line;
    }
  }
  return found;
}

std::vector<std::byte> example_record() {
  const std::vector<Property> properties{{"KEYS", "order-1001 order-1002"},
                                         {"TAGS", "TagA"},
                                         {"UNIQ_KEY", "C000020A1F9018B4AAC20A1B2C3D0001"},
                                         {"CLUSTER", "DefaultCluster"}};
  Message message{.topic = "TopicTest",
                  .queue = QueueId{3},
                  .body = bytes_of("Hello RocketMQ"),
                  .properties = properties,
                  .born_timestamp_ms = 1700000000000,
                  .born_host = Host::parse("192.0.2.10:54321").value()};
  return test::encode(
             message,
             {.place = {.offset = {0}, .queue_offset = {7}, .store_timestamp_ms = 1700000000123},
              .host = Host::parse("192.0.2.1:10911").value()})
      .value();
}

std::string example_record_crc() {
  const std::vector<Property> properties{{"TAGS", "payment"},
                                         {"UNIQ_KEY", "C000020A1F9018B4AAC20A1B2C3E0002"}};
  Message message{.topic = "TopicTest",
                  .queue = QueueId{3},
                  .body = bytes_of("payload-2"),
                  .properties = properties,
                  .born_timestamp_ms = 1700000000000,
                  .born_host = Host::parse("[2001:db8::10]:54321").value()};
  const auto record =
      test::encode(
          message,
          {.place = {.offset = {216}, .queue_offset = {8}, .store_timestamp_ms = 1700000000456},
           .host = Host::parse("192.0.2.1:10911").value(),
           .record_crc = true})
          .value();
  return hex(std::span(record).last(kRecordCrcBytes));
}

std::string example_client_batch() {
  const std::vector<Message> messages{{.body = bytes_of("a")},
                                      {.tags = "b", .body = bytes_of("bb"), .flag = 5}};
  return hex(encode_client_batch(messages).value());
}

std::string example_checkpoint() {
  std::vector<std::byte> bytes;
  encode_checkpoint({.file_bytes = std::int64_t{1} << 30,
                     .boot_id = "b",
                     .synced = PhysicalOffset{216},
                     .written_limit = PhysicalOffset{216},
                     .last_record = PhysicalOffset{0},
                     .last_record_hash = 0x0123456789ABCDEF,
                     .last_store_timestamp_ms = 1700000000123,
                     .clean = true,
                     .own_ranges = {{PhysicalOffset{0}, PhysicalOffset{216}}},
                     .queue_offsets = {{"TopicTest", QueueId{3}, QueueOffset{8}}}},
                    9, bytes);
  return hex(bytes);
}

class FormatDocTest : public StoreFixture {
 protected:
  std::string file_hex(const std::filesystem::path& name, std::size_t bytes) const {
    return hex(bytes_of(read(name).substr(0, bytes)));
  }
};

TEST_F(FormatDocTest, EveryExampleIsWhatTheCodeWrites) {
  ASSERT_TRUE(StoreLock::take(directory(), disk(), system_clock()));
  ASSERT_TRUE(JavaFiles(directory(), disk())
                  .save_checkpoint({.physic_timestamp_ms = 1700000000456,
                                    .logics_timestamp_ms = 1700000000456,
                                    .index_timestamp_ms = 1700000000000,
                                    .master_flushed = PhysicalOffset{0},
                                    .confirm = PhysicalOffset{216}}));
  const MessageId id{Host::parse("192.0.2.1:10911").value(), PhysicalOffset{0}};
  const std::map<std::string, std::string> written{
      {"record", hex(example_record())},        {"record-crc", example_record_crc()},
      {"blank", hex(encode_blank(612))},        {"message-id", id.text()},
      {"client-batch", example_client_batch()}, {"java-checkpoint", file_hex("checkpoint", 40)},
      {"lock", file_hex("lock", 100)},          {"checkpoint", example_checkpoint()},
  };
  const auto documented = examples();
  EXPECT_EQ(documented.size(), written.size());
  for (const auto& [name, bytes] : written) {
    ASSERT_TRUE(documented.contains(name)) << "FORMAT.md has no example named " << name;
    EXPECT_EQ(documented.at(name), bytes) << name;
  }
}

TEST_F(FormatDocTest, TheOwnerStampHasTheLinesThatTheDocumentNames) {
  ASSERT_TRUE(StoreLock::take(directory(), disk(), system_clock()));
  const std::string stamp = read("kerolox/owner");
  std::ifstream document(std::filesystem::path(KEROLOX_SOURCE_DIR) / "storage/FORMAT.md");
  const std::string text{std::istreambuf_iterator<char>(document), {}};
  int lines = 0;
  for (std::size_t at = 0; stamp.compare(at, 1, "\n") != 0; ++lines) {
    const std::string name = stamp.substr(at, stamp.find(':', at) - at);
    EXPECT_NE(text.find("| `" + name + "` |"), std::string::npos) << name;
    at = stamp.find('\n', at) + 1;
  }
  EXPECT_EQ(lines, 5);
}

// "section "NAME"" in a header must lead somewhere.
TEST_F(FormatDocTest, EverySectionThatAHeaderNamesExists) {
  std::ifstream document(std::filesystem::path(KEROLOX_SOURCE_DIR) / "storage/FORMAT.md");
  std::set<std::string> sections;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) {
      sections.insert(line.substr(3));
    }
  }
  const auto root = std::filesystem::path(KEROLOX_SOURCE_DIR) / "storage";
  int references = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cc") {
      continue;
    }
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = text.find("FORMAT.md, section"); at != std::string::npos;
         at = text.find("FORMAT.md, section", at + 1)) {
      const std::string sentence = text.substr(at, text.find('.', at + 10) - at);
      for (std::size_t quote = sentence.find('"'); quote != std::string::npos;) {
        const std::size_t end = sentence.find('"', quote + 1);
        ASSERT_NE(end, std::string::npos) << entry.path();
        EXPECT_TRUE(sections.contains(sentence.substr(quote + 1, end - quote - 1)))
            << entry.path() << " names " << sentence.substr(quote, end - quote + 1);
        ++references;
        quote = sentence.find('"', end + 1);
      }
    }
  }
  EXPECT_GE(references, 10);
}

}  // namespace
}  // namespace kerolox::storage
