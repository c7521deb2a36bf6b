#include "storage/queue_offset_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kerolox::storage {
namespace {

using Key = QueueOffsetTable::Key;

std::map<std::string, std::int64_t> changes_of(QueueOffsetTable& table) {
  std::vector<QueueOffsetTable::Change> changes;
  table.take_changes(changes);
  std::map<std::string, std::int64_t> found;
  for (const QueueOffsetTable::Change& change : changes) {
    const auto [place, is_new] =
        found.emplace(*change.topic + "/" + std::to_string(change.queue.value), change.next.value);
    EXPECT_TRUE(is_new) << "named twice: " << place->first;
  }
  return found;
}

using Changes = std::map<std::string, std::int64_t>;

TEST(QueueOffsetTableTest, EachQueueOfEachTopicCountsForItself) {
  QueueOffsetTable table;
  EXPECT_EQ(table.take(Key("a", QueueId{0})), QueueOffset{0});
  EXPECT_EQ(table.take(Key("a", QueueId{0})), QueueOffset{1});
  EXPECT_EQ(table.take(Key("a", QueueId{1})), QueueOffset{0});
  EXPECT_EQ(table.take(Key("b", QueueId{0})), QueueOffset{0});
  EXPECT_EQ(table.next(Key("a", QueueId{0})), QueueOffset{2});
  EXPECT_EQ(table.next(Key("c", QueueId{0})), QueueOffset{0});
}

TEST(QueueOffsetTableTest, RaisesAndLowersAtMost) {
  QueueOffsetTable table;
  const Key key("a", QueueId{0});
  table.raise(key, QueueOffset{7});
  table.raise(key, QueueOffset{3});
  EXPECT_EQ(table.next(key), QueueOffset{7});
  table.lower(key, QueueOffset{9});
  EXPECT_EQ(table.next(key), QueueOffset{7});
  table.lower(key, QueueOffset{2});
  EXPECT_EQ(table.next(key), QueueOffset{2});
}

TEST(QueueOffsetTableTest, ChangesNameEachChangedQueueOnceWithItsPresentOffset) {
  QueueOffsetTable table;
  table.load({{.topic = "a", .queue = QueueId{0}, .next = QueueOffset{5}},
              {.topic = "b", .queue = QueueId{2}, .next = QueueOffset{6}}});
  EXPECT_EQ(changes_of(table), (Changes{{"a/0", 5}, {"b/2", 6}}));
  EXPECT_EQ(changes_of(table), Changes{});
  table.take(Key("a", QueueId{0}));
  table.take(Key("a", QueueId{0}));
  table.take(Key("new", QueueId{1}));
  EXPECT_EQ(changes_of(table), (Changes{{"a/0", 7}, {"new/1", 1}}));
}

TEST(QueueOffsetTableTest, ChangesThatWereGivenBackAreNamedAgainWithWhatCameMeanwhile) {
  QueueOffsetTable table;
  table.take(Key("a", QueueId{0}));
  table.take(Key("b", QueueId{0}));
  std::vector<QueueOffsetTable::Change> changes;
  table.take_changes(changes);
  table.take(Key("a", QueueId{0}));
  table.give_back(changes);
  EXPECT_EQ(changes_of(table), (Changes{{"a/0", 2}, {"b/0", 1}}));
}

TEST(QueueOffsetTableTest, AThousandQueuesAreFoundAgain) {
  QueueOffsetTable table;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) {
      const std::string topic = "topic-" + std::to_string(i % 50);
      EXPECT_EQ(table.take(Key(topic, QueueId{i / 50})), QueueOffset{round});
    }
  }
  EXPECT_EQ(changes_of(table).size(), 1000U);
}

}  // namespace
}  // namespace kerolox::storage
