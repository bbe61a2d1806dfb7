#include "fused/arena.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace stc::reference_transformer::fused {
namespace {

constexpr size_t kHugePage = size_t{1} << 21;

}  // namespace

Arena::~Arena() { release(); }

void Arena::release() {
  if (data_ != nullptr) ::munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

void Arena::reserve(size_t bytes) {
  if (bytes <= size_) return;
  release();
  const size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // One page more, of which what lies outside of the aligned part is given back.
  void* mapped = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) ::munmap(mapped, aligned - begin);
  const uintptr_t end = begin + size + kHugePage;
  if (end > aligned + size) ::munmap(reinterpret_cast<void*>(aligned + size), end - aligned - size);
  data_ = reinterpret_cast<char*>(aligned);
  size_ = size;
  ::madvise(data_, size_, MADV_HUGEPAGE);  // a wish: fewer and cheaper first touches
  std::memset(data_, 0, size_);
}

}  // namespace stc::reference_transformer::fused
