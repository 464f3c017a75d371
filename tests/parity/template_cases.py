"""Chat templates that use Jinja as released ones do, and what transformers renders with them.

write_templates(FOLDER) writes templates.json: [{"name", "source", "bos", "variables", "text" or "error": true}].
"""
import json
import os

from transformers.utils.chat_template_utils import _compile_jinja_template

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "It's \"here\" <now> & é", "parameters": {
    "type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Where"}, "days": {"type": "integer", "enum": [1, 2, 3], "default": 1.5},
        "nested": {"type": "object", "properties": {"deep": {"type": "array", "items": {"type": "string"}}}}}}}}]
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}}]}
CHATS = {
    "plain": {"messages": [{"role": "user", "content": " Hi there \n"}]},
    "system": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"},
                            {"role": "assistant", "content": "<think>\nlet me\n</think>\n\nYes"}, {"role": "user", "content": "Ok"}]},
    "tools": {"tools": TOOLS, "messages": [{"role": "user", "content": "Weather?"}, CALL,
                                           {"role": "tool", "content": "{\"t\": 3}", "tool_call_id": "c1", "name": "weather"},
                                           {"role": "tool", "content": "sunny"}, {"role": "user", "content": "Thanks"}]},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]}]},
    "broken": {"messages": [{"role": "assistant", "content": "first"}, {"role": "assistant", "content": "again"}]},
    "options": {"enable_thinking": False, "date_string": "26 Jul 2024", "documents": [{"title": "a", "text": "b"}],
                "messages": [{"role": "developer", "content": ""}, {"role": "user", "content": "x\ty"}]},
}
TEMPLATES = {
    "llama": r"""{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}{%- if strftime_now is defined %}{%- set date_string = "now" if strftime_now("%d %b %Y") | length == 11 else "odd" %}{%- endif %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|head|>system\n\nToday: " + date_string + "\n\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}{{- "<|eot|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("no first user message") }}
{%- endif %}
    {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\n\n" }}{%- endfor %}
    {{- first_user_message + "<|eot|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|head|>' + message['role'] + '\n\n'+ message['content'] | trim + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("one call at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", ' }}{{- '"parameters": ' }}{{- tool_call.arguments | tojson }}{{- "}" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|head|>assistant\n\n' }}
{%- endif %}
""",
    "qwen": r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
    {%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\n' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\n<r>\n' }}{{- content }}{{- '\n</r>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}""",
    "deepseek": r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\n\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<U>' + (message['content'] if message['content'] is string else message['content'] | tojson)}}{%- endif %}{%- if message['role'] == 'assistant' and 'tool_calls' in message and message['content'] is none %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{{'<A>' + tool['type'] + '<sep>' + tool['function']['name'] + '\n' + '```json' + '\n' + tool['function']['arguments']|tojson + '\n' + '```'}}{%- set ns.is_first = true -%}{%- endif %}{%- endfor %}{%- elif message['role'] == 'assistant' %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<A>' + content + '<end>'}}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<outs><out>' + message['content'] + '</out>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<out>' + message['content'] + '</out>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'</outs>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<A>'}}{% endif %}""",
    "kimi": r"""{%- macro parts(content) -%}
  {%- if content is string -%}{{ content }}{%- elif content is none -%}{{ '' }}
  {%- else -%}{%- for p in content -%}{%- if p.type in ['image', 'image_url'] -%}<|media|>{%- else -%}{{ p.text }}{%- endif -%}{%- endfor -%}{%- endif -%}
{%- endmacro -%}
{%- if tools -%}<|sys|>tool_declare<|mid|>{{ tools | tojson(separators=(',', ':')) }}<|end|>{%- endif -%}
{%- for message in messages -%}
  {%- if loop.first and messages[0]['role'] != 'system' -%}<|sys|>system<|mid|>Default.<|end|>{%- endif -%}
  {%- set role_name =  message.get('name') or  message['role'] -%}
  {%- if message['role'] == 'user' -%}<|user|>{{role_name}}<|mid|>{%- elif message['role'] == 'assistant' -%}<|asst|>{{role_name}}<|mid|>{%- else -%}<|sys|>{{role_name}}<|mid|>{%- endif -%}
  {%- if message['role'] == 'assistant' and message.get('tool_calls') -%}
    {{ parts(message['content']) }}<|calls|>
    {%- for tool_call in message['tool_calls'] -%}
      {%- set formatted_id = tool_call['id'] -%}
      <|call|>{{ formatted_id }}<|args|>{% if tool_call['function']['arguments'] is string %}{{ tool_call['function']['arguments'] }}{% else %}{{ tool_call['function']['arguments'] | tojson }}{% endif %}<|/call|>
    {%- endfor -%}<|/calls|>
  {%- elif message['role'] == 'tool' -%}
    ## Return of {{ message.tool_call_id }}
{{ parts(message['content']) }}
  {%- else -%}{{ parts(message.content) }}{%- endif -%}<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|asst|>assistant<|mid|>{%- endif -%}
