/// \file
/// Threads that share loops. They wait on a futex: between two loops they look for work for some hundreds of
/// microseconds, so that the next loop of a small step finds them awake, and then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stc::host {

/// The caller of a loop takes its chunks as the workers do, one by one, and waits for nobody who has not begun: on a
/// busy machine, in a forked child and without any worker the loop is merely slower.
class WorkerPool {
 public:
  using Body = void (*)(void* arg, int64_t begin, int64_t end);

  /// \param on_start  runs first on each worker; may be empty
  WorkerPool(int workers, std::function<void()> on_start);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()); }
  /// Calls fn(arg, begin, end) for [0, n) in chunks of `chunk`, the last one perhaps shorter; returns when all are
  /// done. fn must not throw and must not call run(). Any thread; while another thread's loop runs, the caller is alone
  /// with its own.
  void run(int64_t n, int64_t chunk, Body fn, void* arg);

 private:
  void work();
  void take_chunks();
  void wait_for_workers();

  // The loop under way; written while no worker is in it.
  int64_t n_ = 0, chunk_ = 0;
  Body fn_ = nullptr;
  void* arg_ = nullptr;

  std::mutex busy_;
  std::atomic<int64_t> next_{0};   // first index that nobody has taken
  std::atomic<bool> open_{false};  // there is a loop to enter
  std::atomic<int> inside_{0};     // workers that may read the loop
  std::atomic<uint32_t> loops_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace stc::host
