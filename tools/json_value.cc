#include "tools/json_value.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <limits>

namespace kerolox::tools {

namespace {

// Deeper texts are refused: values are destroyed recursively.
constexpr std::size_t kDepthMax = 64;

}  // namespace

// Takes the reader's events; false ends the reading.
class JsonBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonBuilder> {
 public:
  // The names are RapidJSON's.
  // NOLINTBEGIN(readability-identifier-naming)
  bool Null() { return add(JsonValue()); }
  bool Bool(bool value) { return add(number(JsonValue::Kind::kBoolean, value ? 1 : 0)); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(std::int64_t value) { return add(number(JsonValue::Kind::kInteger, value)); }
  bool Uint64(std::uint64_t value) {
    return value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
               ? Int64(static_cast<std::int64_t>(value))
               : Double(static_cast<double>(value));
  }
  bool Double(double value) {
    JsonValue real;
    real.kind_ = JsonValue::Kind::kReal;
    real.real_ = value;
    return add(std::move(real));
  }
  bool String(const char* text, rapidjson::SizeType bytes, bool) {
    JsonValue string;
    string.kind_ = JsonValue::Kind::kString;
    string.text_.assign(text, bytes);
    return add(std::move(string));
  }
  bool Key(const char* text, rapidjson::SizeType bytes, bool) {
    open_.back().key.assign(text, bytes);
    return true;
  }
  bool StartObject() { return open(JsonValue::Kind::kObject); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(JsonValue::Kind::kArray); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  // NOLINTEND(readability-identifier-naming)

  JsonValue take() { return std::move(root_); }

 private:
  struct Open {
    JsonValue value;
    std::string key;  // of the member that comes next
  };

  static JsonValue number(JsonValue::Kind kind, std::int64_t number) {
    JsonValue value;
    value.kind_ = kind;
    value.integer_ = number;
    return value;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kDepthMax) {
      return false;
    }
    open_.emplace_back().value.kind_ = kind;
    return true;
  }
  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.elements_.push_back(std::move(value));
    } else {
      open_.back().value.members_.emplace_back(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
  JsonValue root_;
};

Result<JsonValue> JsonValue::parse(std::string_view text) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  JsonBuilder builder;
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, builder);
  if (!parsed) {
    return Error(ErrorCode::kInvalidArgument, "not JSON")
        .with_number("at_byte", static_cast<std::int64_t>(parsed.Offset()));
  }
  return builder.take();
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [member, value] : members_) {
    if (member == name) {
      return &value;
    }
  }
  return nullptr;
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
  static const JsonValue kNothing;
  const JsonValue* value = find(name);
  return value == nullptr ? kNothing : *value;
}

}  // namespace kerolox::tools
