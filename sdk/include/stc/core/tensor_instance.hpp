/// \file
/// Creates the author's object behind a model or an optimizer.
#pragma once

#include <memory>
#include <type_traits>

#include "stc/core/host.hpp"
#include "stc/core/params.hpp"

namespace stc {

/// An M from its section of the configuration. Constructors tried: (Params, Host, Config),
/// (Params, Host), (Params), (Host), (). Shared, because a torch::nn::Module may ask for itself.
template <class M>
std::shared_ptr<M> make_shared_instance(const Host& host, const Config& config) {
  if constexpr (requires { typename M::Params; }) {
    using P = typename M::Params;
    const P params = read_params<P>(config);
    if constexpr (std::is_constructible_v<M, const P&, Host, Config>) {
      return std::make_shared<M>(params, host, config);
    } else if constexpr (std::is_constructible_v<M, const P&, Host>) {
      return std::make_shared<M>(params, host);
    } else {
      static_assert(std::is_constructible_v<M, const P&>, "a plugin has a constructor (const Params&, stc::Host) or (const Params&)");
      return std::make_shared<M>(params);
    }
  } else if constexpr (std::is_constructible_v<M, Host, Config>) {
    return std::make_shared<M>(host, config);
  } else if constexpr (std::is_constructible_v<M, Host>) {
    return std::make_shared<M>(host);
  } else {
    return std::make_shared<M>();
  }
}

}  // namespace stc
