// JSON as a tree, for golden files. RapidJSON's own document.h of Debian 12 does not compile with
// clang 19; its reader does.
#pragma once

#include <rapidjson/reader.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kerolox::test {

// An object, array, string or integer. Asking for a member that is not there aborts.
class JsonValue {
 public:
  static JsonValue parse(const std::string& text);  // aborts where it is malformed

  const std::string& text() const { return text_; }
  std::int64_t number() const { return number_; }
  // An object's members or an array's elements (without names), in order.
  const std::vector<std::pair<std::string, JsonValue>>& children() const { return children_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const JsonValue& operator[](std::string_view name) const {
    const JsonValue* const found = find(name);
    if (found == nullptr) {
      std::cerr << "no JSON member " << name << "\n";
      std::abort();
    }
    return *found;
  }
  const JsonValue& at(std::size_t index) const { return children_.at(index).second; }

 private:
  class Builder;

  const JsonValue* find(std::string_view name) const {
    for (const auto& [key, value] : children_) {
      if (key == name) {
        return &value;
      }
    }
    return nullptr;
  }

  std::string text_;
  std::int64_t number_ = 0;
  std::vector<std::pair<std::string, JsonValue>> children_;
};

class JsonValue::Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  bool Default() { return false; }  // null, booleans and fractions do not occur
  bool Int(int number) { return Int64(number); }
  bool Uint(unsigned number) { return Int64(number); }
  bool Uint64(std::uint64_t number) { return Int64(static_cast<std::int64_t>(number)); }
  bool Int64(std::int64_t number) {
    add().number_ = number;
    return true;
  }
  bool String(const char* text, rapidjson::SizeType bytes, bool) {
    add().text_.assign(text, bytes);
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType bytes, bool) {
    key_.assign(text, bytes);
    return true;
  }
  bool StartObject() { return open(); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  JsonValue take() { return std::move(root_.at(0).second); }

 private:
  // Pointers into a vector stay good: a parent gets no further child while one of them is open.
  JsonValue& add() {
    auto& siblings = path_.empty() ? root_ : path_.back()->children_;
    return siblings.emplace_back(std::exchange(key_, {}), JsonValue()).second;
  }
  bool open() {
    path_.push_back(&add());
    return true;
  }
  bool close() {
    path_.pop_back();
    return true;
  }

  std::vector<std::pair<std::string, JsonValue>> root_;
  std::vector<JsonValue*> path_;
  std::string key_;
};

inline JsonValue JsonValue::parse(const std::string& text) {
  Builder builder;
  // In place, since the reader's own stack adds to a null pointer, which UBSan refuses.
  std::string copy = text;
  rapidjson::InsituStringStream stream(copy.data());
  rapidjson::Reader reader;
  if (reader.Parse<rapidjson::kParseInsituFlag>(stream, builder).IsError()) {
    std::cerr << "JSON is malformed at " << reader.GetErrorOffset() << "\n";
    std::abort();
  }
  return builder.take();
}

}  // namespace kerolox::test
