// Threads that wait for work, and do it together.
#pragma once

#ifndef _WIN32
#include <unistd.h>
#endif

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace catena {

class ThreadPool {
 public:
  // as many as the system has, if it has any
  explicit ThreadPool(int count) {
    for (int k = 0; k < count; ++k) {
      try {
        threads_.emplace_back([this, k] { wait_for_work(k); });
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;
        break;
      }
    }
  }
  ~ThreadPool() {
    if (elsewhere()) {
      for (std::thread& thread : threads_) thread.detach();
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // work(k) on every thread k; the caller waits, and `meanwhile` is called several times a second
  template <class Meanwhile>
  void run(const std::function<void(int)>& work, Meanwhile&& meanwhile) {
    // a forked process has none of its parent's threads
    if (elsewhere()) return work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++round_;
    begin_.notify_all();
    while (!end_.wait_for(lock, std::chrono::milliseconds(50), [&] { return busy_ == 0; })) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
  }

 private:
  bool elsewhere() const { return process() != home_; }
  static long process() {
#ifdef _WIN32
    return 0;  // where no process is forked
#else
    return getpid();
#endif
  }

  void wait_for_work(int k) {
    long seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      begin_.wait(lock, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      lock.unlock();
      (*work_)(k);
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  const long home_ = process();
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int)>* work_ = nullptr;
  long round_ = 0;
  std::size_t busy_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace catena
