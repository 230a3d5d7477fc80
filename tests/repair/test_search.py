"""What holds for every attempt: limits, layouts, runners, and that nothing is left behind."""

from __future__ import annotations

import sys

import anyio
import msgspec
import pytest

from bridle.repair.report import RepairReport
from bridle.repair.sample import copy_sample
from bridle.repair.tool import try_edits
from repair.projects import patched, processes, repair, tree_hash, write

pytestmark = pytest.mark.anyio


async def test_the_sample_is_repaired_and_the_original_only_read(tmp_path):
    root = copy_sample(tmp_path / "sample")
    before = tree_hash(root)
    seen = []
    report = await try_edits(root, python=sys.executable, time_budget=40, on_progress=seen.append)
    assert report.status == "fixed"
    assert "quantity >= least" in report.diff
    assert tree_hash(root) == before
    assert {"tests", "trace", "verify", "done"} <= {p.phase for p in seen}
    assert msgspec.json.decode(msgspec.json.encode(report), type=RepairReport) == report
    assert patched(root, report)


def test_the_sample_is_not_copied_over_files(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError):
        copy_sample(tmp_path)


async def test_what_cannot_be_repaired_is_said_and_left_alone(tmp_path):
    root = write(
        tmp_path / "p",
        mod="def f(a):\n    return a\n",
        test_mod="from mod import f\n\n\ndef test_f():\n    assert f(7) == {'x': object}\n",
    )
    before = tree_hash(root)
    report = await repair(root, seconds=8)
    assert report.status == "not_fixed"
    assert report.patch == ()
    assert report.suspicious[0].path == "mod.py"
    assert tree_hash(root) == before


async def test_a_passing_project_has_nothing_to_fix(tmp_path):
    root = write(
        tmp_path / "p",
        mod="X = 1\n",
        test_mod="def test_x():\n    import mod\n\n    assert mod.X\n",
    )
    assert (await repair(root)).status == "no_failing_tests"


async def test_a_project_without_tests_is_told_so(tmp_path):
    root = write(tmp_path / "p", mod="X = 1\n")
    assert (await repair(root)).status == "no_tests"


async def test_no_directory_is_an_error(tmp_path):
    assert (await repair(tmp_path / "absent")).status == "error"


async def test_endless_loops_are_cut_and_repaired(tmp_path):
    root = write(
        tmp_path / "p",
        mod="""
            def count(n):
                i = 0
                while i < n:
                    i -= 1
                return i
        """,
        test_mod="from mod import count\n\n\ndef test_count():\n    assert count(5) == 5\n",
    )
    report = await repair(root, seconds=90)
    assert report.status == "fixed", report
    assert patched(root, report)


async def test_src_layout_with_pytest(tmp_path):
    root = write(
        tmp_path / "p",
        src__pack__core="def double(a):\n    return a * 3\n",
        tests__test_core="from pack import double\n\n\ndef test_it():\n    assert double(2) == 4\n",
    )
    (root / "src" / "pack" / "__init__.py").write_text("from pack.core import double\n")
    report = await repair(root)
    assert report.status == "fixed", report
    assert report.runner == "pytest"
    assert report.patch[0].path == "src/pack/core.py"


async def test_unittest_with_a_python_that_has_no_pytest(tmp_path, bare_python):
    root = copy_sample(tmp_path / "sample")
    report = await try_edits(root, python=bare_python, time_budget=40)
    assert report.status == "fixed", report
    assert report.runner == "unittest"


async def test_a_bug_at_import_time_is_repaired(tmp_path):
    root = write(
        tmp_path / "p",
        mod="NAMES = ['a', 'b']\nFIRST = NAMES[2]\n\n\ndef f():\n    return FIRST\n",
        test_mod="from mod import f\n\n\ndef test_f():\n    assert f() == 'a'\n",
    )
    report = await repair(root)
    assert report.status == "fixed", report
    assert patched(root, report)


async def test_two_bugs_take_two_edits(tmp_path):
    root = write(
        tmp_path / "p",
        mod="def f(a):\n    return a + 2\n\n\ndef g(a):\n    return a * 5\n",
        test_mod="""
            from mod import f, g


            def test_f():
                assert f(1) == 2
                assert f(5) == 6


            def test_g():
                assert g(2) == 8
                assert g(3) == 12
        """,
    )
    report = await repair(root, seconds=60)
    assert report.status == "fixed", report
    assert len(report.kinds) == 2
    assert patched(root, report)


async def test_the_edit_that_would_break_another_test_is_not_taken(tmp_path):
    root = write(
        tmp_path / "p",
        mod="def f(a, b=0):\n    return a - b\n",
        test_mod="""
            from mod import f


            def test_plus():
                assert f(2, 2) == 4


            def test_default():
                assert f(3) == 3


            def test_more():
                assert f(0, 0) == 0
        """,
    )
    report = await repair(root)
    assert report.status == "fixed"
    assert patched(root, report)


async def test_cancelling_leaves_no_process_and_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("REPAIR_TEST_MARK", str(tmp_path))
    root = write(
        tmp_path / "p",
        mod="def f(a):\n    return a\n",
        test_mod="""
            import subprocess
            from mod import f


            def test_f():
                subprocess.Popen(["sleep", "1000.25"], start_new_session=True)
                assert f(7) == object
        """,
    )
    hash_before = tree_hash(root)
    for after in (0.3, 1.5, 6.0):
        with anyio.move_on_after(after):
            await repair(root, seconds=50)
        await anyio.sleep(0.3)
        assert processes(str(tmp_path)) == set()
    assert tree_hash(root) == hash_before


async def test_tests_that_start_python_see_the_edit(tmp_path):
    root = write(
        tmp_path / "p",
        mod="def f(a):\n    return a - 1\n\n\nif __name__ == '__main__':\n    print(f(1))\n",
        test_mod="""
            import subprocess
            import sys


            def test_main():
                out = subprocess.run([sys.executable, "-m", "mod"], capture_output=True)
                assert out.stdout == b"2\\n"


            def test_f():
                import mod

                assert mod.f(4) == 5
        """,
    )
    report = await repair(root)
    assert report.status == "fixed", report
    assert patched(root, report)
