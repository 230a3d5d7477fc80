"""A repair is one only if the tests still ask what they asked; what cannot be helped is named."""

from __future__ import annotations

import pytest

from repair.projects import patched, repair, tree_hash, write

pytestmark = pytest.mark.anyio

SKIPPING = """
    import pytest

    import mod


    @pytest.fixture
    def ready():
        if not mod.READY:
            pytest.skip("not ready")


    def test_f(ready):
        assert mod.f(3) == {wanted}
"""


async def test_an_edit_that_makes_the_tests_skip_is_no_repair(tmp_path):
    code = "READY = True\n\n\ndef f(a):\n    return a + 2\n"
    hopeless = write(
        tmp_path / "hopeless", mod=code, test_mod=SKIPPING.format(wanted="{'a': object}")
    )
    report = await repair(hopeless, seconds=10)
    assert report.status == "not_fixed", report.diff
    hopeful = write(tmp_path / "hopeful", mod=code, test_mod=SKIPPING.format(wanted="4"))
    report = await repair(hopeful)
    assert report.status == "fixed", "the same tests can be satisfied by a real change"
    assert "READY" not in "".join(line for line in report.diff.splitlines() if line[:1] == "+")
    assert patched(hopeful, report)


async def test_a_strict_expected_failure_that_passes_is_repaired(tmp_path):
    root = write(
        tmp_path / "p",
        mod="def f(a):\n    return a + 1\n",
        test_mod="""
            import pytest

            from mod import f


            @pytest.mark.xfail(strict=True)
            def test_not_yet():
                assert f(1) == 2


            def test_f():
                assert f(0) == 0
        """,
    )
    report = await repair(root)
    assert report.status == "fixed", report.message
    assert patched(root, report)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {
                "mod": "def f(a:\n    return a\n",
                "test_mod": "import mod\n\n\ndef test(): mod.f(1)\n",
            },
            "mod.py, line 1 is not valid Python",
        ),
        (
            {"mod": "X = 1\n", "test_mod": "import mod\n\n\ndef test(:\n    mod.X\n"},
            "test_mod.py, line 4 is not valid Python: invalid syntax. Tests are never edited.",
        ),
        (
            {"mod": "X = 1\n", "test_mod": "import absent_one\n\n\ndef test(): absent_one.x()\n"},
            "test_mod.py, line 1 needs the module 'absent_one'",
        ),
        (
            {"mod": "X = 1\n", "test_mod": "def test():\n    import absent_one\n"},
            "needs the module 'absent_one'",
        ),
    ],
    ids=["source", "test", "dependency", "late dependency"],
)
async def test_what_stands_in_the_way_is_named(tmp_path, files, said):
    root = write(tmp_path / "p", **files)
    before = tree_hash(root)
    report = await repair(root, seconds=8)
    assert report.status == "not_fixed"
    assert said in report.message
    assert tree_hash(root) == before


async def test_a_default_and_a_constant_are_tried_in_place(tmp_path):
    rest = "".join(f"def g{n}(a):\n    return a + {n}\n\n\n" for n in range(40))
    tests = "".join(f"def test_g{n}():\n    assert mod.g{n}(1) == {n + 1}\n\n\n" for n in range(40))
    for name, code in {
        "default": "def f(a, *, twice=True):\n    return a * 2 if twice else a\n\n\n",
        "constant": "FACTOR = 2\n\n\ndef f(a):\n    return a * FACTOR - 7 * FACTOR\n\n\n",
    }.items():
        wanted = "3" if name == "default" else "-12"
        root = write(
            tmp_path / name,
            mod=code + rest,
            test_mod=f"import mod\n\n\ndef test_f():\n    assert mod.f(3) == {wanted}\n\n\n"
            + tests,
        )
        report = await repair(root)
        assert report.status == "fixed", report.message
        assert patched(root, report)


async def test_tests_are_not_edited_whatever_their_file_is_called(tmp_path):
    check = "import mod\n\nWANTED = {{'a': object}}\n\n\n"
    check += "def check_f():\n    assert mod.f(1) == {wanted}\n"
    for wanted, status in (("WANTED", "not_fixed"), ("3", "fixed")):
        root = write(
            tmp_path / status,
            mod="def f(a):\n    return a + 1\n",
            check_mod=check.format(wanted=wanted),
        )
        options = "[pytest]\npython_files = check_*.py\npython_functions = check_*\n"
        (root / "pytest.ini").write_text(options)
        report = await repair(root, seconds=8 if status == "not_fixed" else 40)
        assert report.status == status, report.diff
        assert {part.path for part in report.patch} <= {"mod.py"}


async def test_code_with_doctests_is_code(tmp_path):
    root = write(
        tmp_path / "p",
        mod='def f(a):\n    """One more.\n\n    >>> f(1)\n    2\n    """\n    return a + 2\n',
    )
    (root / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    report = await repair(root)
    assert report.status == "fixed", report.message
    assert report.patch[0].path == "mod.py"
