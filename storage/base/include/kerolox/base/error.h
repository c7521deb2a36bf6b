// Why an operation was refused or failed: one typed cause, the place, the numbers behind it, what
// to do about it and, where waiting helps, when to try again.
//
// Threads: an Error is immutable once built; copies share their details.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kerolox/base/api.h"

namespace kerolox {

// Grouped by what the caller does next.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  // fix the request
  kNotFound,         // no such topic, queue, key or file
  kOutOfRange,       // offset outside [min, max): reset it
  kBusy,             // back-pressure: retry later, nothing happened
  kTimedOut,         // may or may not have happened: ask before retrying
  kNotMaster,        // ask another broker
  kStaleEpoch,       // a newer master exists: step down
  kLocked,           // another process owns the store; the message names it
  kUnsupported,      // a format or mode that we do not open; the message names it
  kPermission,       // the operating system says no
  kNoSpace,          // stop accepting writes
  kStoreFailed,      // the write path ended after an error; reads go on
  kIoError,          // the system call failed; the message names it
  kCorruption,       // bytes on disk contradict FORMAT.md
  kShutdown,         // the store is closing
};

// "kNoSpace" reads "no_space".
KEROLOX_API std::string_view name(ErrorCode code);

class KEROLOX_API Error {
 public:
  struct Number {
    std::string name;
    std::int64_t value = 0;
  };

  // `message` says what happened, in one clause, without the place: "checksum mismatch".
  Error(ErrorCode code, std::string message);

  // What a failed system call means, by its errno: ENOSPC and EDQUOT are kNoSpace, EACCES, EPERM
  // and EROFS kPermission, ENOENT kNotFound, all else kIoError. `call` names it: "fdatasync".
  static Error from_errno(int error_number, std::string_view call, std::string_view place);

  // These return a copy that carries one thing more: Error(...).at("commitlog/0 at 512").
  Error at(std::string place) const;
  Error with_remedy(std::string remedy) const;
  Error with_number(std::string name, std::int64_t value) const;
  Error with_retry_after(std::chrono::milliseconds wait) const;

  ErrorCode code() const { return code_; }
  const std::string& message() const { return details_->message; }
  const std::string& place() const { return details_->place; }    // file and offset; may be empty
  const std::string& remedy() const { return details_->remedy; }  // may be empty
  const std::vector<Number>& numbers() const { return details_->numbers; }
  std::chrono::milliseconds retry_after() const { return details_->retry_after; }  // 0: do not
  int os_error() const { return details_->os_error; }                              // errno, or 0

  // All of it in one line: "<place>: <message> (<name>=<value>, ...); <remedy>".
  std::string text() const;

 private:
  struct Details {
    std::string message;
    std::string place;
    std::string remedy;
    std::vector<Number> numbers;
    std::chrono::milliseconds retry_after{0};
    int os_error = 0;
  };
  Error(ErrorCode code, Details details);

  ErrorCode code_;
  std::shared_ptr<const Details> details_;
};

}  // namespace kerolox
