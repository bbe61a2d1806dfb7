// The services of the host that need LibTorch.

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "tests/support/torch_plugins.hpp"

using stc::host::ErrorText;
using stc::host::take_error;

namespace {

const stc_host& table() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("test", nullptr);
  return services.table();
}

stc_tensor_info info_of(const at::Tensor& tensor) {
  stc_tensor_info info{};
  info.struct_size = sizeof info;
  BOOST_TEST(take_error(table().tensor_info(table().ctx, stc::host::borrow_handle(tensor), &info)).message == "");
  return info;
}

ErrorText check_schema(const char* schema) { return take_error(table().operator_check(table().ctx, schema)); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(torch_services)

BOOST_AUTO_TEST_CASE(tensor_info_tells_shape_place_and_address) {
  const at::Tensor tensor = at::ones({3, 4}, at::kDouble).t();
  const stc_tensor_info info = info_of(tensor);
  BOOST_TEST(info.dtype == STC_DTYPE_FLOAT64);
  BOOST_TEST(info.ndim == 2);
  BOOST_TEST(info.sizes[0] == 4);
  BOOST_TEST(info.strides[0] == 1);
  BOOST_TEST(info.data == tensor.data_ptr());
  BOOST_TEST(info.device_type == STC_DEVICE_CPU);
  BOOST_TEST(info.is_contiguous == 0);
  BOOST_TEST(info.requires_grad == 0);
}

BOOST_AUTO_TEST_CASE(tensor_info_refuses_what_has_no_address) {
  stc_tensor_info info{};
  info.struct_size = sizeof info;
  const at::Tensor sparse = at::ones({3}).to_sparse();
  BOOST_TEST(take_error(table().tensor_info(table().ctx, stc::host::borrow_handle(sparse), &info)).code ==
             STC_ERROR_UNSUPPORTED);
  BOOST_TEST(take_error(table().tensor_info(table().ctx, nullptr, &info)).code == STC_ERROR_INVALID_ARGUMENT);
  info.struct_size = 3;
  const at::Tensor dense = at::ones({3});
  BOOST_TEST(take_error(table().tensor_info(table().ctx, stc::host::borrow_handle(dense), &info)).code ==
             STC_ERROR_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(tensor_from_buffer_releases_when_the_last_user_is_gone) {
  float values[6] = {0, 1, 2, 3, 4, 5};
  const int64_t sizes[2] = {2, 3};
  const stc_buffer buffer{values, sizeof values, STC_DTYPE_FLOAT32, 2, sizes};
  static int released = 0;
  stc_tensor handle = nullptr;
  const auto release = [](void* arg) { ++*static_cast<int*>(arg); };
  BOOST_TEST(take_error(table().tensor_from_buffer(table().ctx, &buffer, release, &released, &handle)).message == "");
  at::Tensor other = stc::host::to_tensor(handle);
  BOOST_TEST(at::equal(other, at::arange(6, at::kFloat).view({2, 3})));
  BOOST_TEST(other.data_ptr() == static_cast<void*>(values));
  table().tensor_delete(table().ctx, handle);
  BOOST_TEST(released == 0);
  other.reset();
  BOOST_TEST(released == 1);
}

BOOST_AUTO_TEST_CASE(tensor_from_buffer_refuses_shapes_that_do_not_fit) {
  float values[6] = {};
  int64_t sizes[2] = {2, 4};
  stc_buffer buffer{values, sizeof values, STC_DTYPE_FLOAT32, 2, sizes};
  stc_tensor handle = nullptr;
  const auto message = [&] {
    return take_error(table().tensor_from_buffer(table().ctx, &buffer, nullptr, nullptr, &handle)).message;
  };
  BOOST_TEST(message() == "tensor_from_buffer: 24 bytes, the shape needs 32");
  sizes[0] = sizes[1] = INT64_MAX;
  BOOST_TEST(message() == "tensor_from_buffer: the sizes overflow");
  sizes[0] = -1;
  BOOST_TEST(message() == "tensor_from_buffer: a size is negative");
  buffer.dtype = 77;
  BOOST_TEST(message() == "tensor_from_buffer: dtype code 77 is unknown");
  BOOST_TEST(handle == nullptr);
}

BOOST_AUTO_TEST_CASE(element_types_without_a_counterpart_are_named) {
  const auto message = [](const std::function<void()>& function) -> std::string {
    try {
      function();
    } catch (const stc::host::TrainError& error) {
      return error.what();
    }
    return "none";
  };
  BOOST_TEST(message([] { stc::host::to_scalar_type(77); }) == "tensor: dtype code 77 is none of stc's");
  BOOST_TEST(message([] { stc::host::to_stc_dtype(at::kComplexFloat); }) ==
             "tensor: dtype ComplexFloat has no code at the plugin boundary");
}

BOOST_AUTO_TEST_CASE(operator_check_compares_types_in_order) {
  BOOST_TEST(check_schema("aten::relu(Tensor self) -> Tensor").message == "");
  BOOST_TEST(check_schema("aten::relu(Tensor x) -> Tensor").message == "");  // names may differ
  BOOST_TEST(check_schema("stc::mul.Float(Tensor self, float other) -> Tensor").message == "");
  BOOST_TEST(check_schema("aten::no_such_thing(Tensor self) -> Tensor").code == STC_ERROR_NOT_FOUND);
  const ErrorText other = check_schema("aten::bmm(Tensor self, int mat2) -> Tensor");
  BOOST_TEST(other.code == STC_ERROR_UNSUPPORTED);
  BOOST_TEST(holds(other.message, "this LibTorch has aten::bmm(Tensor self, Tensor mat2) -> Tensor"));
  BOOST_TEST(check_schema("aten::bmm(Tensor self) -> Tensor").code == STC_ERROR_UNSUPPORTED);
  BOOST_TEST(check_schema("aten::bmm(Tensor self, Tensor mat2) -> Tensor[]").code == STC_ERROR_UNSUPPORTED);
  BOOST_TEST(check_schema("aten::relu(Tensor self -> Tensor").code == STC_ERROR_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(operator_check_refuses_scalars_because_they_cannot_cross) {
  const ErrorText error = check_schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  BOOST_TEST(error.code == STC_ERROR_UNSUPPORTED);
  BOOST_TEST(holds(error.message, "argument alpha is a Scalar"));
  BOOST_TEST(check_schema("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor").code ==
             STC_ERROR_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(parallel_for_covers_each_index_once) {
  std::vector<std::atomic<int>> seen(10000);
  table().parallel_for(
      table().ctx, 10000, 100,
      [](void* arg, int64_t begin, int64_t end) {
        auto& counts = *static_cast<std::vector<std::atomic<int>>*>(arg);
        for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
      },
      &seen);
  for (const auto& count : seen) BOOST_REQUIRE(count == 1);
}

/// Two chunks that wait for each other, so that no thread can take both.
struct BothThreads {
  std::atomic<int> chunks{0};

  void wait() {
    ++chunks;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (chunks < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
};

BOOST_AUTO_TEST_CASE(parallel_for_uses_the_threads) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  struct Seen {
    BothThreads both;
    std::mutex mutex;
    std::set<std::thread::id> threads;
  } seen;
  table().parallel_for(
      table().ctx, 2, 1,
      [](void* arg, int64_t, int64_t) {
        auto& all = *static_cast<Seen*>(arg);
        all.both.wait();
        const std::lock_guard lock(all.mutex);
        all.threads.insert(std::this_thread::get_id());
      },
      &seen);
  at::set_num_threads(before);
  BOOST_TEST(seen.threads.size() == 2u);
}

/// Loops within a loop, LibTorch's too, stay on the thread that they are on, and all threads are back after it.
BOOST_AUTO_TEST_CASE(loops_within_a_loop_stay_on_their_thread) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  struct Seen {
    BothThreads both;
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> inner;
    std::multiset<int> torch_threads;
  } seen;
  table().parallel_for(
      table().ctx, 2, 1,
      [](void* arg, int64_t, int64_t) {
        static_cast<Seen*>(arg)->both.wait();
        table().parallel_for(
            table().ctx, 100, 1,
            [](void* seen_by, int64_t begin, int64_t end) {
              auto& all = *static_cast<Seen*>(seen_by);
              const std::lock_guard lock(all.mutex);
              all.inner.emplace(begin, end);
              all.torch_threads.insert(at::get_num_threads());
            },
            arg);
      },
      &seen);
  BOOST_TEST((seen.inner == std::set<std::pair<int64_t, int64_t>>{{0, 100}}));
  BOOST_TEST((seen.torch_threads == std::multiset<int>{1, 1}));
  BOOST_TEST(at::get_num_threads() == 2);
  at::set_num_threads(before);
}

BOOST_AUTO_TEST_CASE(memory_is_aligned_and_pinned_memory_needs_a_device) {
  for (const uint64_t alignment : {64U, 4096U}) {
    void* memory = nullptr;
    BOOST_TEST(take_error(table().alloc(table().ctx, 100, alignment, 0, &memory)).message == "");
    BOOST_TEST(reinterpret_cast<uintptr_t>(memory) % alignment == 0U);
    table().free(table().ctx, memory);
  }
  void* memory = nullptr;
  const ErrorText error = take_error(table().alloc(table().ctx, 100, 64, 1, &memory));
  BOOST_TEST((error.code == 0 || error.code == STC_ERROR_UNSUPPORTED));
  table().free(table().ctx, memory);
  BOOST_TEST(take_error(table().alloc(table().ctx, UINT64_MAX - 100, 64, 0, &memory)).code == STC_ERROR_OUT_OF_MEMORY);
}

BOOST_AUTO_TEST_SUITE_END()
