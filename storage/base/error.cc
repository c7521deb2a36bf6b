#include "kerolox/base/error.h"

#include <cerrno>
#include <cstring>

namespace kerolox {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kOutOfRange:
      return "out_of_range";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kTimedOut:
      return "timed_out";
    case ErrorCode::kNotMaster:
      return "not_master";
    case ErrorCode::kStaleEpoch:
      return "stale_epoch";
    case ErrorCode::kLocked:
      return "locked";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kNoSpace:
      return "no_space";
    case ErrorCode::kStoreFailed:
      return "store_failed";
    case ErrorCode::kIoError:
      return "io_error";
    case ErrorCode::kCorruption:
      return "corruption";
    case ErrorCode::kShutdown:
      return "shutdown";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message)
    : Error(code, Details{.message = std::move(message)}) {}

Error::Error(ErrorCode code, Details details)
    : code_(code), details_(std::make_shared<const Details>(std::move(details))) {}

Error Error::from_errno(int error_number, std::string_view call, std::string_view place) {
  ErrorCode code = ErrorCode::kIoError;
  std::string remedy;
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      code = ErrorCode::kNoSpace;
      remedy = "free space on this file system";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::kPermission;
      remedy = "check the owner and mode of the path, and whether its file system is read-only";
      break;
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    case EISDIR:
    case ENOTDIR:
    case EEXIST:
      remedy = "something else has this name: move it away";
      break;
    case EMFILE:
    case ENFILE:
      remedy = "raise the limit of open files (ulimit -n)";
      break;
    case ENOMEM:
      remedy = "free memory, or raise this process's limit (ulimit -v, vm.max_map_count)";
      break;
    case ENAMETOOLONG:
      remedy = "use a shorter path";
      break;
    case EIO:
      remedy = "look at the kernel's log (dmesg) and at the health of the disk";
      break;
    default:
      break;
  }
  char buffer[128];
  // The GNU variant: returns the text, not necessarily in the buffer.
  const char* text = strerror_r(error_number, buffer, sizeof buffer);
  std::string message{call};
  message.append(": ").append(text);
  return Error(code, Details{.message = std::move(message),
                             .place = std::string(place),
                             .remedy = std::move(remedy),
                             .os_error = error_number});
}

Error Error::at(std::string place) const {
  Details details = *details_;
  details.place = std::move(place);
  return Error(code_, std::move(details));
}

Error Error::with_remedy(std::string remedy) const {
  Details details = *details_;
  details.remedy = std::move(remedy);
  return Error(code_, std::move(details));
}

Error Error::with_number(std::string number_name, std::int64_t value) const {
  Details details = *details_;
  details.numbers.push_back({std::move(number_name), value});
  return Error(code_, std::move(details));
}

Error Error::with_retry_after(std::chrono::milliseconds wait) const {
  Details details = *details_;
  details.retry_after = wait;
  return Error(code_, std::move(details));
}

std::string Error::text() const {
  std::string text;
  if (!place().empty()) {
    text.append(place()).append(": ");
  }
  text.append(message());
  for (std::size_t i = 0; i < numbers().size(); ++i) {
    text.append(i == 0 ? " (" : ", ").append(numbers()[i].name).append("=");
    text.append(std::to_string(numbers()[i].value));
  }
  if (!numbers().empty()) {
    text.append(")");
  }
  if (!remedy().empty()) {
    text.append("; ").append(remedy());
  }
  return text;
}

}  // namespace kerolox
