// A mutex whose guarded members are checked by clang's thread-safety analysis.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KEROLOX_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define KEROLOX_THREAD_ATTRIBUTE(x)
#endif

#define KEROLOX_CAPABILITY(name) KEROLOX_THREAD_ATTRIBUTE(capability(name))
#define KEROLOX_SCOPED_CAPABILITY KEROLOX_THREAD_ATTRIBUTE(scoped_lockable)
#define KEROLOX_GUARDED_BY(m) KEROLOX_THREAD_ATTRIBUTE(guarded_by(m))
#define KEROLOX_PT_GUARDED_BY(m) KEROLOX_THREAD_ATTRIBUTE(pt_guarded_by(m))
#define KEROLOX_REQUIRES(...) KEROLOX_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define KEROLOX_EXCLUDES(...) KEROLOX_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define KEROLOX_ACQUIRE(...) KEROLOX_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define KEROLOX_RELEASE(...) KEROLOX_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define KEROLOX_TRY_ACQUIRE(...) KEROLOX_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define KEROLOX_NO_THREAD_SAFETY_ANALYSIS KEROLOX_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace kerolox {

class KEROLOX_CAPABILITY("mutex") Mutex {
 public:
  void lock() KEROLOX_ACQUIRE() { mutex_.lock(); }
  void unlock() KEROLOX_RELEASE() { mutex_.unlock(); }
  bool try_lock() KEROLOX_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

class KEROLOX_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KEROLOX_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KEROLOX_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits with the Mutex held, as std::condition_variable does.
class ConditionVariable {
 public:
  void wait(Mutex& mutex) KEROLOX_REQUIRES(mutex) { condition_.wait(mutex); }
  template <typename Duration>
  bool wait_for(Mutex& mutex, const Duration& duration) KEROLOX_REQUIRES(mutex) {
    return condition_.wait_for(mutex, duration) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace kerolox
