# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules for the whole package: Python 3.9, documented, and one module at the boundary to jeepney."""

import ast
import importlib
import os
import re

import pytest

import genv

FOLDER = os.path.dirname(genv.__file__)
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
MODULES = sorted(os.path.relpath(os.path.join(folder, name), FOLDER)
                 for folder, _, names in os.walk(FOLDER) for name in names if name.endswith(".py"))


def tree(module):
    with open(os.path.join(FOLDER, module), encoding="utf-8") as file:
        return ast.parse(file.read(), feature_version=(3, 9))


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize("module", MODULES)
class TestModules:
    def test_it_is_python_3_9(self, module):
        for node in ast.walk(tree(module)):
            # Syntax of newer versions that this parser would accept, or that would be evaluated in an annotation: X | Y
            # of types.
            assert not isinstance(node, (getattr(ast, "Match", ()), getattr(ast, "TryStar", ())))
            assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
                        and isinstance(node.right, ast.Constant) and node.right.value is None), node.lineno
            if isinstance(node, ast.Call):
                assert not any(key.arg in ("slots", "kw_only") for key in node.keywords), node.lineno

    def test_only_the_boundary_imports_jeepney(self, module):
        names = [name for node in ast.walk(tree(module)) for name in imported(node)]
        assert any(name.startswith("jeepney") for name in names) == (module == "wire.py")

    def test_what_is_public_is_documented(self, module):
        parsed = tree(module)
        assert ast.get_docstring(parsed), module
        for node in ast.walk(parsed):
            public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
            nested = any(node in ast.walk(other) for other in ast.walk(parsed)
                         if isinstance(other, ast.FunctionDef) and other is not node) if public else False
            private = any(node in ast.walk(other) for other in parsed.body
                          if isinstance(other, ast.ClassDef) and other.name.startswith("_")) if public else False
            assert not public or nested or private or ast.get_docstring(node), f"{module}: {node.name}"


def rows_of_the_guide(heading):
    """Returns the names in the first column of the guide's table below this heading."""
    with open(os.path.join(ROOT, "data", "doc", "python.md"), encoding="utf-8") as file:
        section = file.read().partition(f"\n{heading}\n")[2].partition("\n##")[0]
    return [name for line in section.splitlines() if line.startswith("| `")
            for name in re.findall(r"(?<!of )`(genv[\w.]*)`", line.split("|")[1])]


class TestModulesOfGenv1:
    @pytest.mark.parametrize("name", rows_of_the_guide("### Modules that are still there"))
    def test_those_that_are_still_there(self, name):
        assert importlib.import_module(name).__name__ == name

    @pytest.mark.parametrize("name", rows_of_the_guide("### Modules that are gone"))
    def test_those_that_are_gone(self, name):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)

    def test_the_guide_names_both(self):
        assert len(rows_of_the_guide("### Modules that are still there")) >= 6
        assert len(rows_of_the_guide("### Modules that are gone")) >= 6


class TestPackage:
    def test_all_is_there(self):
        assert genv.__all__ == sorted(set(genv.__all__))
        for name in genv.__all__:
            assert getattr(genv, name) is not None
        for name in genv.sdk.__all__:
            assert getattr(genv.sdk, name).__doc__

    def test_the_version_is_the_projects(self):
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            assert re.search(r"project\(genv VERSION ([\d.]+)", file.read()).group(1) == genv.__version__

    def test_the_signatures_of_genv_1(self):
        import inspect

        def parameters(function):
            return [(name, p.kind.name, p.default) for name, p in inspect.signature(function).parameters.items()]

        assert parameters(genv.sdk.activate)[:2] == [("eid", "KEYWORD_ONLY", None), ("config", "KEYWORD_ONLY", None)]
        assert parameters(genv.sdk.attach)[:3] == [("index", "KEYWORD_ONLY", None), ("gpus", "KEYWORD_ONLY", None),
                                                   ("allow_over_subscription", "KEYWORD_ONLY", False)]
        assert parameters(genv.sdk.detach) == [("index", "POSITIONAL_OR_KEYWORD", None)]
        assert [name for name, _, _ in parameters(genv.Env.Config)] == ["name", "gpu_memory", "gpus"]
