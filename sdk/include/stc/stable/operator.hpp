/// \file
/// Calls of LibTorch's operators by name, typed by their schema:
///
///   Tensor y = stc::stable::call<"aten::relu(Tensor self) -> Tensor">(x);
///
/// The schema is read at compile time: wrong arguments do not compile. All schemas of a library are in its
/// list, and the host compares them with its LibTorch's before the first create, because the dispatcher
/// itself would crash on a wrong stack. Calls record gradients as every other call does.
///
/// C++ types of the arguments: Tensor, `Tensor?` Tensor (undefined: absent), Tensor[] a span or vector of
/// Tensor, int and SymInt int64_t, float double, bool bool, int[] a span, vector or braces of int64_t,
/// ScalarType an STC_DTYPE_*, str a string; optional ones also std::nullopt. Other optional types (Device,
/// Layout, MemoryFormat, Generator) can only be absent. Results: Tensor, std::array of them, vector for
/// Tensor[]. Scalar cannot cross: use namespace stc's operators (stc/stable/ops.hpp).
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stc/core/host.hpp"
#include "stc/core/library.hpp"
#include "stc/stable/schema.hpp"
#include "stc/stable/tensor.hpp"

namespace stc::stable {
namespace detail {

/// Values on the dispatcher's stack are 64 bits: numbers by their low bytes, the rest owned pointers.
template <class T>
StableIValue to_stack(T value) {
  static_assert(sizeof(T) <= sizeof(StableIValue) && std::is_trivially_copyable_v<T>);
  static_assert(std::endian::native == std::endian::little);
  StableIValue out = 0;
  __builtin_memcpy(&out, &value, sizeof value);
  return out;
}

inline StableIValue list_of(size_t size, auto&& element) {
  StableListHandle list = nullptr;
  check(torch_new_list_reserve_size(size, &list), "new_list");
  try {
    for (size_t i = 0; i < size; ++i) check(torch_list_push_back(list, element(i)), "list_push_back");
  } catch (...) {
    torch_delete_list(list);
    throw;
  }
  return to_stack(list);
}

template <Type type>
struct Encode;
template <>
struct Encode<Type::kTensor> {
  static StableIValue call(const Tensor& value) {
    if (!value.defined()) throw Fault(STC_ERROR_INVALID_ARGUMENT, "an operator got an undefined tensor");
    return to_stack(Tensor(value).release());
  }
};
template <>
struct Encode<Type::kTensorList> {
  static StableIValue call(std::span<const Tensor> values) {
    return list_of(values.size(), [&](size_t i) { return Encode<Type::kTensor>::call(values[i]); });
  }
};
template <>
struct Encode<Type::kInt> {
  static StableIValue call(int64_t value) { return to_stack(value); }
};
template <>
struct Encode<Type::kFloat> {
  static StableIValue call(double value) { return to_stack(value); }
};
template <>
struct Encode<Type::kBool> {
  static StableIValue call(std::same_as<bool> auto value) { return to_stack(value); }
};
template <>
struct Encode<Type::kIntList> {
  static StableIValue call(std::span<const int64_t> values) {
    return list_of(values.size(), [&](size_t i) { return to_stack(values[i]); });
  }
};
template <>
struct Encode<Type::kDtype> {
  static StableIValue call(int32_t value) { return to_stack(torch_dtype(value)); }
};
template <>
struct Encode<Type::kString> {
  static StableIValue call(std::string_view value) {
    StringHandle handle = nullptr;
    check(torch_new_string_handle(value.data(), value.size(), &handle), "new_string");
    return to_stack(handle);
  }
};

/// An optional is a pointer to its value, owned by the callee, or null.
inline StableIValue optional_of_value(StableIValue value) { return to_stack(new StableIValue(value)); }

template <Type type, class A>
StableIValue encode(const A& argument) {
  if constexpr (!is_optional(type)) {
    return Encode<type>::call(argument);
  } else if constexpr (std::is_same_v<A, std::nullopt_t>) {
    return 0;
  } else if constexpr (type == optional_of(Type::kTensor)) {
    return argument.defined() ? optional_of_value(Encode<Type::kTensor>::call(argument)) : 0;
  } else if constexpr (requires { argument.has_value(); }) {
    return argument.has_value() ? optional_of_value(Encode<base_of(type)>::call(*argument)) : 0;
  } else {
    return optional_of_value(Encode<base_of(type)>::call(argument));
  }
}

inline std::vector<Tensor> take_list(StableIValue value) {
  auto list = reinterpret_cast<StableListHandle>(static_cast<uintptr_t>(value));
  std::vector<Tensor> out;
  size_t size = 0;
  check(torch_list_size(list, &size), "list_size");
  for (size_t i = 0; i < size; ++i) {
    StableIValue element = 0;
    check(torch_list_get_item(list, i, &element), "list_get_item");
    out.emplace_back(reinterpret_cast<stc_tensor>(static_cast<uintptr_t>(element)));
  }
  check(torch_delete_list(list), "delete_list");
  return out;
}

inline Tensor take_tensor(StableIValue value) {
  return Tensor(reinterpret_cast<stc_tensor>(static_cast<uintptr_t>(value)));
}

/// void, Tensor, an array of them, or a vector for Tensor[].
template <Text text>
constexpr auto result_type() {
  constexpr Schema kSchema = read_schema(text.value);
  if constexpr (kSchema.num_results == 0) {
    return std::type_identity<void>();
  } else if constexpr (kSchema.num_results == 1 && kSchema.results[0] == Type::kTensorList) {
    return std::type_identity<std::vector<Tensor>>();
  } else if constexpr (kSchema.num_results == 1) {
    return std::type_identity<Tensor>();
  } else {
    return std::type_identity<std::array<Tensor, kSchema.num_results>>();
  }
}
template <Text text>
using Result = typename decltype(result_type<text>())::type;

/// Result types are spelled out, not deduced: a deduced one would instantiate `call`, and with it put the
/// operator into the list of every library that includes a wrapper of it.
/// kListed: whether the host compares the schema before the first create.
template <Text text, bool kListed = true>
struct Operator {
  static constexpr Schema kSchema = read_schema(text.value);
  static constexpr size_t kStack =
      kSchema.num_arguments > kSchema.num_results ? kSchema.num_arguments : kSchema.num_results;
  /// In the library's list from its loading on, if the operator is called anywhere in it.
  static inline const bool listed = (stc::detail::operator_schemas().push_back(text.value), true);

