# form: stdio
# tests: [{"stdin": "naïve\n", "expected_stdout": "EVÏAN 日本語 🎉 ß→SS"}]
word = input()
print(word[::-1].upper(), "日本語", "🎉", "ß→" + "ß".upper())
