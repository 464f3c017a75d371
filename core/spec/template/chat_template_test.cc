#include "core/spec/template/chat_template.h"

#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/spec/text/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

const std::vector<ChatMessage>& Messages() {
  static const auto* messages =
      new std::vector<ChatMessage>{{"system", "Be brief."}, {"user", " Hi "}, {"assistant", "Hello"}};
  return *messages;
}

absl::StatusOr<std::string> Render(const std::string& source, bool add_generation_prompt = true) {
  auto parsed = ChatTemplate::Parse(source, "<s>", "</s>");
  if (!parsed.ok()) return parsed.status();
  return (*parsed)->Render(Messages(), add_generation_prompt);
}

std::string ErrorOf(const std::string& source) { return std::string(Render(source).status().message()); }

struct Case {
  const char* source;
  const char* expected;
};

class ChatTemplateCases : public testing::TestWithParam<Case> {};

TEST_P(ChatTemplateCases, RendersAsJinja) {
  const absl::StatusOr<std::string> text = Render(GetParam().source);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, GetParam().expected);
}

// Expected values as jinja2 3.1 gives them with trim_blocks and lstrip_blocks on.
const Case kExpressions[] = {
    {"{{ bos_token }}x{{ eos_token }}", "<s>x</s>"},
    {"{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }}", "7 3 -4 2 3.5"},
    {"{{ 'a' + 'b' ~ 1 ~ true ~ none }}", "ab1TrueNone"},
    {"{{ 'x' * 3 }}|{{ [1] + [2] }}|{{ (1, 2) | length }}", "xxx|[1, 2]|2"},
    {"{{ 1 < 2 and not 2 < 1 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }}", "True True True"},
    {"{{ 'y' if 1 > 2 else 'n' }}{{ 'gone' if false }}", "n"},
    {"{{ 'ell' in 'hello' }} {{ 3 not in [1, 2] }} {{ 'a' in {'a': 1} }}", "True True True"},
    {"{{ undefined_name }}|{{ undefined_name is defined }}|{{ bos_token is defined }}", "|False|True"},
    {"{{ none is none }} {{ 'a' is string }} {{ messages is iterable }} {{ 1 is number }} {{ {} is mapping "
     "}}",
     "True True True True True"},
    {"{{ messages[0]['role'] }} {{ messages[-1].content }} {{ messages[1:] | length }} {{ "
     "messages[::-1][0].role }}",
     "system Hello 2 assistant"},
    {"{{ 'héllo'[1] }} {{ 'héllo'[-4:] }} {{ 'héllo' | length }} {{ 'abc'[::-1] }}", "é éllo 5 cba"},
    {"{{ '  a ' | trim }}|{{ 'a' | upper }}|{{ 'B' | lower }}|{{ x | default('d') }}|{{ '' | default('e', "
     "true) }}",
     "a|A|b|d|e"},
    {"{{ ' xay '.strip() }}|{{ 'xxay'.lstrip('x') }}|{{ 'a '.rstrip() }}|{{ 'abc'.startswith('ab') }}",
     "xay|ay|a|True"},
    {"{{ 'a</t>b</t>c'.split('</t>')[-1] }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }}",
     "c ['a', 'b'] ['a', 'b,c']"},
    {"{{ 'a-b'.replace('-', '+') }} {{ 'hello world'.title() }} {{ 'abc'.endswith(('x', 'c')) }}",
     "a+b Hello World True"},
    {"{{ {'a': [1, 2.5, none, true], 'b': 'é\"\\n'} | tojson }}",
     R"({"a": [1, 2.5, null, true], "b": "é\"\n"})"},
    {"{{ {'a': [1], 'b': {}} | tojson(indent=2) }}", "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}"},
    {"{{ messages | map(attribute='role') | join(', ') }}", "system, user, assistant"},
    {"{{ (messages | selectattr('role', 'equalto', 'user') | list | first).content | trim }}", "Hi"},
    {"{{ messages[0].get('tool_calls') is none }} {{ messages[0].get('x', 'y') }} {{ messages[0].x is "
     "defined }}",
     "True y False"},
    {"{{ {'b': 1, 'a': 2}.items() | map('join', ':') | join(' ') }} {{ range(1, 6, 2) | list }}",
     "b:1 a:2 [1, 3, 5]"},
    {"{{ \"it's\" ~ ['it\\'s', 'a\"b'] }}", "it's[\"it's\", 'a\"b']"},
    {"{{ not x is defined }} {{ 1 is odd }} {{ -1 | string }}", "True True -1"},
    {"{{ 'é' | capitalize }} {{ 1e0 if false else 0.5 }}", "É 0.5"},
};

