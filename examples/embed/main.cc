#include <kerolox/storage/commit_log.h>

#include <iostream>
#include <span>
#include <string_view>

using namespace kerolox;

int fail(const Error& error) {
  std::cerr << error.text() << "\n";  // place, cause and remedy in one line
  return 1;
}

int main() {
  auto opened = storage::CommitLog::open({.directory = "orders"});  // SYNC_FLUSH, group commit
  if (!opened) return fail(opened.error());
  storage::CommitLog& log = **opened;

  const std::string_view text = "order 1 is paid";
  storage::Message message{.topic = "orders", .queue = QueueId{0}, .tags = "paid"};
  message.body = std::as_bytes(std::span(text));
  const auto receipt = log.append_and_wait(message);
  if (!receipt) return fail(receipt.error());
  const bool on_disk = receipt->level.local == storage::LocalLevel::kDisk;
  std::cout << "stored at " << receipt->first.offset.value << (on_disk ? ", on disk\n" : "\n");

  storage::ReadBatch batch;
  const auto read = log.read(receipt->first.offset, {}, batch);
  if (!read) return fail(read.error());
  for (const storage::MessageView& view : batch) {  // borrowed until `batch` dies
    std::cout << view.topic << "/" << view.queue.value << " " << view.tags() << ": ";
    std::cout.write(reinterpret_cast<const char*>(view.body.data()), std::ssize(view.body)) << "\n";
  }

  const auto closed = log.close({});
  return closed ? 0 : fail(closed.error());
}
