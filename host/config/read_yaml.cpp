// YAML through yaml-cpp's events. On top of what yaml-cpp does: merge keys, places, and refusal of
// what it lets pass (duplicate keys, open quotes, keys without a colon, empty list entries).

#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "host/config/document.hpp"
#include "host/config/scalar.hpp"
#include "host/config/secrets.hpp"
#include "host/config/source_text.hpp"

namespace stc::host {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";
constexpr const char* kTabMessage = ": a tab is used as indentation, expected spaces";
constexpr const char* kTabHint = "indent with spaces; a tab may only stand between words";

/// As it is written: !!set, !secret, !<tag:example.org,2000:set>.
std::string shown_tag(std::string_view tag) {
  if (tag.starts_with(kTagPrefix)) return "!!" + std::string(tag.substr(kTagPrefix.size()));
  return tag.starts_with('!') ? std::string(tag) : "!<" + std::string(tag) + ">";
}

size_t offset_of(const YAML::Mark& mark) { return mark.pos > 0 ? static_cast<size_t>(mark.pos) : 0; }

/// Offset of the content of a node, past its tag and anchor.
size_t skip_properties(std::string_view text, size_t at) {
  while (true) {
    at = std::min(text.find_first_not_of(" \t\n", at), text.size());
    if (at == text.size() || (text[at] != '!' && text[at] != '&')) return at;
    at = std::min(text.find_first_of(" \t\n", at), text.size());
  }
}

/// Offset of the quote that closes the one at \p open, or npos.
size_t closing_quote(std::string_view text, size_t open) {
  char quote = text[open];
  for (size_t i = open + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != '\'') return i;
      ++i;
    }
  }
  return std::string_view::npos;
}

class YamlReader : public YAML::EventHandler {
 public:
  explicit YamlReader(const SourceText& source) : source_(source) {}
  NodePtr root() const { return root_; }

