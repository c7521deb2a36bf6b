#include "tools/plan.h"

#include <gtest/gtest.h>

#include <string>

namespace kerolox::tools {
namespace {

// A line with `change` made to it.
std::string line_with(const std::string& from, const std::string& to) {
  std::string line =
      R"({"type":"plan","kind":"delay","topic":"probe-a","queueId":2,"flag":1,"sysFlag":0,)"
      R"("bornTimestamp":1700000000000,"bornHost":"192.0.2.9:40000","storeHost":"127.0.0.1:10911",)"
      R"("reconsumeTimes":0,"preparedTransactionOffset":0,"properties":{"DELAY":"3","KEYS":"k"},)"
      R"("body":"aGk="})";
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

PlannedMessage parsed(const std::string& line) {
  const Result<PlannedMessage> message = parse_plan_line(line);
  EXPECT_TRUE(message) << (message ? "" : message.error().text());
  return message ? *message : PlannedMessage{};
}

TEST(PlanTest, ReadsEveryMemberOfALine) {
  const PlannedMessage message = parsed(line_with("aGk=", "aGk="));
  EXPECT_EQ(message.topic, "probe-a");
  EXPECT_EQ(message.queue, QueueId{2});
  EXPECT_EQ(message.born_timestamp_ms, 1700000000000);
  EXPECT_EQ(message.born_host.text(), "192.0.2.9:40000");
  EXPECT_EQ(message.store_host.text(), "127.0.0.1:10911");
  ASSERT_EQ(message.items.size(), 1U);
  EXPECT_FALSE(message.batch);
  EXPECT_EQ(message.items[0].body, "hi");
  EXPECT_EQ(message.items[0].flag, 1);
}

TEST(PlanTest, ADelayedMessageGoesWhereTheBrokersHookSendsIt) {
  PlannedMessage message = parsed(line_with("\"3\"", "\"3\""));
  apply_delay_level(message);
  EXPECT_EQ(message.topic, "SCHEDULE_TOPIC_XXXX");
  EXPECT_EQ(message.queue, QueueId{2});
  const auto& properties = message.items[0].properties;
  ASSERT_EQ(properties.size(), 4U);
  EXPECT_EQ(properties[2], std::pair(std::string("REAL_TOPIC"), std::string("probe-a")));
  EXPECT_EQ(properties[3], std::pair(std::string("REAL_QID"), std::string("2")));
}

TEST(PlanTest, LevelsAboveTheTableCountAsItsLast) {
  PlannedMessage message = parsed(line_with("\"3\"", "\"99\""));
  apply_delay_level(message);
  EXPECT_EQ(message.queue, QueueId{17});
}

TEST(PlanTest, NeitherHalvesNorPlainMessagesAreDelayed) {
  PlannedMessage half = parsed(line_with("\"sysFlag\":0", "\"sysFlag\":4"));
  apply_delay_level(half);
  EXPECT_EQ(half.topic, "probe-a");
  PlannedMessage plain = parsed(line_with("\"DELAY\":\"3\",", ""));
  apply_delay_level(plain);
  EXPECT_EQ(plain.topic, "probe-a");
}

TEST(PlanTest, ABatchHasItsElementsFlagsBodiesAndProperties) {
  const PlannedMessage message =
      parsed(line_with(R"("properties":{"DELAY":"3","KEYS":"k"},"body":"aGk=")",
                       R"("batch":[{"flag":0,"properties":{},"body":""},)"
                       R"({"flag":1,"properties":{"KEYS":"b"},"body":"aGk="}])"));
  EXPECT_TRUE(message.batch);
  ASSERT_EQ(message.items.size(), 2U);
  EXPECT_EQ(message.items[1].flag, 1);
  std::vector<std::vector<storage::Property>> properties;
  const std::vector<storage::Message> messages = as_messages(message, properties);
  ASSERT_EQ(messages.size(), 2U);
  // As the client that sends it has them: it adds WAIT.
  ASSERT_EQ(messages[1].properties.size(), 2U);
  EXPECT_EQ(messages[1].properties[0].name, "KEYS");
  EXPECT_EQ(messages[1].properties[1].name, "WAIT");
  EXPECT_EQ(messages[1].topic, "probe-a");
}

TEST(PlanTest, NamesTheMemberThatIsWrong) {
  const std::pair<std::pair<const char*, const char*>, const char*> faults[] = {
      {{"\"topic\":\"probe-a\"", "\"topic\":1"}, "member topic is not a string"},
      {{"\"queueId\":2", "\"queueId\":2147483648"}, "member queueId is not a number of 32 bits"},
      {{"\"flag\":1,", ""}, "member flag is not a whole number"},
      {{"192.0.2.9:40000", "nowhere"}, "member bornHost is not a host as 192.0.2.1:10911"},
      {{"aGk=", "aGk"}, "member body is not base64"},
      {{"\"KEYS\":\"k\"", "\"KEYS\":1"}, "member properties is not an object of strings"},
      {{"{\"type\"", "[\"type\""}, "not a JSON object"}};
  for (const auto& [change, message] : faults) {
    const Result<PlannedMessage> result = parse_plan_line(line_with(change.first, change.second));
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().message(), message);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kerolox::tools
