#include "tests/reference/dump.hpp"

#include <cstdlib>
#include <stdexcept>

#include "host/train/tensor_bridge.hpp"

namespace stc::reference {

std::string source_path(const std::string& relative) {
  const char* root = std::getenv("STC_TEST_SOURCE");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + relative;
}

Dump::Dump(const std::string& name) : file_(source_path("tests/reference/dumps/" + name)) {}

at::Tensor Dump::tensor(const std::string& name) const {
  const host::HostTensor* found = file_.find(name);
  if (found == nullptr) throw std::out_of_range("the dump has no tensor " + name);
  return host::view_of_host(*found);
}

std::vector<double> Dump::doubles(const std::string& name) const {
  const at::Tensor values = tensor(name).to(at::kDouble).contiguous();
  const auto* data = values.const_data_ptr<double>();
  return {data, data + values.numel()};
}

std::vector<std::string> Dump::names_under(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const host::HostTensor& tensor : file_.tensors()) {
    if (tensor.name.rfind(prefix, 0) == 0) out.push_back(tensor.name.substr(prefix.size()));
  }
  return out;
}

}  // namespace stc::reference