  /// The innermost { or [ that is still open, for the message about a missing end.
  Location open_collection() const { return levels_.empty() ? Location{} : levels_.back().node->at; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (num_documents_++ == 0) return;
    size_t at = offset_of(mark);
    std::string_view text = source_.text();
    if (text.substr(at, 3) == "---") {
      fail("several documents in one file, expected one", "remove the second ---", at);
    }
    fail("this line belongs to no section above it", "check its indentation", at);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    size_t at = offset_of(mark);
    check_empty_place(at);
    check_indentation(at);
    add(make_scalar("", false, source_.at_offset(at)), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    size_t at = offset_of(mark);
    offset_ = at;
    auto target = anchors_.find(anchor);
    if (target == anchors_.end() || !target->second) {
      fail("an alias stands inside the value that it names", "copy the value instead", at);
    }
    const NodePtr& node = target->second;
    if (levels_.size() + static_cast<size_t>(node->height) > static_cast<size_t>(kMaxDepth)) {
      fail_depth(at);
    }
    expanded_ += node->size;
    if (expanded_ > kMaxAliasNodes) {
      fail("aliases expand to more than " + std::to_string(kMaxAliasNodes) + " values", {}, at);
    }
    add(node, YAML::NullAnchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    size_t at = offset_of(mark);
    check_indentation(at);
    offset_ = at;
    auto node = std::make_shared<Node>();
    node->text = value;
    node->quoted = tag != "?" && is_quoted(at);
    node->at = source_.at_offset(at);
    apply_tag(tag, *node, at);
    if (!node->quoted && !expects_key()) {
      if (std::optional<std::string> reason = ambiguity(value)) {
        std::string path = path_here();
        throw ConfigError((path.empty() ? source_.file() : path) + ": got " + show_at(path, *node) +
                              ", which is ambiguous: " + *reason,
                          "write the decimal number, or quote it if it is a string", node->at);
      }
    }
    add(node, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::kList, offset_of(mark), tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::kMap, offset_of(mark), tag, anchor, style);
  }
  void OnMapEnd() override {
    merge_into(levels_.back());
    close();
  }

 private:
  struct Level {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    bool flow = false;
    bool has_key = false;  // kMap: the next node is a value
    bool merge_key = false;
    std::string key;
    Location key_at;
    size_t key_offset = 0;
    std::unordered_map<std::string, int> lines;  // of the keys so far
    std::vector<NodePtr> merges;                 // in order of precedence
  };

  [[noreturn]] void fail(const std::string& message, std::string hint, size_t at) const {
    throw ConfigError(source_.file() + ": " + message, std::move(hint), source_.at_offset(at));
  }
  [[noreturn]] void fail_depth(size_t at) const {
    fail("nested deeper than " + std::to_string(kMaxDepth) + " levels", {}, at);
  }

  /// "logging.sinks[0].path" of the value that comes next, or of the key being read.
  std::string path_here() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.node->kind == Node::Kind::kList) {
        path += "[" + std::to_string(level.node->items.size()) + "]";
      } else {
        path += (path.empty() ? "" : ".") + level.key;
      }
    }
    return path;
  }

  bool in_flow() const { return !levels_.empty() && levels_.back().flow; }
  bool expects_key() const {
    return !levels_.empty() && levels_.back().node->kind == Node::Kind::kMap && !levels_.back().has_key;
  }

  /// A block value may not be the first word of a line that starts with a tab.
  void check_indentation(size_t at) const {
    if (in_flow()) return;
    Location place = source_.at_offset(at);
    size_t start = source_.line_start(place.line);
    if (at <= start) return;
    std::string_view lead = std::string_view(source_.text()).substr(start, at - start);
    size_t tab = lead.find('\t');
    if (tab == std::string_view::npos || lead.find_first_not_of(" \t") != lead.npos) return;
    throw ConfigError(source_.file() + kTabMessage, kTabHint, source_.at_offset(start + tab));
  }

  [[noreturn]] void fail_missing_colon(const std::string& key, size_t at) const {
    std::string path = path_here();
    path.resize(path.size() - key.size());
    const std::string shown = shown_key(path.substr(0, path.find_first_of(".[")), key, false);
    const bool joined = key.find(':') != std::string::npos;
    throw ConfigError(path + shown + ": a colon is missing after the key",
                      joined ? "put a space after the colon" : "write \"" + shown + ":\"", source_.at_offset(at));
  }

  /// yaml-cpp reports nothing as null; only the null of `key:` is one.
  void check_empty_place(size_t at) const {
    if (levels_.empty()) return;
    const Level& level = levels_.back();
    bool comma = at < source_.text().size() && source_.text()[at] == ',';
    if (level.flow && comma && (level.node->kind == Node::Kind::kList || !level.has_key)) {
      fail("nothing stands before this comma", "remove the comma", at);
    }
    if (!level.flow && level.has_key && at == level.key_offset) fail_missing_colon(level.key, at);
  }

  bool is_quoted(size_t at) const {
    std::string_view text = source_.text();
    size_t content = skip_properties(text, at);
    if (content == text.size()) return false;
    char c = text[content];
    if (c == '|' || c == '>') return true;
    if (c != '"' && c != '\'') return false;
    if (closing_quote(text, content) == std::string_view::npos) {
      fail(std::string("the string that starts with ") + c + " is not closed", "add the other quote", content);
    }
    return true;
  }

  void apply_tag(const std::string& tag, Node& node, size_t at) const {
    if (tag == "?" || tag == "!" || tag.empty()) return;
    std::string_view name(tag);
    if (name.starts_with(kTagPrefix)) name.remove_prefix(kTagPrefix.size());
    PlainKind kind = classify_plain(node.text);
    if (name == "str") {
      node.tagged = !node.quoted;
      node.quoted = true;
      return;
    }
    bool fits = (name == "int" && kind == PlainKind::kInteger) ||
                (name == "float" && (kind == PlainKind::kInteger || kind == PlainKind::kFloat)) ||
                (name == "bool" && kind == PlainKind::kBool) || (name == "null" && kind == PlainKind::kNull);
    if (!fits) {
      fail("the tag " + shown_tag(tag) + " is not supported here", "remove the tag; values are checked by their key",
           at);
    }
    node.quoted = false;
    if (name == "float" && kind == PlainKind::kInteger) {
      if (std::optional<double> value = parse_double(node.text)) node.text = format_double(*value);
    }
  }

  void open(Node::Kind kind, size_t at, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    check_indentation(at);
    const char* own = kind == Node::Kind::kMap ? "map" : "seq";
    if (tag != "?" && tag != "!" && !tag.empty() && tag != std::string(kTagPrefix) + own) {
      fail("the tag " + shown_tag(tag) + " is not supported", "remove the tag", at);
    }
    if (levels_.size() >= static_cast<size_t>(kMaxDepth)) fail_depth(at);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = nullptr;  // until it is complete
    Level level;
    level.node = std::make_shared<Node>();
    level.node->kind = kind;
    level.node->at = source_.at_offset(at);
    level.anchor = anchor;
    level.flow = in_flow() || style == YAML::EmitterStyle::Flow;
    levels_.push_back(std::move(level));
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Node& node = *level.node;
    auto count = [&node](const Node& child) {
      node.size += child.size;
      node.height = std::max(node.height, child.height + 1);
    };
    for (const NodePtr& item : node.items) count(*item);
    for (const Node::Entry& entry : node.entries) count(*entry.value);
    add(level.node, level.anchor);
  }

  void add(const NodePtr& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    if (levels_.empty()) {
      root_ = node;
      return;
    }
    Level& level = levels_.back();
    if (level.node->kind == Node::Kind::kList) {
      level.node->items.push_back(node);
    } else if (!level.has_key) {
      add_key(level, *node);
    } else if (level.merge_key) {
      add_merge(level, node);
      level.has_key = false;
    } else {
      level.node->entries.push_back({std::move(level.key), level.key_at, node});
      level.has_key = false;
    }
  }

  void add_key(Level& level, const Node& node) {
    if (node.kind != Node::Kind::kScalar || is_null(node)) {
      throw ConfigError(source_.file() + ": got the key " + show_at(path_here(), node) + ", expected a word", {},
                        node.at);
    }
    level.key = node.text;  // the last one was moved into its entry
    level.key_at = node.at;
    level.key_offset = offset_;
    level.merge_key = !node.quoted && node.text == "<<";
    level.has_key = true;
    auto [known, added] = level.lines.try_emplace(level.key, node.at.line);
    if (!added) {
      throw ConfigError(path_here() + ": given twice, on line " + std::to_string(known->second) + " and on line " +
                            std::to_string(node.at.line),
                        "keep one of the two", node.at);
    }
  }

  void add_merge(Level& level, const NodePtr& node) {
    if (node->kind == Node::Kind::kMap) {
      level.merges.push_back(node);
      return;
    }
    bool maps = node->kind == Node::Kind::kList &&
                std::all_of(node->items.begin(), node->items.end(),
                            [](const NodePtr& item) { return item->kind == Node::Kind::kMap; });
    if (!maps) {
      throw ConfigError(
          path_here() + ": got " + show_at(path_here(), *node) + ", expected a mapping or a list of mappings", {},
          node->at);
    }
    level.merges.insert(level.merges.end(), node->items.begin(), node->items.end());
  }

  /// A key of the mapping itself wins over merged ones, an earlier merge over a later one.
  /// Source: yaml.org/type/merge.
  static void merge_into(Level& level) {
    for (const NodePtr& merged : level.merges) {
      for (const Node::Entry& entry : merged->entries) {
        if (level.lines.try_emplace(entry.key, entry.at.line).second) {
          level.node->entries.push_back(entry);
        }
      }
    }
  }

  const SourceText& source_;
  int num_documents_ = 0;
  size_t offset_ = 0;  // of the last scalar or alias
  uint64_t expanded_ = 0;
  std::vector<Level> levels_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
  NodePtr root_;
};

