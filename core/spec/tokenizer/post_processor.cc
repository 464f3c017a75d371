#include "core/spec/tokenizer/post_processor.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

constexpr size_t kMaxTemplateTokens = 64;
constexpr uint64_t kMaxTokenId = uint64_t{4} << 20;

absl::StatusOr<std::vector<int32_t>> TemplateTokenIds(const nlohmann::json& table, const std::string& name,
                                                      const std::string& where) {
  const auto entry = table.is_object() ? table.find(name) : table.end();
  const bool listed = table.is_object() && entry != table.end() && entry->is_object() &&
                      entry->contains("ids") && (*entry)["ids"].is_array() &&
                      (*entry)["ids"].size() <= kMaxTemplateTokens;
  std::vector<int32_t> ids;
  if (listed) {
    for (const nlohmann::json& id : (*entry)["ids"]) {
      if (id.is_number_unsigned() && id.get<uint64_t>() < kMaxTokenId) ids.push_back(id.get<int32_t>());
    }
  }
  if (listed && ids.size() == (*entry)["ids"].size()) return ids;
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": special_tokens: \"", name.substr(0, 64), "\" has no list of ids"));
}

absl::Status ReadTemplate(JsonFields& in, const std::string& where, Surroundings& out) {
  const nlohmann::json* single = in.Find("single");
  if (single == nullptr || !single->is_array() || single->size() > kMaxTemplateTokens) {
    in.Fail("single", "is not a list of pieces");
    return in.status();
  }
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json* table = in.Find("special_tokens");
  Surroundings added;
  int sequences = 0;
  for (size_t i = 0; i < single->size(); ++i) {
    const nlohmann::json& piece = (*single)[i];
    JsonFields fields(piece, absl::StrCat(where, ".single[", i, "]"));
    SLUICE_RETURN_IF_ERROR(fields.status());
    const char* kind = fields.Has("SpecialToken") ? "SpecialToken" : "Sequence";
    const nlohmann::json* body = fields.Find(kind);
    if (body == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(where, ".single[", i, "]: of unknown kind"));
    JsonFields body_fields(*body, absl::StrCat(where, ".single[", i, "].", kind));
    const std::string id = body_fields.String("id");
    SLUICE_RETURN_IF_ERROR(body_fields.status());
    if (std::string(kind) == "Sequence") {
      ++sequences;
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                            TemplateTokenIds(table != nullptr ? *table : none, id, where));
    std::vector<int32_t>& side = sequences == 0 ? added.before : added.after;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (sequences != 1) in.Fail("single", "does not have the sequence exactly once");
  out.before.insert(out.before.begin(), added.before.begin(), added.before.end());
  out.after.insert(out.after.end(), added.after.begin(), added.after.end());
  return in.status();
}

// [token, id]
void ReadFramingToken(JsonFields& in, const char* name, std::vector<int32_t>& out) {
  const nlohmann::json* pair = in.Find(name);
  const bool valid = pair != nullptr && pair->is_array() && pair->size() == 2 &&
                     (*pair)[1].is_number_unsigned() && (*pair)[1].get<uint64_t>() < kMaxTokenId;
  if (!valid) return in.Fail(name, "is not [token, id]");
  out.push_back((*pair)[1].get<int32_t>());
}

// cls A sep
absl::Status ReadFraming(JsonFields& in, Surroundings& out) {
  Surroundings added;
  ReadFramingToken(in, "cls", added.before);
  ReadFramingToken(in, "sep", added.after);
  SLUICE_RETURN_IF_ERROR(in.status());
  out.before.insert(out.before.begin(), added.before.begin(), added.before.end());
  out.after.insert(out.after.end(), added.after.begin(), added.after.end());
  return absl::OkStatus();
}

absl::Status ReadPostProcessor(const nlohmann::json* json, const std::string& where, Surroundings& out) {
  if (json == nullptr) return absl::OkStatus();
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "ByteLevel") return absl::OkStatus();  // changes offsets, not ids
  if (type == "TemplateProcessing") return ReadTemplate(in, where, out);
  if (type == "BertProcessing" || type == "RobertaProcessing") return ReadFraming(in, out);
  if (type != "Sequence") {
    in.Fail("type", absl::StrCat("is \"", type.substr(0, 64),
                                 "\"; supported are Sequence, ByteLevel, "
                                 "TemplateProcessing, BertProcessing and "
                                 "RobertaProcessing"));
    return in.status();
  }
  const nlohmann::json* list = in.Find("processors");
  if (list == nullptr || !list->is_array() || list->size() > 16)
    in.Fail("processors", "is not a list of at most 16");
  SLUICE_RETURN_IF_ERROR(in.status());
  for (size_t i = 0; i < list->size(); ++i) {
    SLUICE_RETURN_IF_ERROR(ReadPostProcessor(&(*list)[i], absl::StrCat(where, ".processors[", i, "]"), out));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Surroundings> ParsePostProcessor(const nlohmann::json* json, const std::string& where) {
  Surroundings out;
  SLUICE_RETURN_IF_ERROR(ReadPostProcessor(json, where, out));
  return out;
}

}  // namespace sluice
