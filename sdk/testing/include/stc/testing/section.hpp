/// \file
/// A configuration section in memory, as a plugin's create receives it.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stc/abi/core.h"
#include "stc/core/value.hpp"

namespace stc::testing {

/// A value, list or object. Lists and objects are nodes that an stc_config points to; they must not
/// move while a plugin uses them.
struct Node {
  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Node>,
               std::vector<std::pair<std::string, Node>>>
      data;

  Node() = default;
  Node(std::nullptr_t) {}
  Node(bool value) : data(value) {}
  Node(int value) : data(static_cast<int64_t>(value)) {}
  Node(int64_t value) : data(value) {}
  Node(double value) : data(value) {}
  Node(const char* value) : data(std::string(value)) {}
  Node(std::string value) : data(std::move(value)) {}
  Node(std::vector<Node> values) : data(std::move(values)) {}

  using List = std::vector<Node>;
  using Object = std::vector<std::pair<std::string, Node>>;

  stc_value value() const {
    stc_value raw{};
    if (const auto* truth = std::get_if<bool>(&data)) {
      raw = Value(*truth).raw();
    } else if (const auto* integer = std::get_if<int64_t>(&data)) {
      raw = Value(*integer).raw();
    } else if (const auto* number = std::get_if<double>(&data)) {
      raw = Value(*number).raw();
    } else if (const auto* text = std::get_if<std::string>(&data)) {
      raw = Value(*text).raw();
    } else if (std::holds_alternative<List>(data) || std::holds_alternative<Object>(data)) {
      raw.kind = std::holds_alternative<List>(data) ? STC_VALUE_LIST : STC_VALUE_OBJECT;
      raw.payload[0] = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(this));
    }
    return raw;
  }
};

/// The keys of one section, in order.
///   Section section{{"path", "out.csv"}, {"every", 10}};
class Section {
 public:
  Section() { root_.data = Node::Object(); }
  Section(std::initializer_list<std::pair<std::string, Node>> entries) : Section() {
    for (const auto& [key, node] : entries) {
      set(key, node);
    }
  }
  Section& set(const std::string& key, Node node) {
    for (auto& entry : object()) {
      if (entry.first == key) {
        entry.second = std::move(node);
        return *this;
      }
    }
    object().emplace_back(key, std::move(node));
    return *this;
  }
  const Node* find(std::string_view key) const {
    for (const auto& entry : std::get<Node::Object>(root_.data)) {
      if (entry.first == key) {
        return &entry.second;
      }
    }
    return nullptr;
  }
  const stc_config* raw() const { return reinterpret_cast<const stc_config*>(&root_); }

 private:
  Node::Object& object() { return std::get<Node::Object>(root_.data); }
  Node root_;
};

/// Reads the YAML text of a declared default of the given STC_PARAM_* type.
/// \throws std::invalid_argument when it is not of that type.
inline Node parse_default(int32_t type, std::string_view text);

namespace detail {

/// Reads what default texts are made of: scalars, double-quoted strings and flow lists of them.
class DefaultText {
 public:
  explicit DefaultText(std::string_view text) : text_(text) {}

  Node read(int32_t type) {
    switch (type) {
      case STC_PARAM_INT_LIST: return list(STC_PARAM_INT);
      case STC_PARAM_FLOAT_LIST: return list(STC_PARAM_FLOAT);
      case STC_PARAM_STRING_LIST: return list(STC_PARAM_STRING);
      default: return scalar(type, word(""));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    throw std::invalid_argument("default " + std::string(text_) + ": expected " + expected);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  Node list(int32_t element) {
    Node::List values;
    skip_spaces();
    if (at_ >= text_.size() || text_[at_++] != '[') {
      refuse("[");
    }
    for (skip_spaces(); at_ < text_.size() && text_[at_] != ']'; skip_spaces()) {
      values.push_back(scalar(element, word(",]")));
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
      }
    }
    if (at_ >= text_.size()) {
      refuse("]");
    }
    return Node(std::move(values));
  }
  /// Up to one of the ends, or the end of the text; quoted_ tells whether it was in quotes.
  std::string word(std::string_view ends) {
    skip_spaces();
    quoted_ = at_ < text_.size() && text_[at_] == '"';
    std::string out;
    if (!quoted_) {
      while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) {
        out += text_[at_++];
      }
      return out;
    }
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      out += text_[at_] == '\\' ? escaped() : text_[at_];
    }
    if (at_++ >= text_.size()) {
      refuse("a closing quote");
    }
    return out;
  }
  char escaped() {
    const char c = ++at_ < text_.size() ? text_[at_] : '\0';
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case '"':
      case '\\': return c;
      case 'x': {
        const int value = std::stoi(std::string(text_.substr(at_ + 1, 2)), nullptr, 16);
        at_ += 2;
        return static_cast<char>(value);
      }
      default: refuse("a known escape");
    }
  }
  Node scalar(int32_t type, const std::string& text) const {
    if (type == STC_PARAM_STRING || type == STC_PARAM_PATH || type == STC_PARAM_ENUM) {
      return Node(text);
    }
    if (type == STC_PARAM_BOOL && (text == "true" || text == "false")) {
      return Node(text == "true");
    }
    if (!quoted_ && type == STC_PARAM_INT) {
      int64_t value = 0;
      const char* end = text.data() + text.size();
      if (std::from_chars(text.data(), end, value).ptr == end && !text.empty()) {
        return Node(value);
      }
    }
    if (!quoted_ && type == STC_PARAM_FLOAT) {
      const std::string plain = text == ".inf" ? "inf" : text == "-.inf" ? "-inf" : text == ".nan" ? "nan" : text;
      double value = 0;
      const char* end = plain.data() + plain.size();
      if (std::from_chars(plain.data(), end, value).ptr == end && !plain.empty()) {
        return Node(value);
      }
    }
    refuse("a value of type " + std::to_string(type));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool quoted_ = false;
};

}  // namespace detail

inline Node parse_default(int32_t type, std::string_view text) { return detail::DefaultText(text).read(type); }

}  // namespace stc::testing
