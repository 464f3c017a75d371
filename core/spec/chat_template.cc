#include "core/spec/chat_template.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/json.h"
#include "core/spec/template_ast.h"
#include "core/spec/template_eval.h"
#include "core/spec/unicode.h"

namespace sluice {
namespace {

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(chat::Block block, std::string bos_token, std::string eos_token)
      : block_(std::move(block)), bos_token_(std::move(bos_token)), eos_token_(std::move(eos_token)) {}

  absl::StatusOr<std::string> Render(const std::vector<ChatMessage>& messages,
                                     bool add_generation_prompt) const override {
    using chat::Value;
    chat::List list;
    for (const ChatMessage& message : messages) {
      SLUICE_RETURN_IF_ERROR(
          Annotate(CheckUtf8(message.role), absl::StrCat("messages[", list.size(), "].role")));
      SLUICE_RETURN_IF_ERROR(
          Annotate(CheckUtf8(message.content), absl::StrCat("messages[", list.size(), "].content")));
      chat::Object object;
      object.Set("role", Value::Of(message.role));
      object.Set("content", Value::Of(message.content));
      list.push_back(Value::Of(std::move(object)));
    }
    const Value none(Value::Variant(chat::None{}));
    chat::Evaluator evaluator({{"messages", Value::Of(std::move(list))},
                               {"add_generation_prompt", Value::Bool(add_generation_prompt)},
                               {"bos_token", Value::Of(bos_token_)},
                               {"eos_token", Value::Of(eos_token_)},
                               {"tools", none},
                               {"documents", none}});
    return evaluator.Render(block_);
  }

 private:
  chat::Block block_;
  std::string bos_token_, eos_token_;
};

// A token is written as a string or as an object with its content.
std::string TokenText(JsonFields& in, const char* name) {
  const nlohmann::json* value = in.Find(name);
  if (value == nullptr || !value->is_object()) return in.StringOr(name, "");
  const auto content = value->find("content");
  if (content != value->end() && content->is_string()) return content->get<std::string>();
  in.Fail(name, "is an object without content");
  return "";
}

// chat_template is a string, or a list of named ones, of which "default" is used.
std::string TemplateText(JsonFields& in) {
  const nlohmann::json* value = in.Find("chat_template");
  if (value == nullptr || !value->is_array()) return in.StringOr("chat_template", "");
  for (const nlohmann::json& item : *value) {
    const bool named = item.is_object() && item.contains("name") && item["name"] == "default";
    if (named && item.contains("template") && item["template"].is_string())
      return item["template"].get<std::string>();
  }
  in.Fail("chat_template", "is a list without one named \"default\"");
  return "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Parse(absl::string_view source,
                                                                        std::string bos_token,
                                                                        std::string eos_token) {
  SLUICE_RETURN_IF_ERROR(Annotate(CheckUtf8(source), "chat template"));
  SLUICE_ASSIGN_OR_RETURN(chat::Block block, chat::ParseTemplate(source));
  return std::make_unique<const JinjaTemplate>(std::move(block), std::move(bos_token), std::move(eos_token));
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::FromModelFiles(
    absl::string_view tokenizer_config_json, absl::string_view jinja_file) {
  const bool configured = !tokenizer_config_json.empty();
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json,
                          ParseJson(configured ? tokenizer_config_json : "{}", "tokenizer_config.json"));
  JsonFields in(json, "tokenizer_config.json");
  const std::string bos = TokenText(in, "bos_token"), eos = TokenText(in, "eos_token");
  const std::string source = jinja_file.empty() ? TemplateText(in) : std::string(jinja_file);
  SLUICE_RETURN_IF_ERROR(in.status());
  if (source.empty()) {
    return absl::NotFoundError(
        "the model has no chat template: neither chat_template.jinja nor \"chat_template\" in "
        "tokenizer_config.json");
  }
  return Parse(source, bos, eos);
}

}  // namespace sluice
