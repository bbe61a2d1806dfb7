/// \file
/// Reads an operator schema at compile time: names, argument types, results.
#pragma once

#include <array>
#include <cstddef>

namespace stc::stable::detail {

/// Text as a template argument.
template <size_t N>
struct Text {
  char value[N]{};
  consteval Text(const char (&text)[N]) {
    for (size_t i = 0; i < N; ++i) value[i] = text[i];
  }
  static constexpr size_t kSize = N - 1;
};

/// Types of arguments and results. An optional type is its base plus kOptional.
enum class Type : unsigned char {
  kTensor = 1,
  kTensorList,
  kInt,
  kFloat,
  kBool,
  kIntList,
  kDtype,
  kString,
  kOther,  // Device, Layout, MemoryFormat, Generator: only as an absent optional
  kOptional = 0x40,
};
constexpr Type optional_of(Type type) {
  return static_cast<Type>(static_cast<unsigned char>(type) | static_cast<unsigned char>(Type::kOptional));
}
constexpr bool is_optional(Type type) {
  return (static_cast<unsigned char>(type) & static_cast<unsigned char>(Type::kOptional)) != 0;
}
constexpr Type base_of(Type type) {
  return static_cast<Type>(static_cast<unsigned char>(type) & ~static_cast<unsigned char>(Type::kOptional));
}

struct Schema {
  static constexpr size_t kMax = 24;
  char name[64]{};      // "aten::linear"
  char overload[64]{};  // "Tensor", empty
  std::array<Type, kMax> arguments{};
  size_t num_arguments = 0;
  std::array<Type, kMax> results{};
  size_t num_results = 0;
};

/// Not constexpr: reaching it at compile time is the error.
inline void schema_has_a_type_that_cannot_cross_the_boundary() {}
inline void schema_is_malformed() {}

consteval bool starts_with(const char* text, const char* word) {
  for (; *word != '\0'; ++word, ++text) {
    if (*text != *word) return false;
  }
  return true;
}

/// One type, from its first letter up to `end`: "Tensor(a!)?", "int[2]", "SymInt[]?".
consteval Type read_type(const char* text, const char* end) {
  Type type{};
  if (starts_with(text, "Tensor")) {
    type = Type::kTensor;
  } else if (starts_with(text, "SymInt") || starts_with(text, "int")) {
    type = Type::kInt;
  } else if (starts_with(text, "float")) {
    type = Type::kFloat;
  } else if (starts_with(text, "bool")) {
    type = Type::kBool;
  } else if (starts_with(text, "ScalarType")) {
    type = Type::kDtype;
  } else if (starts_with(text, "str")) {
    type = Type::kString;
  } else if (starts_with(text, "Device") || starts_with(text, "Layout") || starts_with(text, "MemoryFormat") ||
             starts_with(text, "Generator")) {
    type = Type::kOther;
  } else {
    schema_has_a_type_that_cannot_cross_the_boundary();
  }
  int depth = 0;
  for (const char* at = text; at != end; ++at) {
    if (*at == '(') ++depth;
    if (*at == ')') --depth;
    if (depth > 0) continue;
    if (*at == '[') {
      if (type == Type::kTensor) {
        type = Type::kTensorList;
      } else if (type == Type::kInt) {
        type = Type::kIntList;
      } else {
        schema_has_a_type_that_cannot_cross_the_boundary();
      }
    }
    if (*at == '?') {
      if (is_optional(type) || type == Type::kTensorList) schema_has_a_type_that_cannot_cross_the_boundary();
      type = optional_of(type);
    }
  }
  return type;
}

/// Comma-separated items between `at` and its closing bracket; returns the place behind that bracket.
consteval const char* read_items(const char* at, std::array<Type, Schema::kMax>& types, size_t& count) {
  while (*at == ' ') ++at;
  while (*at != ')') {
    const char* item = at;
    const char* type_end = at;
    bool ended = false;  // no null pointer: with -fsanitize=undefined g++ 12 takes no comparison with one for constant
    int depth = 0;
    for (; depth > 0 || (*at != ',' && *at != ')'); ++at) {
      if (*at == '\0') schema_is_malformed();
      if (*at == '(' || *at == '[') ++depth;
      if (*at == ')' || *at == ']') --depth;
      if (depth == 0 && *at == ' ' && !ended) {
        type_end = at;
        ended = true;
      }
    }
    if (*item != '*') {
      if (count == Schema::kMax) schema_is_malformed();
      types[count++] = read_type(item, ended ? type_end : at);
    }
    if (*at == ',') ++at;
    while (*at == ' ') ++at;
  }
  return at + 1;
}

consteval Schema read_schema(const char* text) {
  Schema schema;
  const char* at = text;
  size_t n = 0;
  for (; *at != '.' && *at != '('; ++at) {
    if (*at == '\0' || n == 63) schema_is_malformed();
    schema.name[n++] = *at;
  }
  if (*at == '.') {
    n = 0;
    for (++at; *at != '('; ++at) {
      if (*at == '\0' || n == 63) schema_is_malformed();
      schema.overload[n++] = *at;
    }
  }
  at = read_items(at + 1, schema.arguments, schema.num_arguments);
  if (!starts_with(at, " -> ")) schema_is_malformed();
  at += 4;
  if (*at == '(') {
    read_items(at + 1, schema.results, schema.num_results);
  } else {
    const char* end = at;
    while (*end != '\0') ++end;
    schema.results[schema.num_results++] = read_type(at, end);
  }
  return schema;
}

}  // namespace stc::stable::detail
