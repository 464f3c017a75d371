#!/usr/bin/env python3
"""Tokenizers and chat templates against `tokenizers` and `transformers`: text_parity.py BIN_DIR ORACLE_DIR

Makes tokenizers in the styles of released models, and templates that use Jinja as theirs do, with what the libraries
make of them; core_text_parity_test then has to agree. COUNT in the environment: how many random texts for each.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import template_cases  # noqa: E402
import text_cases  # noqa: E402


def main():
    binary = os.path.join(os.path.dirname(sys.argv[1]), "tests", "core_text_parity_test")
    with tempfile.TemporaryDirectory() as folder:
        text_cases.write_tokenizers(folder, int(os.environ.get("COUNT", "150")))
        template_cases.write_templates(folder)
        return subprocess.run([binary], env={**os.environ, "SLUICE_TEXT_CASES": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