  template <size_t... I, class... A>
  static Result<text> call(std::index_sequence<I...>, const A&... arguments) {
    if constexpr (kListed) static_cast<void>(&listed);
    std::array<StableIValue, kStack> stack{encode<kSchema.arguments[I]>(arguments)...};
    check(torch_call_dispatcher(kSchema.name, kSchema.overload, stack.data(), TORCH_ABI_VERSION), kSchema.name);
    return results(stack, std::make_index_sequence<kSchema.num_results>());
  }

  template <size_t... R>
  static Result<text> results([[maybe_unused]] const std::array<StableIValue, kStack>& stack,
                              std::index_sequence<R...>) {
    if constexpr (kSchema.num_results == 0) {
      return;
    } else if constexpr (kSchema.num_results == 1 && kSchema.results[0] == Type::kTensorList) {
      return take_list(stack[0]);
    } else {
      static_assert(((kSchema.results[R] == Type::kTensor) && ...), "only operators that return tensors can be called");
      if constexpr (kSchema.num_results == 1) {
        return take_tensor(stack[0]);
      } else {
        return std::array<Tensor, kSchema.num_results>{take_tensor(stack[R])...};
      }
    }
  }
};

}  // namespace detail

/// \throws Fault(STC_ERROR_TORCH) with the operator's name and LibTorch's words.
template <detail::Text schema, class... A>
detail::Result<schema> call(const A&... arguments) {
  static_assert(sizeof...(A) == detail::Operator<schema>::kSchema.num_arguments,
                "the operator takes another number of arguments; defaults are to be written out");
  return detail::Operator<schema>::call(std::index_sequence_for<A...>(), arguments...);
}

/// Whether LibTorch has the operator, with these types. For operators that a plugin can do without: they are
/// called by call_optional and are in no list, so that a LibTorch without them still takes the plugin.
template <detail::Text schema>
bool has_operator(const Host& host) {
  if (host.raw().operator_check == nullptr) return false;
  stc_error* error = host.raw().operator_check(host.ctx(), schema.value);
  if (error == nullptr) return true;
  host.raw().error_free(host.ctx(), error);
  return false;
}

/// As call, where has_operator has said yes; without it the call crashes.
template <detail::Text schema, class... A>
detail::Result<schema> call_optional(const A&... arguments) {
  static_assert(sizeof...(A) == detail::Operator<schema, false>::kSchema.num_arguments,
                "the operator takes another number of arguments; defaults are to be written out");
  return detail::Operator<schema, false>::call(std::index_sequence_for<A...>(), arguments...);
}

}  // namespace stc::stable
