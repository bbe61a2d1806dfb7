#include "arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace stc::reference_transformer {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t rounded_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Arena::~Arena() { release(); }

void Arena::release() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_size_);
  mapped_ = nullptr;
  data_ = nullptr;
  mapped_size_ = size_ = 0;
}

float* Arena::reserve(size_t bytes) {
  if (bytes <= size_) return data_;
  release();
  const size_t size = rounded_up(bytes, 4096);
  const size_t mapped_size = size + kHugePage;
  void* mapped = mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = mapped;
  mapped_size_ = mapped_size;
  data_ = reinterpret_cast<float*>(rounded_up(reinterpret_cast<uintptr_t>(mapped), kHugePage));
  size_ = size;
#ifdef MADV_HUGEPAGE
  if (size >= kHugePage) madvise(data_, size, MADV_HUGEPAGE);
#endif
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* touched = reinterpret_cast<volatile char*>(data_);
  for (size_t i = 0; i < size; i += page) touched[i] = 0;
  return data_;
}

}  // namespace stc::reference_transformer
