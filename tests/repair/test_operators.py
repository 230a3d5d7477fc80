"""One tiny project per kind of bug: the engine finds an edit, and the edit is exact."""

from __future__ import annotations

import pytest

from repair.projects import patched, repair, write

BUGS = {
    "comparison": ("def f(a):\n    return a > 3\n", "assert f(3)\n    assert not f(2)"),
    "off by one": (
        "def f(n):\n    return list(range(n))\n",
        "assert f(2) == [0, 1, 2]\n    assert f(0) == [0]",
    ),
    "arithmetic": ("def f(a, b):\n    return a * 2 - b\n", "assert f(2, 3) == 7"),
    "and for or": (
        "def f(a, b):\n    return bool(a and b)\n",
        "assert f(0, 1)\n    assert not f(0, 0)",
    ),
    "negated condition": (
        "def f(a):\n    if a:\n        return 'no'\n    return 'yes'\n",
        "assert f(1) == 'yes'\n    assert f(0) == 'no'",
    ),
    "wrong variable": ("def f(first, second):\n    return first + first\n", "assert f(1, 5) == 6"),
    "wrong attribute": (
        "class P:\n    def __init__(self):\n        self.left = 1\n        self.right = 2\n\n"
        "    def get(self):\n        return self.left + self.left\n\n\n"
        "def f():\n    return P().get()\n",
        "assert f() == 3",
    ),
    "missing return": ("def f(a):\n    b = a + 1\n    b * 2\n", "assert f(1) == 4"),
    "missing guard": (
        "def f(items):\n    total = sum(items)\n    return total / len(items)\n",
        "assert f([2, 4]) == 3\n    assert f([]) is None",
    ),
    "exchanged arguments": (
        "def g(a, b):\n    return a - b\n\n\ndef f(a, b):\n    return g(b, a)\n",
        "assert f(5, 3) == 2",
    ),
    "missing argument": (
        "def g(text, mark='-'):\n    return mark.join(text)\n\n\n"
        "def f(text, mark):\n    return g(text)\n",
        "assert f('ab', '+') == 'a+b'",
    ),
    "number": ("def f(a):\n    return a * 61\n", "assert f(2) == 120"),
    "text": ("def f(a):\n    return 'helo ' + a\n", "self.assertEqual(f('you'), 'hello you')"),
    "method": ("def f(a, b):\n    a.append(b)\n    return a\n", "assert f([1], [2]) == [1, 2]"),
    "extra call": ("def f(a):\n    return len(str(a))\n", "assert f([1, 2, 3, 4, 5]) == 5"),
    "missing call": ("def f(a):\n    return a + '!'\n", "assert f(1) == '1!'"),
    "order": (
        "def f(items):\n    last = items[-1]\n    items = sorted(items)\n    return last\n",
        "assert f([3, 9, 1]) == 9",
    ),
    "extra statement": (
        "def f(items):\n    items = items[1:]\n    return sum(items)\n",
        "assert f([1, 2]) == 3",
    ),
    "initial value": (
        "def f(items):\n    product = 0\n    for item in items:\n        product *= item\n"
        "    return product\n",
        "assert f([2, 3]) == 6",
    ),
    "slice": ("def f(items):\n    return items[2:]\n", "assert f([1, 2, 3]) == [2, 3]"),
    "unary minus": ("def f(a):\n    return a\n", "assert f(3) == -3\n    assert f(-1) == 1"),
    "is for ==": (
        "def f(a, b):\n    return a is b\n",
        "assert f([1], [1])\n    assert not f(1, 2)",
    ),
    "default argument": (
        "def f(a, b=1):\n    return a + b\n",
        "assert f(1) == 3\n    assert f(1, 0) == 1",
    ),
    "break": (
        "def f(items):\n    found = []\n    for item in items:\n        if item < 0:\n"
        "            break\n        found.append(item)\n    return found\n",
        "assert f([1, -1, 2]) == [1, 2]",
    ),
    "keyword": (
        "def f(items):\n    return sorted(items, key=abs, reverse=True)\n",
        "assert f([-3, 1]) == [1, -3]",
    ),
    "dict key": (
        "def f(row):\n    return row['name'] + row['name']\n\n\n"
        "def g(row):\n    return row['last']\n",
        "assert f({'name': 'a', 'last': 'b'}) == 'ab'",
    ),
    "exception": (
        "def f(a):\n    try:\n        return int(a)\n    except TypeError:\n        return 0\n",
        "assert f('x') == 0\n    assert f('2') == 2",
    ),
    "yield": (
        "def f(items):\n    for item in items:\n        return item\n",
        "assert list(f([1, 2])) == [1, 2]",
    ),
    "augmented": (
        "def f(items):\n    total = 0\n    for item in items:\n        total = item\n"
        "    return total\n",
        "assert f([1, 2]) == 3",
    ),
    "decorator": (
        "class P:\n    @property\n    def a(self):\n        return 1\n\n"
        "    def b(self):\n        return 2\n\n\ndef f():\n    return P().a + P().b\n",
        "assert f() == 3",
    ),
    "lost argument": (
        "def g(key, table, spare):\n    return table[key] + spare\n\n\n"
        "def f(key, table, spare):\n    return g(key, table, None)\n",
        "assert f('a', {'a': 1}, 2) == 3",
    ),
    "lost call": (
        "class P:\n    def _width_of(self, rows):\n        return max(map(len, rows)) + 3\n\n"
        "    def get(self, rows):\n        width = None\n        return 'x' * width\n\n\n"
        "def f(rows):\n    return P().get(rows)\n",
        "assert f(['a', 'bb']) == 'xxxxx'",
    ),
    "keyword like its neighbours": (
        "def f(first, second, third):\n    return dict(first=first, second=second)\n",
        "assert f(1, 2, 3) == {'first': 1, 'second': 2, 'third': 3}",
    ),
    "operator after a text": (
        "def f(a):\n    return '<%s>' & a\n",
        "assert f('b') == '<b>'",
    ),
    "text in two literals": (
        "def f():\n    return ('one '\n            'TWO')\n",
        "assert f() == 'one two'",
    ),
    "default of a keyword": (
        "def f(a, *, twice=True):\n    return a * 2 if twice else a\n",
        "assert f(1) == 1\n    assert f(1, twice=True) == 2",
    ),
    "condition of a raise": (
        "def f(a):\n    if len(a) is not 3:\n        raise ValueError('too long')\n    return a\n",
        "assert f('ab') == 'ab'\n    self.assertRaises(ValueError, f, 'abcd')",
    ),
    "module constant": (
        "LIMIT = 9\n\n\ndef f(a):\n    return a >= LIMIT\n",
        "assert f(10)\n    assert not f(9)",
    ),
}


TEST = """\
import unittest

from code_under import f


class FTest(unittest.TestCase):
    def test_f(self):
        {checks}
"""


@pytest.mark.anyio
@pytest.mark.parametrize("name", BUGS)
async def test_a_bug_of_this_kind_is_repaired(name, tmp_path, bare_python):
    source, checks = BUGS[name]
    comment = "# kept   as it is\n"
    test = TEST.format(checks=checks.replace("\n    ", "\n        "))
    root = write(tmp_path / "project", code_under=comment + source, test_it=test)
    report = await repair(root, python=bare_python)
    assert report.status == "fixed", report
    assert patched(root, report, python=bare_python), report.diff
    assert (root / "code_under.py").read_text().startswith(comment)
    assert (root / "test_it.py").read_text() == test
