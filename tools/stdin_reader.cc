#include "tools/stdin_reader.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kerolox::tools {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

Error too_long(std::string place, std::size_t bytes_max) {
  return Error(ErrorCode::kInvalidArgument, "larger than a message may be")
      .at(std::move(place))
      .with_number("bytes_max", static_cast<std::int64_t>(bytes_max))
      .with_remedy("send less at once");
}

}  // namespace

Result<bool> StdinReader::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  const std::size_t old_bytes = buffer_.size();
  buffer_.resize(old_bytes + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(0, buffer_.data() + old_bytes, kReadBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(old_bytes + static_cast<std::size_t>(got < 0 ? 0 : got));
  if (got < 0) {
    return Error::from_errno(errno, "read", "standard input");
  }
  return got > 0;
}

Result<std::optional<std::string_view>> StdinReader::next_line(std::size_t bytes_max) {
  while (true) {
    const std::size_t end = buffer_.find('\n', searched_);
    const bool whole = end != std::string::npos;
    if ((whole ? end : buffer_.size()) - begin_ > bytes_max) {
      return too_long("line " + std::to_string(lines_ + 1), bytes_max);
    }
    if (whole) {
      const std::string_view line(buffer_.data() + begin_, end - begin_);
      begin_ = searched_ = end + 1;
      ++lines_;
      return std::optional(line);
    }
    searched_ = buffer_.size();
    KEROLOX_ASSIGN_OR_RETURN(const bool more, fill());
    if (!more) {
      break;
    }
  }
  if (begin_ == buffer_.size()) {
    return std::optional<std::string_view>();
  }
  const std::string_view line(buffer_.data() + begin_, buffer_.size() - begin_);
  begin_ = searched_ = buffer_.size();
  ++lines_;
  return std::optional(line);
}

Result<std::string> StdinReader::rest(std::size_t bytes_max) {
  while (true) {
    if (buffer_.size() - begin_ > bytes_max) {
      return too_long("standard input", bytes_max);
    }
    KEROLOX_ASSIGN_OR_RETURN(const bool more, fill());
    if (!more) {
      return buffer_.substr(begin_);
    }
  }
}

}  // namespace kerolox::tools
