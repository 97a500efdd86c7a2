#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which files compile_each.py rejects."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import compile_each

WHOLE = "#include <string>\nstd::string name;\n"
INCOMPLETE = "std::string name;\n"


class CompileEach(unittest.TestCase):
    def compile(self, sources):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            entries = []
            for file, text in sources.items():
                (folder / file).write_text(text, encoding="utf-8")
                if file.endswith(".cpp"):
                    entries.append({"directory": name, "command": f"c++ -o {file}.o -c {file}", "file": file})
            (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                status = compile_each.main(name, 2)
            return status, output.getvalue(), sorted(path.name for path in folder.iterdir())

    def test_files_that_compile_are_accepted_and_leave_nothing(self):
        status, text, files = self.compile({"a.cpp": WHOLE, "b.cpp": WHOLE})
        self.assertEqual((status, text), (0, ""))
        self.assertEqual(files, ["a.cpp", "b.cpp", "compile_commands.json"])

    def test_a_file_that_lacks_an_include_is_named(self):
        status, text, _ = self.compile({"a.cpp": WHOLE, "b.cpp": INCOMPLETE})
        self.assertEqual(status, 1)
        self.assertIn("b.cpp:1", text)
        self.assertNotIn("a.cpp", text)

    def test_headers_that_many_files_share_hide_no_missing_include(self):
        whole = {f"{number}.cpp": WHOLE for number in range(compile_each.FEW_FILES)}
        status, text, _ = self.compile({**whole, "own.hpp": "#if 0\n#include <string>\n#endif\n",
                                        "a.cpp": INCOMPLETE, "b.cpp": '#include "own.hpp"\n' + INCOMPLETE})
        self.assertEqual(status, 1)
        for file in ("a.cpp:1", "b.cpp:2"):
            self.assertIn(file, text)
        self.assertNotIn("0.cpp", text)

    def test_a_database_without_a_file_is_rejected(self):
        self.assertEqual(self.compile({})[0], 1)


if __name__ == "__main__":
    unittest.main()
