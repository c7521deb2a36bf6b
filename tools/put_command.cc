// kerolox put: stores what standard input holds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kerolox/storage/commit_log.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/plan.h"
#include "tools/receipt_pipeline.h"
#include "tools/stdin_reader.h"
#include "tools/text.h"

namespace kerolox::tools {
namespace {

// A plan's line holds a body in base64, and a batch several.
constexpr std::size_t kPlanLineBytesMax = std::size_t{64} << 20;

Error wrong_use(std::string place, std::string message, std::string remedy) {
  return Error(ErrorCode::kInvalidArgument, std::move(message))
      .at(std::move(place))
      .with_remedy(std::move(remedy));
}

class PutCommand : public Command {
 public:
  std::string_view name() const override { return "put"; }
  std::string_view usage() const override {
    return "--store=DIR --topic=T [flags] < BODY\nkerolox put --store=DIR --topic=T --lines "
           "[flags] "
           "< LINES\nkerolox put --store=DIR --plan [flags] < PLAN";
  }
  std::string_view summary() const override {
    return "append messages from standard input, print a receipt for each";
  }
  std::string_view notes() const override {
    return "A receipt is a JSON line with topic, queueId, queueOffset, physicalOffset, msgId, "
           "level "
           "(memory or\ndisk) and replicas (none, written:N or synced:N). It is printed once its "
           "level has been reached,\nin the order of the messages. The store is created if there "
           "is "
           "none.\n";
  }

  void declare(FlagTable& flags) override;
  int run(const FlagTable& flags) override;

 private:
  Result<void> check(const FlagTable& flags);
  Result<void> take_properties();
  storage::CommitLogOptions log_options() const;
  storage::Message message_of(std::string_view body) const;
  Result<void> put_all(ReceiptPipeline& pipeline);
  Result<void> put_lines(ReceiptPipeline& pipeline);
  Result<void> put_plan(ReceiptPipeline& pipeline);

