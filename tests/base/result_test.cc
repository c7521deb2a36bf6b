#include "kerolox/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace kerolox {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return Error(ErrorCode::kInvalidArgument, "odd").with_number("number", number);
  }
  return number / 2;
}

Result<int> quarter(int number) {
  KEROLOX_ASSIGN_OR_RETURN(const int halved, half(number));
  return half(halved);
}

TEST(ResultTest, CarriesTheValueThroughSeveralSteps) {
  ASSERT_TRUE(quarter(12).has_value());
  EXPECT_EQ(quarter(12).value(), 3);
}

TEST(ResultTest, TheFirstErrorEndsTheSteps) {
  const Result<int> result = quarter(6);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().text(), "odd (number=3)");
}

TEST(ErrorTest, ASystemErrorKeepsItsNumberAndSaysWhatToDo) {
  const Error error = Error::from_errno(ENOSPC, "fallocate", "commitlog/00000000000000000000");
  EXPECT_EQ(error.code(), ErrorCode::kNoSpace);
  EXPECT_EQ(error.os_error(), ENOSPC);
  EXPECT_EQ(error.text(),
            "commitlog/00000000000000000000: fallocate: No space left on device; "
            "free space on this file system");
}

TEST(ErrorTest, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kShutdown); ++code) {
    EXPECT_NE(name(static_cast<ErrorCode>(code)), "unknown") << code;
  }
}

}  // namespace
}  // namespace kerolox