""",
    "glm": r"""[gMASK]<sop>
{%- if tools -%}
<|system|>
# Tools
{% for tool in tools %}
{{ tool | tojson(ensure_ascii=False) }}
{% endfor %}
{%- endif -%}
{%- macro visible_text(content) -%}
    {%- if content is string -%}{{- content }}
    {%- elif content is iterable and content is not mapping -%}
        {%- for item in content -%}
            {%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- elif item is string -%}{{- item }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}{{- content }}{%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}
{%- for m in messages %}{%- if m.role == 'user' %}{% set ns.last_user_index = loop.index0 -%}{%- endif %}{%- endfor %}
{% for m in messages %}
{%- if m.role == 'user' -%}<|user|>
{{ visible_text(m.content) }}
{{- '/nothink' if (enable_thinking is defined and not enable_thinking and not visible_text(m.content).endswith("/nothink")) else '' -}}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{%- set reasoning_content = '' %}
{%- set content = visible_text(m.content) %}
{%- if '</think>' in content %}{%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}
{%- if loop.index0 > ns.last_user_index and reasoning_content -%}
{{ '\n<think>' + reasoning_content.strip() +  '</think>'}}
{%- else -%}
{{ '\n<think></think>' }}
{%- endif -%}
{%- if content.strip() -%}
{{ '\n' + content.strip() }}
{%- endif -%}
{% if m.tool_calls %}
{% for tc in m.tool_calls %}
{%- if tc.function %}{%- set tc = tc.function %}{%- endif %}
{{ '\n<tool_call>' + tc.name }}
{% set _args = tc.arguments %}
{% for k, v in _args.items() %}
<arg_key>{{ k }}</arg_key>
<arg_value>{{ v | tojson(ensure_ascii=False) if v is not string else v }}</arg_value>
{% endfor %}
</tool_call>{% endfor %}
{% endif %}
{%- elif m.role == 'tool' -%}
{%- if m.content is string -%}{%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|observation|>' }}{%- endif %}{{- '\n<r>\n' ~ m.content ~ '\n</r>' }}{%- endif -%}
{%- elif m.role == 'system' -%}
<|system|>
{{ visible_text(m.content) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{- '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}{%- endif -%}""",
    "mistral": r"""{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
        {%- endif %}
        {%- if loop.last and system_message is defined %}{{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}{{- "[INST] " ~ message["content"] ~ "[/INST]" }}{%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 2 %}{{- raise_exception("ids!") }}{%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}{{- " " + message["content"]|trim + "</s>" }}
    {%- elif message["role"] == "tool" %}{{- '[RESULTS] {"content": ' + message.content|string + "}" }}
    {%- else %}{{- raise_exception("Only user and assistant roles are supported!") }}{%- endif %}
{%- endfor %}
""",
    "smollm": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are helpful<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] | string + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "generation": "{% for m in messages %}{% set x = 1 %}{% if m.role == 'assistant' %}{% generation %}{% set x = 2 %}{{ m.content }}{{ x }}{% endgeneration %}{{ x }}{% endif %}{% endfor %}{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ loop.previtem.role if loop.previtem is defined else '-' }}{{ loop.nextitem is defined }}{{ loop.revindex }}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "recursive": r"""{%- macro type_of(spec, indent=0) -%}
{%- if spec.type == 'array' -%}{{ type_of(spec['items']) }}[]
{%- elif spec.type == 'object' -%}{ {%- for k, v in spec.properties | dictsort -%}{{ k }}{{ '?' if k not in (spec.required or []) }}: {{ type_of(v, indent + 1) }}{{ ', ' if not loop.last }}{%- endfor -%} }
{%- elif spec.enum is defined -%}{{ spec.enum | join(' | ') }}{%- else -%}{{ spec.type | default('any') }}{%- endif -%}
{%- endmacro -%}
{% for t in tools or [] %}{{ type_of(t.function.parameters) }}{% endfor %}
{% for item in [{'n': 1, 'c': [{'n': 2, 'c': []}, {'n': 3, 'c': [{'n': 4}]}]}] recursive %}{{ loop.depth }}:{{ item.n }}{% if item.c %}({{ loop(item.c) }}){% endif %}{% endfor %}""",
}
# Filters, tests, methods and operators, one by one: (expression)s over these variables.
EXPRESSIONS = r"""
1 < 2 < 3, 3 > 2 > 2, 1 <= 1 != 2, 2 in [1, 2] != false
messages | map(attribute='role') | unique | list
['b', 'A', 'c', 'B'] | sort, [3, 1, 2] | sort(reverse=true), ['b', 'A'] | sort(case_sensitive=true)
messages | sort(attribute='role') | map(attribute='role') | join(',')
{'b': 1, 'A': 2} | dictsort | map('join', '=') | list, {'b': 1, 'a': 2} | dictsort(false, 'value') | map('join', '=') | list, {'x': 1} | items | map('list') | list
[1, 'a', none, 2] | select('number') | list, [0, 1, 2] | select | list, [1, 2, 3] | reject('odd') | list
messages | rejectattr('role', 'in', ['user', 'tool']) | map(attribute='role') | list, messages | selectattr('nothing') | list
messages | map(attribute='nope', default='d') | first, ['a ', ' b'] | map('trim') | list, ['a'] | map('upper') | list
'abc' | reverse, [1, 2] | reverse | list, 'x y' | title, "don't (stop) it's-me" | title, "don't STOP" | capitalize
"don't stop".title(), 'ab'.upper(), 'straße'.upper(), 'ÀÉ'.lower()
'3' | int, '3.7' | int, 'x' | int, 'x' | int(5), 2.9 | int, true | int, '2.5' | float, 'x' | float, 3 | float
-3 | abs, 2.5 | round, 3.5 | round, 2.1 | round(method='ceil'), 7 // 2, -7 // 2, 7 % 3, 7 / 2, 2 * 'ab'
'a\nb\n\nc' | indent, 'a\nb' | indent(2, true), 'a\n\nb' | indent(2, blank=true)
'<a href="x">&\'' | escape ~ '', 'x' | e ~ '', 5 | string ~ 'x', none | string, [1, 'a'] | string
'a,b,,c'.split(','), 'a b  c'.split(), 'a,b,c'.split(',', 1), 'a,b,c'.rsplit(',', 1), 'x'.split('y'), ''.split(',')
'l1\nl2\r\nl3\n'.splitlines(), '-'.join(['a', 'b']), 'k=v=w'.partition('=') | list, 'k=v=w'.rpartition('=')[2], 'kv'.partition('=') | list
'prefix-x'.removeprefix('prefix-'), 'x.py'.removesuffix('.py'), 'banana'.count('an'), 'banana'.find('n'), 'banana'.rfind('n'), 'a'.find('z')
'12'.isdigit(), 'a1'.isalnum(), 'ab'.isalpha(), ''.isdigit(), ' \t'.isspace(), 'AB'.isupper(), 'aB'.islower(), 'Ünï'.isalpha()
'xxaxx'.strip('x'), '\n a \n'.strip(), '\u3000a'.lstrip(), 'abc'.strip('ac'), 'aXbX'.replace('X', '-'), 'aXbX'.replace('X', '-', 1)
'abc'.startswith(('x', 'a')), 'abc'.endswith('bc'), 'é🙂x'[1], 'é🙂x'[-2:], 'é🙂x' | length, 'abcdef'[::2], 'abcdef'[4:1:-1]
[1, 2, 3][-1], [1, 2, 3][1:], [1, 2, 3][::-1], [1, 2, 3][:-1], [1, 2, 3][5:], (1, 2)[0], [1, 2].index(2), [1, 1].count(1)
x is defined, x is not defined, none is none, 1 is integer, 1.0 is float, true is boolean, true is number, true is integer
'a' is string, {} is mapping, [] is sequence, 'a' is iterable, 1 is iterable, x is iterable, {} is iterable, range is callable
3 is divisibleby 3, 3 is divisibleby(2), 2 is even, 2 is odd, 'a' is in ['a'], 'a' is eq 'a', 2 is gt 1, 2 is lt(1), 1 is sameas 1, 'A' is upper, 'a' is lower
'a' is in 'abc' and not 'z' is in 'abc', x is undefined or y, false is false, none is false, 1 is true, true is true
{'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 2), {'a': 1, 'b': 2}.keys() | list, {'a': 1}.values() | list, {'a': 1}.items() | map('list') | list
{'a': 1, 'b': [1.5, none, true, 'é"\\\n\x7f\x01']} | tojson, [] | tojson, {} | tojson(indent=2), [1, [2]] | tojson(indent=2), 'a/b<>&\'' | tojson
{'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true), 'é' | tojson(ensure_ascii=true), [1, {'a': 2}] | tojson(separators=(',', ':'))
1e3, 1.0, 0.1 + 0.2, 1e16, 1e-5, 100000000000000000000.0, 1.5e300, 3 | tojson, 0.1 | tojson
[1, 2] + [3], 'a' ~ 1 ~ none ~ true ~ 1.5, 'a' 'b', -1 | abs, not true, not false or true, (1 if false), 'y' if 1 else 'n'
[1, none, 'it\'s', "q\"", 'both\'"', 'é', '\n\t\\', 1.0, true, {'k': [1]}], (1, 2) | list, () | length, 1.25
[] or 'empty', '' or none or 0, 1 and 2, 0 and 2, [[]] | first, [] | first | default('none'), 'abc' | first, 'abc' | last, [3, 1, 2] | min, [3, 1, 2] | max
range(3) | list, range(2, 8, 3) | list, range(3, 0, -1) | list, dict(a=1, b='x'), namespace(a=1).a, x | default('d'), '' | default('d', true), none | default('d'), false | d(1, boolean=true)
messages | length, messages | last | tojson, messages[0].role, messages[0]['content'], messages[-1]['role'], messages[99] is defined, messages[0].nope is defined, messages[0]['nope'] is not defined
'%' ~ 1, '{' ~ '}', "{{ '}}' }}" , 'a' == "a", 'a' != 'b', 'a' < 'b', 'a' in messages[0], 'role' in messages[0], [1] == [1], {'a': 1} == {'a': 1.0}, none == false, 1 == true
messages[0]['content'] is string and messages[0].content | trim | length > 3 and (messages | length) % 2 == 0
'a' * 3, 'ab' 'cd' | upper, 5 - -3, +5
""".strip().split("\n")
STATEMENTS = [
    "{% raw %}{{ x }} {% if %}{% endraw %}|\n  {% raw -%}  y {%- endraw %}\nz",
    "{% set a, b = 1, 'x' %}{{ a }}{{ b }}{% set t %}[{{ a }}]{% endset %}{{ t | upper }}{% set ns = namespace(n=0, l=[]) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.n }}{{ ns.l }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ loop.index }}{{ k }}{{ v }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}{% for x in [] %}{% else %}empty{% endfor %}",
    "{% for (a, b) in [(1, 2), (3, 4)] if a > 1 %}{{ a }}{{ b }}{{ loop.length }}{% endfor %}",
    "{% macro m(a, b='d', c=none) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m(b=3, a=4) }}{{ m() }}",
    "a\n  {% if true %}\n  b\n  {%- endif +%}\n  c\n{# gone #}\n d {#- x -#} e\n  {{ 'f' }}  \n",
    "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}",
    "{{ bos_token }}{{ unk_token is defined }}{{ eos_token is defined }}{{ pad_token }}",
    "{% for m in messages %}{{ loop.index0 ~ m['role'][0] }}{% if m.tool_calls is defined and m.tool_calls %}!{% endif %}{% endfor %}",
]


def render(source, variables):
    try:
        return {"text": _compile_jinja_template(source).render(**variables)}
    except Exception:  # whatever Jinja or the template raises is a refusal
        return {"error": True}


def write_templates(folder):
    cases = []

    def add(name, source, chat):
        variables = {"tools": None, "documents": None, **CHATS[chat], "add_generation_prompt": True}
        cases.append({"name": f"{name} {chat}", "source": source, "variables": variables,
                      **render(source, {**variables, "bos_token": "<s>", "eos_token": "</s>"})})

    for name, source in TEMPLATES.items():
        for chat in CHATS:
            add(name, source, chat)
    for line in EXPRESSIONS:
        add("expression", "{{ (%s) }}" % line if line.count(", ") == 0 else "{{ [%s] }}" % line, "tools")
    for source in STATEMENTS:
        for chat in ("plain", "tools"):
            add("statement", source, chat)
    with open(os.path.join(folder, "templates.json"), "w", encoding="utf-8") as f:
        json.dump(cases, f)


if __name__ == "__main__":
    import sys
    write_templates(sys.argv[1])
    for case in json.load(open(os.path.join(sys.argv[1], "templates.json"))):
        if "error" in case:
            print("refused:", case["name"], case["source"][:80])
