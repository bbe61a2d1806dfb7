// Calls an operator that LibTorch has with other arguments: the dispatcher would crash, the host refuses.

#include <stc/stable/model.hpp>
#include <stc/stable/operator.hpp>

namespace stc::test {

class Wrong {
 public:
  std::vector<stable::Parameter> parameters() { return {}; }
  stable::Tensor forward(const stable::Tensor& x) {
    return stable::call<"aten::relu(Tensor self, bool inplace) -> Tensor">(x, true);
  }
};

}  // namespace stc::test

STC_MODEL_PLUGIN(stc::test::Wrong, "test_wrong", "1.0.0", "calls an operator that does not exist")
