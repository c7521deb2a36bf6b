// A value or the Error that explains why there is none. Member names are std::expected's, so that a
// later move to it is a rename.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "kerolox/base/check.h"
#include "kerolox/base/error.h"

namespace kerolox {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // Implicit on purpose: `return value;` and `return Error(...);` both read well.
  // NOLINTBEGIN(google-explicit-constructor): see above
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked_value(); }
  const T& value() const& { return const_cast<Result*>(this)->checked_value(); }
  T&& value() && { return std::move(checked_value()); }
  T& operator*() & { return checked_value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->checked_value(); }
  T&& operator*() && { return std::move(checked_value()); }
  T* operator->() { return &checked_value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->checked_value(); }

  const Error& error() const {
    KEROLOX_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  T& checked_value() {
    KEROLOX_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error(...);` reads well
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    KEROLOX_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kerolox

#define KEROLOX_CONCATENATE_INNER(a, b) a##b
#define KEROLOX_CONCATENATE(a, b) KEROLOX_CONCATENATE_INNER(a, b)

// KEROLOX_RETURN_IF_ERROR(file.sync());
#define KEROLOX_RETURN_IF_ERROR(expression)                    \
  do {                                                         \
    if (auto kerolox_result = (expression); !kerolox_result) { \
      return kerolox_result.error();                           \
    }                                                          \
  } while (false)

// KEROLOX_ASSIGN_OR_RETURN(const Record record, log.read(offset));
#define KEROLOX_ASSIGN_OR_RETURN(target, expression) \
  KEROLOX_ASSIGN_OR_RETURN_INNER(KEROLOX_CONCATENATE(kerolox_result_, __LINE__), target, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): `target` is a declaration, `result` a name
#define KEROLOX_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                      \
  if (!result) {                                                   \
    return result.error();                                         \
  }                                                                \
  target = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)