  std::string store_;
  std::string topic_;
  std::int64_t queue_ = 0;
  std::string keys_;
  std::string tags_;
  std::vector<std::string> property_texts_;
  std::vector<storage::Property> properties_;
  std::string flush_ = "sync";
  bool lines_ = false;
  bool plan_ = false;
  std::int64_t in_flight_ = 1024;
  std::int64_t log_file_bytes_ = 0;
  std::int64_t queue_file_bytes_ = 0;
  std::int64_t index_slots_ = 0;
  bool record_crc_ = true;
  StdinReader input_;
};

void PutCommand::declare(FlagTable& flags) {
  flags.text("store", &store_, "DIR", "the store's root directory");
  flags.text("topic", &topic_, "T", "topic of the messages; not with --plan");
  flags.number("queue", &queue_, 0, std::numeric_limits<std::int32_t>::max(), "queue id");
  flags.text("keys", &keys_, "K", "keys to find the messages by, separated by spaces");
  flags.text("tags", &tags_, "T", "tag to filter the messages by");
  flags.list("property", &property_texts_, "K=V", "a further property; may be given repeatedly");
  flags.choice("flush", &flush_, {"sync", "async"},
               "acknowledge from the disk (sync) or from memory (async)");
  flags.boolean("lines", &lines_, "each line of the input is a message");
  flags.boolean("plan", &plan_, "the input is what `refcluster storeprobe plan` prints");
  flags.number("in_flight", &in_flight_, 1, 65536, "appends that wait for their level at once");
  flags.size(
      "log_file_bytes", &log_file_bytes_, 4096,
      "size of a log file of a new store; of an existing one it must be the same (0: 1GiB, or "
      "what is there)");
  flags.size("queue_file_bytes", &queue_file_bytes_, 0,
             "size of a consume queue file of a new store (0: 6000000, or what is there)");
  flags.number("index_slots", &index_slots_, 0, 25'000'000,
               "hash slots of an index file of a new store (0: 5000000, or what is there)");
  flags.boolean("record_crc", &record_crc_, "add the checksum of the whole record, `__CRC32#`");
  flags.require({"store"});
}

Result<void> PutCommand::take_properties() {
  for (const std::string& text : property_texts_) {
    const std::string_view pair = text;
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == pair.size()) {
      return wrong_use("--property=" + text, "is not NAME=VALUE", "neither may be empty");
    }
    const storage::Property property{pair.substr(0, equals), pair.substr(equals + 1)};
    const bool twice = (property.name == storage::property::kTags && !tags_.empty()) ||
                       (property.name == storage::property::kKeys && !keys_.empty()) ||
                       std::any_of(properties_.begin(), properties_.end(),
                                   [&](const auto& seen) { return seen.name == property.name; });
    if (twice) {
      return wrong_use("--property=" + text, "the property is given twice", "give it once");
    }
    properties_.push_back(property);
  }
  return {};
}

Result<void> PutCommand::check(const FlagTable& flags) {
  if (plan_) {
    for (const char* name : {"topic", "queue", "keys", "tags", "property", "lines"}) {
      if (flags.given(name)) {
        return wrong_use("--" + std::string(name), "has no meaning with --plan",
                         "the plan's lines say it; leave it out");
      }
    }
    return {};
  }
  if (!flags.given("topic")) {
    return wrong_use("--topic", "is missing", "add --topic=T");
  }
  return take_properties();
}

storage::CommitLogOptions PutCommand::log_options() const {
  return {
      .directory = store_,
      .file_bytes = log_file_bytes_,
      .queue_file_bytes = queue_file_bytes_,
      .index_slots = index_slots_,
      .flush_policy = flush_ == "sync" ? storage::FlushPolicy::kSync : storage::FlushPolicy::kAsync,
      // A plan's own writer is below the broker's limit of topic names, too.
      .allow_long_topics = plan_,
      .record_crc = record_crc_,
      .log = log_to_standard_error(name())};
}

storage::Message PutCommand::message_of(std::string_view body) const {
  return {.topic = topic_,
          .queue = QueueId{static_cast<std::int32_t>(queue_)},
          .tags = tags_,
          .keys = keys_,
          .body = as_bytes(body),
          .properties = properties_};
}

Result<void> PutCommand::put_lines(ReceiptPipeline& pipeline) {
  while (true) {
    KEROLOX_ASSIGN_OR_RETURN(const std::optional<std::string_view> line,
                             input_.next_line(storage::kBodyBytesMaxDefault));
    if (!line) {
      return {};
    }
    const storage::Message message = message_of(*line);
    KEROLOX_RETURN_IF_ERROR(pipeline.put({&message, 1}));
  }
}

Result<void> PutCommand::put_plan(ReceiptPipeline& pipeline) {
  std::vector<std::vector<storage::Property>> properties;
  while (true) {
    KEROLOX_ASSIGN_OR_RETURN(const std::optional<std::string_view> line,
                             input_.next_line(kPlanLineBytesMax));
    if (!line) {
      return {};
    }
    Result<PlannedMessage> planned = parse_plan_line(*line);
    if (!planned) {
      return planned.error().at("line " + std::to_string(input_.lines()));
    }
    apply_delay_level(*planned);
    KEROLOX_RETURN_IF_ERROR(pipeline.put(as_messages(*planned, properties)));
  }
}

Result<void> PutCommand::put_all(ReceiptPipeline& pipeline) {
  if (plan_) {
    return put_plan(pipeline);
  }
  if (lines_) {
    return put_lines(pipeline);
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::string body, input_.rest(storage::kBodyBytesMaxDefault));
  const storage::Message message = message_of(body);
  return pipeline.put({&message, 1});
}

int PutCommand::run(const FlagTable& flags) {
  if (const Result<void> checked = check(flags); !checked) {
    return fail(name(), checked.error());
  }
  const storage::CommitLogOptions options = log_options();
  Result<std::unique_ptr<storage::CommitLog>> log = storage::CommitLog::open(options);
  if (!log) {
    return fail(name(), log.error());
  }
  Output output;
  ReceiptPipeline pipeline(**log, options.store_host, static_cast<std::size_t>(in_flight_), output);
  int code = kGood;
  const Result<void> put = put_all(pipeline);
  if (!put) {
    code = fail(name(), put.error());
  }
  if (const Result<void> finished = pipeline.finish(); !finished && put) {
    code = fail(name(), finished.error());
  }
  if (pipeline.timed_out() > 0) {
    code = fail(name(), Error(ErrorCode::kTimedOut, "stored, but below the level asked for in time")
                            .at(store_)
                            .with_number("receipts", pipeline.timed_out())
                            .with_remedy("the receipts say which level was reached"));
  }
  if (const Result<void> closed = (*log)->close({}); !closed && code == kGood) {
    code = fail(name(), closed.error());
  }
  return code;
}

}  // namespace

std::unique_ptr<Command> put_command() { return std::make_unique<PutCommand>(); }

}  // namespace kerolox::tools
