/// \file
/// Memory of batches, used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/data/loader.hpp"

namespace stc::host {

/// Lends batches and aligned memory; what its users let go comes back, so that a loader in its steady
/// state allocates nothing. Lives as long as anything that it lent. [any-thread]
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  static constexpr size_t kAlignment = 64;
  static std::shared_ptr<BatchPool> make() { return std::shared_ptr<BatchPool>(new BatchPool); }
  ~BatchPool();
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;

  /// A batch whose members hold anything: fields and strings keep the room of their last use.
  std::shared_ptr<Batch> batch();
  /// At least `bytes` bytes, aligned to kAlignment, contents undefined.
  std::shared_ptr<void> memory(uint64_t bytes);

 private:
  struct Block {
    void* data = nullptr;
    uint64_t bytes = 0;
  };
  struct ReturnBatch;
  struct ReturnBlock;
  template <class T>
  struct NodeAllocator;

  BatchPool() = default;
  Block take(std::vector<Block>& from, uint64_t bytes);
  void give(std::vector<Block>& to, Block block);

  std::mutex mutex_;
  std::vector<Block> blocks_;  // guarded by mutex_, as are the two below
  std::vector<Block> nodes_;   // control blocks of the shared pointers
  std::vector<std::unique_ptr<Batch>> batches_;
};

}  // namespace stc::host
