#include "host/data/batch_pool.hpp"

#include <new>
#include <utility>

namespace stc::host {
namespace {

/// Idle blocks kept of each kind; beyond it the oldest is freed.
constexpr size_t kMaxIdle = 256;

void release(void* data) { ::operator delete (data, std::align_val_t{BatchPool::kAlignment}); }

}  // namespace

struct BatchPool::ReturnBatch {
  std::shared_ptr<BatchPool> pool;
  void operator()(Batch* raw) const {
    std::unique_ptr<Batch> batch(raw);
    for (BatchField& field : batch->fields) field.data.reset();
    const std::lock_guard lock(pool->mutex_);
    if (pool->batches_.size() < kMaxIdle) pool->batches_.push_back(std::move(batch));
  }
};

struct BatchPool::ReturnBlock {
  std::shared_ptr<BatchPool> pool;
  uint64_t bytes;
  void operator()(void* data) const { pool->give(pool->blocks_, {data, bytes}); }
};

/// Takes the control blocks of shared pointers from the pool too.
template <class T>
struct BatchPool::NodeAllocator {
  using value_type = T;
  std::shared_ptr<BatchPool> pool;
  explicit NodeAllocator(std::shared_ptr<BatchPool> from) : pool(std::move(from)) {}
  template <class U>
  NodeAllocator(const NodeAllocator<U>& other) : pool(other.pool) {}  // NOLINT: rebinding is implicit
  T* allocate(size_t n) { return static_cast<T*>(pool->take(pool->nodes_, n * sizeof(T)).data); }
  void deallocate(T* data, size_t n) { pool->give(pool->nodes_, {data, round_up(n * sizeof(T))}); }
  template <class U>
  bool operator==(const NodeAllocator<U>& other) const {
    return pool == other.pool;
  }
  static uint64_t round_up(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
};

BatchPool::~BatchPool() {
  for (const Block& block : blocks_) release(block.data);
  for (const Block& block : nodes_) release(block.data);
}

std::shared_ptr<Batch> BatchPool::batch() {
  std::unique_ptr<Batch> batch;
  {
    const std::lock_guard lock(mutex_);
    if (!batches_.empty()) {
      batch = std::move(batches_.back());
      batches_.pop_back();
    }
  }
  if (!batch) batch = std::make_unique<Batch>();
  const auto self = shared_from_this();
  return std::shared_ptr<Batch>(batch.release(), ReturnBatch{self}, NodeAllocator<char>(self));
}

std::shared_ptr<void> BatchPool::memory(uint64_t bytes) {
  const Block block = take(blocks_, bytes);
  const auto self = shared_from_this();
  return std::shared_ptr<void>(block.data, ReturnBlock{self, block.bytes}, NodeAllocator<char>(self));
}

BatchPool::Block BatchPool::take(std::vector<Block>& from, uint64_t bytes) {
  bytes = NodeAllocator<char>::round_up(bytes == 0 ? 1 : bytes);
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = from.size(); i-- > 0;) {
      if (from[i].bytes < bytes || from[i].bytes > 2 * bytes) continue;
      const Block block = from[i];
      from[i] = from.back();
      from.pop_back();
      return block;
    }
  }
  return {::operator new (bytes, std::align_val_t{kAlignment}), bytes};
}

void BatchPool::give(std::vector<Block>& to, Block block) {
  const std::lock_guard lock(mutex_);
  if (to.size() >= kMaxIdle) {
    release(to.front().data);
    to.front() = block;
    return;
  }
  to.push_back(block);
}

}  // namespace stc::host
