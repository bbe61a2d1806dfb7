// JSON with places: nlohmann's parser decides what is valid, a walker beside it tells where each
// token starts. The walker may be this simple because it only ever sees tokens that were accepted.

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/config/document.hpp"
#include "host/config/secrets.hpp"
#include "host/config/source_text.hpp"

namespace stc::host {
namespace {

class TokenWalker {
 public:
  explicit TokenWalker(std::string_view text) : text_(text) {}
  /// Offset and text of the next token; white space, commas and colons are skipped.
  std::pair<size_t, std::string_view> next() {
    position_ = std::min(text_.find_first_not_of(" \t\n,:", position_), text_.size());
    size_t start = position_;
    if (start == text_.size()) return {start, {}};
    char c = text_[position_++];
    if (c == '"') {
      skip_string();
    } else if (std::string_view("{}[]").find(c) == std::string_view::npos) {
      position_ = std::min(text_.find_first_of(" \t\n,:{}[]\"", position_), text_.size());
    }
    return {start, text_.substr(start, position_ - start)};
  }

 private:
  void skip_string() {
    while (position_ < text_.size() && text_[position_] != '"') {
      position_ += text_[position_] == '\\' ? 2 : 1;
    }
    position_ = std::min(position_ + 1, text_.size());
  }

  std::string_view text_;
  size_t position_ = 0;
};

/// What is wrong, in nlohmann's words without its own place and number.
std::string reason_of(const nlohmann::detail::exception& error) {
  std::string text = error.what();
  size_t reason = text.find("; last read");
  text = text.substr(0, reason);
  for (std::string_view lead : {"syntax error ", "] parse error ", ": "}) {
    if (size_t at = text.find(lead); at != std::string::npos) text.erase(0, at + lead.size());
  }
  if (size_t dash = text.find(" - "); dash != std::string::npos) text.erase(0, dash + 3);
  return text;
}

class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(const SourceText& source) : source_(source), walker_(source.text()) {}

  bool null() override { return plain(); }
  bool boolean(bool) override { return plain(); }
  bool number_integer(number_integer_t) override { return plain(); }
  bool number_unsigned(number_unsigned_t) override { return plain(); }
  bool number_float(number_float_t, const string_t&) override { return plain(); }
  bool string(string_t& value) override {
    size_t at = walker_.next().first;
    return add(make_scalar(value, true, source_.at_offset(at)));
  }
  bool binary(binary_t&) override { return false; }  // never produced by text
  bool start_object(std::size_t) override { return open(Node::Kind::kMap); }
  bool start_array(std::size_t) override { return open(Node::Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    Location at = source_.at_offset(walker_.next().first);
    auto [known, added] = level.lines.try_emplace(value, at.line);
    if (!added) {
      throw ConfigError(path_to(value) + ": given twice, on line " + std::to_string(known->second) + " and on line " +
                            std::to_string(at.line),
                        "keep one of the two", at);
    }
    level.node->entries.push_back({value, at, nullptr});
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    size_t byte = position > 0 ? position - 1 : 0;
    if (error.id == 406) {  // out_of_range: the position is the end of the number
      byte = byte + 1 >= token.size() ? byte + 1 - token.size() : 0;
      const std::string found = may_hold_secret(path_here()) ? "<redacted>" : token;
      throw ConfigError(source_.file() + ": " + found + " is outside the range of a double", {},
                        source_.at_offset(byte));
    }
    throw ConfigError(source_.file() + ": not valid JSON: " + reason_of(error),
                      "JSON has no comments, trailing commas, NaN or single quotes", source_.at_offset(byte));
  }

  NodePtr root() const { return root_; }

 private:
  struct Level {
    std::shared_ptr<Node> node;
    std::unordered_map<std::string, int> lines;
  };

  /// "logging.sinks[0]" of what comes next in the first \p depth levels.
  std::string path_within(size_t depth) const {
    std::string path;
    for (size_t i = 0; i < depth; ++i) {
      const Node& node = *levels_[i].node;
      if (node.kind == Node::Kind::kList) {
        path += "[" + std::to_string(node.items.size()) + "]";
      } else if (!node.entries.empty()) {
        path += (path.empty() ? "" : ".") + node.entries.back().key;
      }
    }
    return path;
  }
  /// Of the value that is being read.
  std::string path_here() const { return path_within(levels_.size()); }
  /// For a key of the innermost object.
  std::string path_to(const std::string& key) const {
    const std::string path = path_within(levels_.size() - 1);
    return path.empty() ? key : path + "." + key;
  }

  bool plain() {
    auto [at, token] = walker_.next();
    return add(make_scalar(std::string(token), false, source_.at_offset(at)));
  }

  bool open(Node::Kind kind) {
    Location at = source_.at_offset(walker_.next().first);
    if (levels_.size() >= static_cast<size_t>(kMaxDepth)) {
      throw ConfigError(source_.file() + ": nested deeper than " + std::to_string(kMaxDepth) + " levels", {}, at);
    }
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->at = at;
    levels_.push_back({std::move(node), {}});
    return true;
  }

  bool close() {
    walker_.next();
    NodePtr node = std::move(levels_.back().node);
    levels_.pop_back();
    return add(node);
  }

  bool add(const NodePtr& node) {
    if (levels_.empty()) {
      root_ = node;
      return true;
    }
    Node& parent = *levels_.back().node;
    if (parent.kind == Node::Kind::kList) {
      parent.items.push_back(node);
    } else {
      parent.entries.back().value = node;
    }
    return true;
  }

  const SourceText& source_;
  TokenWalker walker_;
  std::vector<Level> levels_;
  NodePtr root_;
};

}  // namespace

NodePtr read_json(const std::string& text, const std::string& file) {
  SourceText source(text, file, SourceText::Format::kJson);
  JsonReader reader(source);
  nlohmann::json::sax_parse(source.text(), &reader);
  return reader.root();
}

}  // namespace stc::host
