// A process that writes into a store until it is killed, its disk fails, or it has written what it
// was asked to. Each acknowledgement goes to standard output as a WriterReport the moment it comes.
//
//   log_writer store=DIR flush=sync|async file_bytes=N run=N threads=N in_flight=N count=N
//              body_bytes=N [early=1]
//
// early=1 is the control of the tests themselves: it reports messages as being on disk before they
// are, so a check that does not notice is no check.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "crash/writer_protocol.h"
#include "kerolox/storage/commit_log.h"

namespace kerolox::crash {
namespace {

using storage::AppendReceipt;
using storage::CommitLog;

struct Arguments {
  std::string store;
  bool sync = true;
  bool early = false;
  std::int64_t file_bytes = 0;
  std::int64_t run = 0;
  std::int64_t threads = 1;
  std::int64_t in_flight = 64;
  std::int64_t count = 0;  // messages a thread
  std::int64_t body_bytes = 300;
};

Arguments parse(int count, char** texts) {
  std::map<std::string, std::string> values;
  for (int index = 1; index < count; ++index) {
    const std::string text = texts[index];
    const std::size_t equals = text.find('=');
    values[text.substr(0, equals)] = equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  const auto number = [&values](const char* name) { return std::atoll(values[name].c_str()); };
  return {.store = values["store"],
          .sync = values["flush"] == "sync",
          .early = number("early") != 0,
          .file_bytes = number("file_bytes"),
          .run = number("run"),
          .threads = number("threads"),
          .in_flight = number("in_flight"),
          .count = number("count"),
          .body_bytes = number("body_bytes")};
}

void report(const WriterReport& line) {
  // Without a reader nobody wants to know any more.
  if (::write(STDOUT_FILENO, &line, sizeof line) != static_cast<ssize_t>(sizeof line)) {
    std::_Exit(4);
  }
}

// One thread's messages: single ones and small batches, a bounded number in flight.
class Stream {
 public:
  Stream(CommitLog& log, const Arguments& arguments, std::int64_t thread)
      : log_(log), arguments_(arguments), thread_(thread) {}

  void run() {
    while (next_ < arguments_.count && !failed_) {
      await_room();
      append(next_ % 7 == 3 ? std::min<std::int64_t>(4, arguments_.count - next_) : 1);
    }
    await_all();
  }
  std::int32_t error_code() const { return error_code_; }
  bool failed() const { return failed_; }

 private:
  void await_room() {
    for (std::int64_t now = in_flight_; now >= arguments_.in_flight; now = in_flight_) {
      in_flight_.wait(now);
    }
  }
  void await_all() {
    for (std::int64_t now = in_flight_; now > 0; now = in_flight_) {
      in_flight_.wait(now);
    }
  }

  void append(std::int64_t count) {
    std::vector<std::string> keys;
    std::vector<std::string> bodies;
    for (std::int64_t number = next_; number < next_ + count; ++number) {
      keys.push_back(MessageName{arguments_.run, thread_, number}.key());
      bodies.push_back(body_of(keys.back(), arguments_.body_bytes));
    }
    const storage::Property no_wait{storage::property::kWait, "false"};
    std::vector<storage::Message> messages;
    for (std::size_t index = 0; index < keys.size(); ++index) {
      messages.push_back({.topic = kTopics[next_ % 2],
                          .queue = QueueId{static_cast<std::int32_t>(next_ % kQueues)},
                          .keys = keys[index],
                          .body = std::as_bytes(std::span(bodies[index])),
                          .properties = std::span(&no_wait, next_ % 11 == 5 ? 1 : 0)});
    }
    ++in_flight_;
    const storage::Completion done(
        [this, number = next_, count](const auto& receipt) { complete(number, count, receipt); });
    const Result<storage::Ticket> ticket = count == 1 ? log_.append(messages.front(), {}, done)
                                                      : log_.append_batch(messages, {}, done, {});
    if (ticket) {
      if (arguments_.early) {
        acknowledge(next_, count, ticket->first, ticket->end, storage::LocalLevel::kDisk);
      }
      next_ += count;
      return;
    }
    --in_flight_;
    if (ticket.error().code() == ErrorCode::kBusy) {
      std::this_thread::sleep_for(ticket.error().retry_after());
    } else {
      fail(ticket.error());
    }
  }

  void complete(std::int64_t number, std::int64_t count, const Result<AppendReceipt>& receipt) {
    if (!receipt) {
      fail(receipt.error());
    } else if (!arguments_.early) {
      acknowledge(number, count, receipt->first, receipt->end, receipt->level.local);
    }
    --in_flight_;
    in_flight_.notify_all();
  }

  void acknowledge(std::int64_t number, std::int64_t count, const storage::RecordPosition& first,
                   PhysicalOffset end, storage::LocalLevel level) const {
    report({.kind = WriterReport::Kind::kAcknowledged,
            .name = {arguments_.run, thread_, number},
            .message_count = count,
            .offset = first.offset.value,
            .queue_offset = first.queue_offset.value,
            .record_bytes = first.record_bytes,
            .end = end.value,
            .level = level});
  }

  void fail(const Error& error) {
    error_code_ = static_cast<std::int32_t>(error.code());
    failed_ = true;
    std::fprintf(stderr, "log_writer: %s\n", error.text().c_str());
  }

  CommitLog& log_;
  const Arguments& arguments_;
  const std::int64_t thread_;
  std::int64_t next_ = 0;
  std::atomic<std::int64_t> in_flight_{0};
  std::atomic<std::int32_t> error_code_{0};
  std::atomic<bool> failed_{false};
};

int failed(std::int32_t code) {
  report({.kind = WriterReport::Kind::kFailed, .error_code = code});
  return 3;
}

int write_all(const Arguments& arguments) {
  Result<std::unique_ptr<CommitLog>> log =
      CommitLog::open({.directory = arguments.store,
                       .file_bytes = arguments.file_bytes,
                       .flush_policy = arguments.sync ? storage::FlushPolicy::kSync
                                                      : storage::FlushPolicy::kAsync});
  if (!log) {
    std::fprintf(stderr, "log_writer: %s\n", log.error().text().c_str());
    return failed(static_cast<std::int32_t>(log.error().code()));
  }
  report({.kind = WriterReport::Kind::kOpened, .offset = (*log)->filled_offset().value});
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::int64_t thread = 0; thread < arguments.threads; ++thread) {
    streams.push_back(std::make_unique<Stream>(**log, arguments, thread));
  }
  std::vector<std::thread> threads;
  for (const auto& stream : streams) {
    threads.emplace_back([&stream] { stream->run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& stream : streams) {
    if (stream->failed()) {
      return failed(stream->error_code());
    }
  }
  if (const Result<void> closed = (*log)->close({}); !closed) {
    return failed(static_cast<std::int32_t>(closed.error().code()));
  }
  report({.kind = WriterReport::Kind::kClosed});
  return 0;
}

}  // namespace
}  // namespace kerolox::crash

int main(int count, char** arguments) {
  return kerolox::crash::write_all(kerolox::crash::parse(count, arguments));
}
