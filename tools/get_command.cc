// kerolox get: prints one message.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "kerolox/storage/message_id.h"
#include "tools/command.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/store_access.h"
#include "tools/text.h"

namespace kerolox::tools {
namespace {

class GetCommand : public Command {
 public:
  std::string_view name() const override { return "get"; }
  std::string_view usage() const override {
    return "--store=DIR (--physical_offset=N | --id=ID) [--body_only]";
  }
  std::string_view summary() const override { return "print one message; changes nothing"; }
  std::string_view notes() const override {
    return "Prints a JSON line with all fields, the body in base64 and, if it is UTF-8, as text "
           "too.\n";
  }

  void declare(FlagTable& flags) override {
    flags.text("store", &store_, "DIR", "the store's root directory");
    flags.number("physical_offset", &physical_offset_, 0, std::numeric_limits<std::int64_t>::max(),
                 "where its record begins in the log");
    flags.text("id", &id_, "ID", "the msgId of its receipt");
    flags.boolean("body_only", &body_only_, "print the body's bytes and nothing else");
    flags.require({"store"});
  }

  int run(const FlagTable& flags) override {
    const Result<void> printed = print(flags);
    return printed ? static_cast<int>(kGood) : fail(name(), printed.error());
  }

 private:
  Result<void> print(const FlagTable& flags);

  std::string store_;
  std::int64_t physical_offset_ = 0;
  std::string id_;
  bool body_only_ = false;
};

Result<void> GetCommand::print(const FlagTable& flags) {
  if (flags.given("physical_offset") == flags.given("id")) {
    return Error(ErrorCode::kInvalidArgument, "exactly one of both is needed")
        .at("--physical_offset, --id")
        .with_remedy("add --physical_offset=N or --id=ID");
  }
  storage::MessageId id{.offset = PhysicalOffset{physical_offset_}};
  if (flags.given("id")) {
    KEROLOX_ASSIGN_OR_RETURN(id, storage::MessageId::parse(id_));
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log, open_read_only(store_));
  storage::ReadBatch batch;
  KEROLOX_RETURN_IF_ERROR(log->read(id.offset, 1, 1, batch));
  const Error missing = Error(ErrorCode::kNotFound, "no message begins there")
                            .at(store_)
                            .with_number("physical_offset", id.offset.value);
  if (!batch.damaged().empty() && batch.damaged().front().offset <= id.offset) {
    return Error(ErrorCode::kCorruption, batch.damaged().front().fault)
        .at(store_)
        .with_number("physical_offset", id.offset.value)
        .with_remedy("`kerolox store verify` lists all damage");
  }
  if (batch.empty() || batch.front().offset != id.offset) {
    return missing.with_remedy("take the offset or id from a receipt, or from store export");
  }
  const storage::MessageView& message = batch.front();
  if (flags.given("id") && message.store_host != id.store_host) {
    return missing.with_remedy("the message there was stored by " + message.store_host.text() +
                               ", the id names " + id.store_host.text());
  }
  JsonLine json;
  Output output;
  if (body_only_) {
    output.add(as_text(message.body));
  } else {
    json.begin_object();
    add_message(message, json);
    json.end_object();
    output.add(json.take());
  }
  return output.flush();
}

}  // namespace

std::unique_ptr<Command> get_command() { return std::make_unique<GetCommand>(); }

}  // namespace kerolox::tools
