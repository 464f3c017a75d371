#include "core/spec/template/chat_template.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/spec/template/ast.h"
#include "core/spec/template/eval.h"
#include "core/spec/text/json.h"
#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

using OrderedJson = nlohmann::ordered_json;
using SpecialTokens = std::map<std::string, std::string>;  // by name, "bos_token"

absl::StatusOr<chat::Value> FromJson(const OrderedJson& json, const std::string& where, int depth) {
  using chat::Value;
  if (depth > kMaxJsonDepth) return absl::InvalidArgumentError(where + ": nested too deeply");
  if (json.is_null()) return Value(Value::Variant(chat::None{}));
  if (json.is_boolean()) return Value::Bool(json.get<bool>());
  if (json.is_number_integer() && (!json.is_number_unsigned() || json.get<uint64_t>() <= INT64_MAX))
    return Value::Int(json.get<int64_t>());
  if (json.is_number()) return Value(Value::Variant(json.get<double>()));
  if (json.is_string()) {
    SLUICE_RETURN_IF_ERROR(Annotate(CheckUtf8(json.get_ref<const std::string&>()), where));
    return Value::Of(json.get_ref<const std::string&>());
  }
  if (json.is_array()) {
    chat::List list;
    for (const OrderedJson& item : json) {
      SLUICE_ASSIGN_OR_RETURN(Value value,
                              FromJson(item, absl::StrCat(where, "[", list.size(), "]"), depth + 1));
      list.push_back(std::move(value));
    }
    return Value::Of(std::move(list));
  }
  chat::Object object;
  for (const auto& [name, member] : json.items()) {
    SLUICE_RETURN_IF_ERROR(Annotate(CheckUtf8(name), where));
    SLUICE_ASSIGN_OR_RETURN(Value value,
                            FromJson(member, absl::StrCat(where, where.empty() ? "" : ".", name), depth + 1));
    object.Set(name, std::move(value));
  }
  return Value::Of(std::move(object));
}

// strftime_now(format), as transformers gives it to templates.
chat::Value Clock(absl::Time now) {
  return chat::Value::Of(chat::Function([now](
                                            const chat::Arguments& arguments) -> absl::StatusOr<chat::Value> {
    const bool one = arguments.positional.size() == 1 && arguments.positional[0].string() != nullptr;
    if (!one || arguments.positional[0].string()->size() > 256)
      return absl::InvalidArgumentError("strftime_now needs a format of at most 256 bytes");
    return chat::Value::Of(absl::FormatTime(*arguments.positional[0].string(), now, absl::LocalTimeZone()));
  }));
}

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(chat::Block block, SpecialTokens tokens)
      : block_(std::move(block)), tokens_(std::move(tokens)) {}

  absl::StatusOr<std::string> RenderVariables(const OrderedJson& variables, absl::Time now) const override {
    using chat::Value;
    if (!variables.is_object()) return absl::InvalidArgumentError("the template's variables are no object");
    const Value none(Value::Variant(chat::None{}));
    std::map<std::string, Value> globals = {
        {"tools", none}, {"documents", none}, {"strftime_now", Clock(now)}};
    for (const auto& [name, token] : tokens_) globals[name] = Value::Of(token);
    for (const auto& [name, member] : variables.items()) {
      SLUICE_ASSIGN_OR_RETURN(globals[name], FromJson(member, name, 0));
    }
    return chat::Evaluator(std::move(globals)).Render(block_);
  }

 private:
  chat::Block block_;
  SpecialTokens tokens_;
};

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ParseWith(absl::string_view source,
                                                              SpecialTokens tokens) {
  SLUICE_RETURN_IF_ERROR(Annotate(CheckUtf8(source), "chat template"));
  SLUICE_ASSIGN_OR_RETURN(chat::Block block, chat::ParseTemplate(source));
  return std::make_unique<const JinjaTemplate>(std::move(block), std::move(tokens));
}

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
  std::string names;
  for (const nlohmann::json& item : *value) {
    if (item.is_object() && item.contains("name") && item["name"].is_string() && names.size() < 200)
      absl::StrAppend(&names, names.empty() ? "" : ", ",
                      item["name"].get_ref<const std::string&>().substr(0, 64));
    const bool named = item.is_object() && item.contains("name") && item["name"] == "default";
    if (named && item.contains("template") && item["template"].is_string())
      return item["template"].get<std::string>();
  }
  in.Fail("chat_template", absl::StrCat("is a list without one named \"default\" (there are: ", names, ")"));
  return "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Parse(absl::string_view source,
                                                                        std::string bos_token,
                                                                        std::string eos_token) {
  SpecialTokens tokens;
  if (!bos_token.empty()) tokens["bos_token"] = std::move(bos_token);
  if (!eos_token.empty()) tokens["eos_token"] = std::move(eos_token);
  return ParseWith(source, std::move(tokens));
}

absl::StatusOr<std::string> ChatTemplate::Render(const std::vector<ChatMessage>& messages,
                                                 bool add_generation_prompt) const {
  OrderedJson list = OrderedJson::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  return RenderVariables({{"messages", std::move(list)}, {"add_generation_prompt", add_generation_prompt}},
                         absl::Now());
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::FromModelFiles(
    absl::string_view tokenizer_config_json, absl::string_view jinja_file) {
  const bool configured = !tokenizer_config_json.empty();
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json,
                          ParseJson(configured ? tokenizer_config_json : "{}", "tokenizer_config.json"));
  JsonFields in(json, "tokenizer_config.json");
  SpecialTokens tokens;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"}) {
    std::string token = TokenText(in, name);
    if (!token.empty()) tokens[name] = std::move(token);
  }
  const std::string source = jinja_file.empty() ? TemplateText(in) : std::string(jinja_file);
  SLUICE_RETURN_IF_ERROR(in.status());
  if (source.empty()) {
    return absl::NotFoundError(
        "the model has no chat template: neither chat_template.jinja nor \"chat_template\" in "
        "tokenizer_config.json. Give prompts as plain text (in a job, prompts.template: RAW), or add the "
        "template");
  }
  return ParseWith(source, std::move(tokens));
}

}  // namespace sluice
