/// \file
/// A bounded queue that several producers fill out of order and one consumer reads in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stc::host {

/// Numbers 0, 1, 2 ... are claimed by producers and handed out in that order, at most `depth` ahead of
/// the consumer.
template <class T>
class OrderedQueue {
 public:
  explicit OrderedQueue(uint64_t depth) : slots_(depth) {}

  /// [producer] The next number to make; waits for room. Nothing after stop.
  std::optional<uint64_t> claim() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopped_ || claimed_ < taken_ + slots_.size(); });
    if (stopped_) return std::nullopt;
    return claimed_++;
  }

  /// [producer] The value of a claimed number, or why there is none.
  void put(uint64_t number, T value) { fill(number, std::move(value), nullptr); }
  void fail(uint64_t number, std::exception_ptr error) { fill(number, std::nullopt, std::move(error)); }

  /// [consumer] The next value; nothing when it has not come half a second after `give_up` (asked ten
  /// times a second) said to. Rethrows a failure, each time.
  std::optional<T> take(const std::function<bool()>& give_up) {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    for (int patience = 5; !slot.value && !slot.error;) {
      if (give_up && give_up() && patience-- == 0) return std::nullopt;
      filled_.wait_for(lock, std::chrono::milliseconds(100));
    }
    if (slot.error) std::rethrow_exception(slot.error);
    std::optional<T> value = std::move(slot.value);
    slot.value.reset();
    ++taken_;
    lock.unlock();
    room_.notify_one();
    return value;
  }

  /// Lets every producer go.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
  }

 private:
  struct Slot {
    std::optional<T> value;
    std::exception_ptr error;
  };

  void fill(uint64_t number, std::optional<T> value, std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      Slot& slot = slots_[number % slots_.size()];
      slot.value = std::move(value);
      slot.error = std::move(error);
    }
    filled_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::vector<Slot> slots_;  // guarded by mutex_, as are the three below
  uint64_t claimed_ = 0;
  uint64_t taken_ = 0;
  bool stopped_ = false;
};

}  // namespace stc::host
