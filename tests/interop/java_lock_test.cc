// One store, two owners, one of them a Java process: whoever comes second must not hurt the first.
#include <unistd.h>

#include <chrono>

#include "crash/store_check.h"
#include "crash/writer_process.h"
#include "interop/java_fixture.h"
#include "kerolox/storage/commit_log.h"

namespace kerolox::interop {
namespace {

using std::chrono::seconds;

class JavaLockTest : public JavaTest {
 protected:
  // A port that only this process uses; a broker takes port - 2, too.
  static std::string port(int number) {
    return std::to_string(20000 + (::getpid() % 2000) * 10 + number);
  }
  void TearDown() override {
    refcluster({"broker", "stop", "--name", name_, "--kill"});
    refcluster({"namesrv", "stop", "--port", port(0), "--kill"});
  }
  const std::string name_ = "lock" + std::to_string(::getpid());
};

// Java deletes, of what it finds behind the end of the log, files of `commitlog/` before it tries
// the lock. It may do what it likes: either the writer does not notice, or it ends before its next
// acknowledgement. In both cases nothing acknowledged is missing.
TEST_F(JavaLockTest, AJavaStoreStartedOnARunningStoreCostsNoAcknowledgedMessage) {
  crash::WriterProcess writer({.store = store(), .file_bytes = 65536, .in_flight = 8});
  ASSERT_TRUE(writer.await_acknowledgements(500, seconds(30))) << writer.errors();
  const tools::Finished java = storeprobe({"recover", "--store", store(), "--file-size", "65536"});
  EXPECT_NE(java.code, 0) << "Java took a store that is in use: " << java.out;
  writer.await_acknowledgements(SIZE_MAX, std::chrono::milliseconds(200));
  writer.kill();
  if (writer.failure()) {
    EXPECT_EQ(writer.failure(), ErrorCode::kStoreFailed) << writer.errors();
  }
  const std::vector<crash::WriterReport> acknowledged = writer.acknowledged();
  std::filesystem::remove_all(store() + "/consumequeue");  // what Java may have begun
  std::filesystem::remove_all(store() + "/index");
  for (const std::string& fault : crash::faults_of({.store = store()}, acknowledged)) {
    ADD_FAILURE() << fault;
  }
}

TEST_F(JavaLockTest, AStoreThatARunningBrokerHoldsIsLocked) {
  ASSERT_EQ(refcluster({"namesrv", "start", "--port", port(0)}).code, 0);
  const tools::Finished started =
      refcluster({"broker", "start", "--name", name_, "--port", port(3), "--ha-port", port(5),
                  "--namesrv", "127.0.0.1:" + port(0), "--store", store(), "--heap", "512m"});
  ASSERT_EQ(started.code, 0) << started.err;
  const auto opened = storage::CommitLog::open({.directory = store()});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kLocked) << opened.error().text();
  EXPECT_FALSE(opened.error().remedy().empty());
  // A look takes no lock.
  const tools::Finished inspected = kerolox({"store", "inspect", "--store", store()});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
}

}  // namespace
}  // namespace kerolox::interop
