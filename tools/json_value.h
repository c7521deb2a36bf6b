// A JSON text as values, built from RapidJSON's reader. (Its own document.h does not compile with
// clang 19.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kerolox/base/result.h"

namespace kerolox::tools {

class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kReal, kString, kArray, kObject };

  // One value and nothing behind it, nested at most 64 deep. Errors: kInvalidArgument.
  static Result<JsonValue> parse(std::string_view text);

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_integer() const { return kind_ == Kind::kInteger; }  // of 64 bits, signed

  // Each is empty, 0 or false for a value of another kind.
  const std::string& text() const { return text_; }
  std::int64_t integer() const { return integer_; }
  double real() const { return kind_ == Kind::kReal ? real_ : static_cast<double>(integer_); }
  bool boolean() const { return kind_ == Kind::kBoolean && integer_ != 0; }
  const std::vector<JsonValue>& elements() const { return elements_; }
  const std::vector<std::pair<std::string, JsonValue>>& members() const { return members_; }

  const JsonValue* find(std::string_view name) const;  // nullptr: no such member
  // The member, or a null value.
  const JsonValue& operator[](std::string_view name) const;

 private:
  friend class JsonBuilder;

  Kind kind_ = Kind::kNull;
  std::int64_t integer_ = 0;
  double real_ = 0;
  std::string text_;
  std::vector<JsonValue> elements_;
  std::vector<std::pair<std::string, JsonValue>> members_;
};

}  // namespace kerolox::tools
