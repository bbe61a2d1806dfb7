// Any bytes as a safetensors file: an error, or tensors whose data lie within the file.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "host/checkpoint/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stc::host;
  // A copy of its own: the sanitizer sees any read beyond its end.
  const std::shared_ptr<uint8_t[]> copy(new uint8_t[size]);
  for (size_t i = 0; i < size; ++i) copy[i] = data[i];
  FileView view;
  view.owner = copy;
  view.data = size > 0 ? copy.get() : nullptr;
  view.bytes = size;
  try {
    const SafetensorsFile file("fuzz", view);
    uint64_t bytes = 0;
    volatile uint8_t sum = 0;
    for (const HostTensor& tensor : file.tensors()) {
      for (uint64_t i = 0; i < tensor.bytes; ++i) sum = sum + static_cast<const uint8_t*>(tensor.data)[i];
      bytes += tensor.bytes;
      if (file.find(tensor.name) != &tensor) std::abort();
    }
    if (bytes > size) std::abort();  // data do not overlap
  } catch (const CheckpointError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