struct SyntaxFault {
  std::string message;
  std::string hint;
};

SyntaxFault describe(const std::string& message) {
  if (message == "illegal map value") {
    return {"a colon stands where no key can be",
            "quote a value that holds \": \"; check the indentation, and the line above for its colon"};
  }
  if (message == "end of map not found" || message == "end of sequence not found") {
    return {"this does not continue the lines above",
            "check the indentation, and quote a value that goes on after its closing quote"};
  }
  if (message == "the referenced anchor is not defined") {
    return {"an alias (*name) without its anchor (&name)", "write the anchor above its first use"};
  }
  if (message == "unknown token") {
    return {"a value cannot start with this character", "quote the value"};
  }
  return {message, {}};
}

/// A line that starts with a tab: blank and comment lines are freed of it (returns true), others
/// are refused. false: the fault has another reason.
bool repair_tab(SourceText& source, const Location& place) {
  std::string_view line = source.line(place.line);
  size_t start = source.line_start(place.line);
  size_t content = std::min(line.find_first_not_of(" \t"), line.size());
  size_t tab = line.substr(0, content).find('\t');
  if (tab != std::string_view::npos && (content == line.size() || line[content] == '#')) {
    source.overwrite(start, std::string(content, ' '));
    return true;
  }
  size_t indicators = std::min(line.find_first_not_of(" \t-?"), line.size());
  tab = line.substr(0, indicators).find('\t');
  if (tab == std::string_view::npos) return false;
  throw ConfigError(source.file() + kTabMessage, kTabHint, source.at_offset(start + tab));
}

[[noreturn]] void rethrow(const YAML::Exception& error, const SourceText& source, const Location& open) {
  if (error.msg.find("flow not found") != std::string::npos && open.known()) {
    throw ConfigError(source.file() + ": the bracket opened here is not closed", {}, open);
  }
  SyntaxFault fault = describe(error.msg);
  throw ConfigError(source.file() + ": not valid YAML: " + fault.message, fault.hint,
                    source.at_offset(offset_of(error.mark)));
}

NodePtr parse(const SourceText& source, YamlReader& reader) {
  std::istringstream stream(source.text());
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(reader)) {
  }
  return reader.root() ? reader.root() : make_scalar("", false, {source.file(), 1, 1});
}

}  // namespace

NodePtr read_yaml(const std::string& text, const std::string& file) {
  SourceText source(text, file, SourceText::Format::kYaml);
  // Each round frees one line of a tab; more than this is not a run file.
  for (int round = 0; round < 1000; ++round) {
    YamlReader reader(source);
    try {
      return parse(source, reader);
    } catch (const YAML::Exception& error) {
      Location place = source.at_offset(offset_of(error.mark));
      if (!repair_tab(source, place)) rethrow(error, source, reader.open_collection());
    }
  }
  throw ConfigError(file + kTabMessage, kTabHint, {file, 1, 1});
}

}  // namespace stc::host
