#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/probe_format.h"

namespace kerolox::tools {
namespace {

// A message with properties from which a MessageView can be made.
struct Stored {
  std::string properties;
  storage::MessageView view;

  Stored(const std::string& keys, std::int64_t offset, const std::string& topic_name)
      : properties(keys.empty() ? "" : "KEYS\x01" + keys + "\x02"), topic(topic_name) {
    view.topic = topic;
    view.offset = PhysicalOffset{offset};
    view.properties = properties;
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  std::string topic;
};

void add(KeyIndex& index, const std::string& keys, std::int64_t offset) {
  const Stored stored(keys, offset, "t");
  index.add(stored.view);
}

std::vector<std::int64_t> find(const KeyIndex& index, const std::string& key) {
  const Stored asked(key, 0, "t");
  std::vector<std::int64_t> offsets;
  for (const KeyIndex::KeyNumber number : index.keys_of_message(asked.view)) {
    for (const PhysicalOffset offset : index.find(number)) {
      offsets.push_back(offset.value);
    }
  }
  return offsets;
}

TEST(KeyIndexTest, FindsEveryRecordOfAKeyInOrder) {
  KeyIndex index;
  add(index, "a b", 10);
  add(index, "b", 20);
  EXPECT_EQ(find(index, "b"), (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(find(index, "a"), (std::vector<std::int64_t>{10}));
}

// "AaAa" and "BBBB" have one hash in Java, and so do "t#AaAa" and "t#BBBB".
TEST(KeyIndexTest, OfEqualHashesOnlyTheAskedKeyIsFound) {
  KeyIndex index;
  add(index, "AaAa", 10);
  add(index, "BBBB", 20);
  EXPECT_EQ(find(index, "AaAa"), (std::vector<std::int64_t>{10}));
}

TEST(KeyIndexTest, OnlyTheNewest64EntriesOfAHashAreSeen) {
  KeyIndex index;
  add(index, "AaAa", 0);
  for (std::int64_t i = 1; i <= 63; ++i) {
    add(index, "BBBB", i);
  }
  EXPECT_EQ(find(index, "AaAa"), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(find(index, "BBBB").size(), 63U);
  add(index, "BBBB", 64);
  EXPECT_TRUE(find(index, "AaAa").empty());
  add(index, "BBBB", 65);
  EXPECT_EQ(find(index, "BBBB").front(), 2);
}

TEST(KeyIndexTest, ARecordIsFoundThroughAnotherKeyOfTheSameHash) {
  KeyIndex index;
  add(index, "AaAa BBBB", 1);
  for (std::int64_t i = 2; i <= 64; ++i) {
    add(index, "BBBB", i);
  }
  // The 64th newest entry is record 1 as BBBB, and record 1 has the key AaAa as well.
  EXPECT_EQ(find(index, "AaAa"), (std::vector<std::int64_t>{1}));
}

TEST(KeyIndexTest, RolledBackRecordsAreNotIndexed) {
  KeyIndex index;
  Stored stored("a", 10, "t");
  stored.view.sys_flag = storage::sys_flag::kTransactionRollback;
  index.add(stored.view);
  EXPECT_TRUE(find(index, "a").empty());
  stored.view.sys_flag = storage::sys_flag::kTransactionPrepared;
  index.add(stored.view);
  EXPECT_EQ(find(index, "a"), (std::vector<std::int64_t>{10}));
}

TEST(KeysOfTest, TheUniqueKeyComesFirstAndEachKeyOnce) {
  Stored stored("b  a b", 0, "t");
  stored.properties =
      "KEYS\x01"
      "b  a b\x02"
      "UNIQ_KEY\x01"
      "u\x02";
  stored.view.properties = stored.properties;
  EXPECT_EQ(keys_of(stored.view), (std::vector<std::string>{"u", "b", "a"}));
}

TEST(TagsCodeTest, ADelayedMessagesCodeIsItsDueTime) {
  Stored stored("", 0, "SCHEDULE_TOPIC_XXXX");
  stored.view.store_timestamp_ms = 1000;
  for (const auto& [level, due] :
       {std::pair("1", 2000), std::pair("18", 7201000), std::pair("40", 7201000)}) {
    stored.properties = std::string("DELAY\x01") + level + "\x02";
    stored.view.properties = stored.properties;
    EXPECT_EQ(consume_queue_tags_code(stored.view), due) << level;
  }
}

TEST(TagsCodeTest, OtherwiseItIsTheHashOfTheTags) {
  Stored stored("", 0, "t");
  EXPECT_EQ(consume_queue_tags_code(stored.view), 0);
  stored.properties =
      "TAGS\x01"
      "payment\x02";
  stored.view.properties = stored.properties;
  EXPECT_EQ(consume_queue_tags_code(stored.view), -786681338);
}

}  // namespace
}  // namespace kerolox::tools