const Case kStatements[] = {
    {"{% for m in messages %}{{ loop.index0 }}{{ m.role[0] }}{% if not loop.last %}, {% endif %}{% endfor %}",
     "0s, 1u, 2a"},
    {"{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }} {% endfor %}",
     "1/2 2/2 "},
    {"{% for x in [] %}a{% else %}none{% endfor %}", "none"},
    {"{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}", "a=1;b=2;"},
    {"{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ "
     "i }}"
     "{% endfor %}",
     "02"},
    {"{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231"},
    {"{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
     "3"},
    {"{% set a, b = 'x', 'y' %}{{ b ~ a }}{% set block %}[{{ a }}]{% endset %}{{ block }}", "yx[x]"},
    {"{% if false %}a{% elif 1 %}b{% else %}c{% endif %}", "b"},
    {"{% macro tag(name, body='-') %}<{{ name }}>{{ body }}{% endmacro %}{{ tag('a') }}{{ tag('b', body='c') "
     "}}",
     "<a>-<b>c"},
    {"{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}"
     "{{ add_generation_prompt }}",
     "True"},
    {"{% generation %}x{% endgeneration %}", "x"},
    {"{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '-' }} {% endfor %}",
     "- system user "},
};

const Case kWhitespace[] = {
    {"a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
    {"a  {%- if true -%}  b  {%- endif -%}  c", "abc"},
    {"a {{- 'b' -}} c", "abc"},
    {"  {{ 'x' }}\n y", "  x\n y"},
    {"a\n  {# gone #}\nb", "a\nb"},
    {"  {%+ if true %}x{% endif %}", "  x"},
    {"{% if true +%}\nx{% endif %}", "\nx"},
    {"x{% if true %} {% endif %}\n\ny", "x \ny"},
    {"{ {{ '}}' }} } {{ {'a': {'b': 1}}['a']['b'] }}", "{ }} } 1"},
    {"a\n\n", "a\n"},
};

INSTANTIATE_TEST_SUITE_P(Expressions, ChatTemplateCases, testing::ValuesIn(kExpressions));
INSTANTIATE_TEST_SUITE_P(Statements, ChatTemplateCases, testing::ValuesIn(kStatements));
INSTANTIATE_TEST_SUITE_P(Whitespace, ChatTemplateCases, testing::ValuesIn(kWhitespace));

TEST(ChatTemplate, RefusesBrokenSource) {
  for (const char* source : {"{% if %}",
                             "{% if x %}",
                             "{% endif %}",
                             "{{ a",
                             "{{ 'a }}",
                             "{% for x %}{% endfor %}",
                             "{# a",
                             "{{ a b }}",
                             "{% include 'x' %}",
                             "{{ 1 < }}",
                             "{% raw %}x",
                             "{{ a. }}",
                             "{{ f(a=1, 2) }}",
                             "{% break %}",
                             "{{ 99999999999999999999 }}",
                             "{{ '\\uD800' }}",
                             "{% set x.y.z = 1 %}",
                             "{{ ) }}",
                             "{{ a ! b }}",
                             "{% for x in [1] %}{% endif %}"}) {
    EXPECT_THAT(ErrorOf(source), HasSubstr("chat template")) << source;
  }
  EXPECT_THAT(ErrorOf("a\nb\n{{ x. }}"), HasSubstr("line 3"));
}

TEST(ChatTemplate, NamesTheLineOfARunTimeError) {
  EXPECT_THAT(ErrorOf("\n\n{{ x.y }}"), HasSubstr("line 3: 'x' is undefined"));
  EXPECT_THAT(ErrorOf("{{ raise_exception('Roles must alternate') }}"), HasSubstr("Roles must alternate"));
  EXPECT_THAT(ErrorOf("{{ 1 + 'a' }}"), HasSubstr("int + str"));
  EXPECT_THAT(ErrorOf("{{ 1 | sha256 }}"), HasSubstr("sha256"));
  EXPECT_THAT(ErrorOf("{{ 'a'.encode() }}"), HasSubstr("encode"));
  EXPECT_THAT(ErrorOf("{{ 1 // 0 }}"), HasSubstr("zero"));
  EXPECT_THAT(ErrorOf("{{ 9223372036854775807 + 1 }}"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("{{ nothing() }}"), HasSubstr("undefined"));
}

TEST(ChatTemplate, StopsTemplatesThatDoNotEnd) {
  const char* sources[] = {
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='x') %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for a in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
      "ns.s }}",
      "{% set ns = namespace(s='x') %}{% for a in range(99) %}{% set ns.s = ns.s.replace('x', 'xx') %}{% "
      "endfor %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{{ 'abc' * 999999999 }}",
      "{{ range(999999999) }}",
      "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns | tojson }}",
  };
  for (const char* source : sources) EXPECT_FALSE(Render(source).ok()) << source;
  EXPECT_FALSE(Render("{{ " + std::string(10'000, '(') + "1" + std::string(10'000, ')') + " }}").ok());
  EXPECT_FALSE(Render("{{ " + std::string(10'000, '-') + "1 }}").ok());
  std::string chain = "{{ 1", nest;
  for (int i = 0; i < 5000; ++i) chain += " + 1";
  EXPECT_FALSE(Render(chain + " }}").ok());
  for (int i = 0; i < 5000; ++i) nest += "{% if 1 %}";
  EXPECT_FALSE(Render(nest).ok());
}

TEST(ChatTemplate, TakesTheFileBeforeTheConfiguration) {
  const std::string config =
      R"({"bos_token": {"content": "<b>"}, "eos_token": null, "chat_template": "{{ bos_token }}1"})";
  EXPECT_EQ(*(*ChatTemplate::FromModelFiles(config, ""))->Render({}, false), "<b>1");
  EXPECT_EQ(*(*ChatTemplate::FromModelFiles(config, "{{ bos_token }}2"))->Render({}, false), "<b>2");
  const std::string named =
      R"({"chat_template": [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]})";
  EXPECT_EQ(*(*ChatTemplate::FromModelFiles(named, ""))->Render({}, false), "d");
  EXPECT_EQ(ChatTemplate::FromModelFiles("{}", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ChatTemplate::FromModelFiles("", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ChatTemplate::FromModelFiles(R"({"chat_template": 3})", "").ok());
}

TEST(ChatTemplate, TellsTheTimeItIsGiven) {
  auto parsed = ChatTemplate::Parse("{{ strftime_now('%d %b %Y') }}", "", "");
  const absl::Time noon = absl::FromCivil(absl::CivilHour(2024, 7, 26, 12), absl::LocalTimeZone());
  EXPECT_EQ(*(*parsed)->RenderVariables({{"messages", nlohmann::json::array()}}, noon), "26 Jul 2024");
}

TEST(ChatTemplate, IsGivenAnyVariables) {
  auto parsed = ChatTemplate::Parse(
      "{{ tools | tojson }}{{ enable_thinking }}{{ messages[0].tool_calls[0].n }}", "", "");
  const auto variables = nlohmann::ordered_json::parse(
      R"({"messages": [{"role": "assistant", "tool_calls": [{"n": 2}]}], "tools": [{"b": 1, "a": null}], "enable_thinking": false})");
  EXPECT_EQ(*(*parsed)->RenderVariables(variables, absl::Now()), R"([{"b": 1, "a": null}]False2)");
  EXPECT_FALSE((*parsed)->RenderVariables(nlohmann::ordered_json::array(), absl::Now()).ok());
}

TEST(ChatTemplate, SaysHowToDoWithoutATemplate) {
  EXPECT_THAT(std::string(ChatTemplate::FromModelFiles("{}", "").status().message()), HasSubstr("RAW"));
  EXPECT_THAT(
      std::string(ChatTemplate::FromModelFiles(R"({"chat_template": [{"name": "rag", "template": "r"}]})", "")
                      .status()
                      .message()),
      HasSubstr("rag"));
}

TEST(ChatTemplate, RefusesMessagesThatAreNotUtf8) {
  auto parsed = ChatTemplate::Parse("{{ messages[0].content | upper }}", "", "");
  EXPECT_THAT(std::string((*parsed)->Render({{"user", "\xff"}}, true).status().message()),
              HasSubstr("messages[0].content"));
}

}  // namespace
}  // namespace sluice
