# form: function
# tests: {"entry_point": "turn", "cases": [{"args": ["añb"], "expected": "bña"}, {"args": ["日本"], "expected": "本日"}, {"args": ["🎉x"], "expected": "x🎉"}, {"args": [""], "expected": ""}]}
def turn(s):
    return s[::-1]
