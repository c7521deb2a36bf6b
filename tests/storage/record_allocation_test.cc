// Counts allocations, so it is a program of its own: it replaces operator new.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kerolox/storage/record.h"
#include "storage/codec_support.h"
#include "support/counted_allocations.h"

namespace kerolox::storage {
namespace {

TEST(RecordAllocationTest, TheCounterCounts) {
  const long before = allocations;
  const auto text = std::make_unique<std::string>(1000, 'x');
  EXPECT_GE(allocations - before, 2);
}

TEST(RecordAllocationTest, SteadyEncodingAndDecodingAllocateNothing) {
  const std::string body(1024, 'b');
  const std::vector<Property> properties{{"UNIQ_KEY", "C000020A1F9018B4AAC20A1B2C3D0001"}};
  const Message plain{.topic = "orders",
                      .tags = "paid",
                      .keys = "k1 k2",
                      .body = test::bytes_of(body),
                      .properties = properties};
  const Message encoded{.topic = "orders",
                        .body = test::bytes_of(body),
                        .encoded_properties =
                            "TAGS\x01paid\x02__CRC32#\x01"
                            "1\x02"};
  std::vector<std::byte> record(2048);
  RecordEncoder encoder;
  ASSERT_TRUE(encoder.prepare(plain, loopback_host(), true, {}).has_value());

  const long before = allocations;
  for (int round = 0; round < 1000; ++round) {
    for (const Message* const message : {&plain, &encoded}) {
      ASSERT_TRUE(encoder.prepare(*message, loopback_host(), true, {}).has_value());
      auto to = record.begin();
      for (const auto piece : encoder.finish({.offset = {round}})) {
        to = std::ranges::copy(piece, to).out;
      }
      const DecodedRecord decoded = decode_record(record, test::check_all());
      ASSERT_EQ(decoded.kind, RecordKind::kRecord);
      ASSERT_EQ(decoded.view.tags(), "paid");
    }
  }
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace kerolox::storage
