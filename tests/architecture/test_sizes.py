"""No file and no function outgrows what a reader takes in at once."""

import ast

from tests.architecture.source import FOLDERS, against, files, long_functions

MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 50
MOST_LINES_OF_A_CONFTEST = 100
ALL = files(*FOLDERS)


def test_file_has_at_most_600_lines():
    sizes = {file.path: file.text.count("\n") for file in ALL}
    assert {path: size for path, size in sizes.items() if size > MOST_LINES_OF_A_FILE} == {}


def test_function_has_at_most_50_lines():
    assert against(lambda file: long_functions(file.tree, MOST_LINES_OF_A_FUNCTION), ALL) == {}


def test_conftest_files_are_short():
    sizes = {f.path: f.text.count("\n") for f in files("tests") if f.path.endswith("conftest.py")}
    assert sizes
    assert max(sizes.values()) <= MOST_LINES_OF_A_CONFTEST, sizes


def test_a_function_of_51_lines_is_found():
    body = "    pass\n"
    assert long_functions(ast.parse("def f():\n" + body * 49), 50) == []
    assert long_functions(ast.parse("def f():\n" + body * 50), 50) == ["f has 51 lines"]
