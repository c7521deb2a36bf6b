// Standard input, as one body or as lines, each bounded. Lines are handed out as they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kerolox/base/result.h"

namespace kerolox::tools {

class StdinReader {
 public:
  // The next line without its line feed, or nothing at the end. The last one needs no line feed.
  // Valid until the next call. Errors: kInvalidArgument for a line over `bytes_max`; kIoError.
  Result<std::optional<std::string_view>> next_line(std::size_t bytes_max);

  // Everything. Errors: kInvalidArgument for more than `bytes_max`; kIoError.
  Result<std::string> rest(std::size_t bytes_max);

  std::int64_t lines() const { return lines_; }  // handed out so far

 private:
  Result<bool> fill();  // false at the end of input

  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // no line feed before
  std::int64_t lines_ = 0;
};

}  // namespace kerolox::tools
