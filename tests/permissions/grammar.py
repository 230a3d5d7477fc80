"""Random command lines over harmless stub programs, for the parser differential."""

from __future__ import annotations

import random
import shlex

STUBS = ("p0", "p1", "p2", "p3", "p4", "p5")
WRAPPERS = (
    "bash", "sh", "env", "xargs", "timeout", "nice", "nohup", "setsid", "stdbuf", "find", "flock",
)  # fmt: skip
SPECIAL = "'\"`$(){}[]<>|&;#\\\n \t!~*?=:@%^,.-+/0a"


TOKENS = (
    "p0", "p1 a", "p2", "p3 b", "p0", "p1 a", "p2", "p3 b", "p0 ", "p1", "p2 c", " ", " ", " ",
    "\n", ";", "&", "&&", "||", "|", "|&", "(", ")",
    "{ ", " }", "$(", ")",
    "`", '"', "'", "\\", "#", "<<E\n", "\nE\n", "<<'E'\n", "<", ">", ">&", "&>", "<<<", "x=", "x=(",
    ")", "if ",
    "; then ", "; fi", "; do ", "; done", "case x in ", "x) ", ";; ", "esac", "for x in ", "while ",
    "f() ", "time ",
    "! ", "[[ ", " ]]", "((", "))", "$((", "${x", "${x:-", "}", "$x", "$", "\\\n", "-", "=", "[",
    "]", "~", "*", "1",
    "2>", "coproc ", "function f ", "eval ", "bash -c ", "env ", "xargs ", "!", "in ", "\t", "$'",
    "@", "+", ",",
)  # fmt: skip


def soup(seed: int) -> str:
    """A few tokens in any order: mostly nonsense, and now and then not."""
    rng = random.Random(seed)
    return "".join(rng.choice(TOKENS) for _ in range(rng.randint(3, 14)))


class Grammar:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.budget = 14
        self.heredocs: list[str] = []

    def pick(self, *choices):
        return self.rng.choice(choices)

    def line(self) -> str:
        text = self.rng.choice(
            [self.list_, self.list_, self.list_, self.and_or, self.pipeline, self.program]
        )()
        text = self.flush(text)
        if self.rng.random() < 0.12:
            text = self.dynamic() + self.pick("; ", "\n", " && ") + text
        if self.rng.random() < 0.35:
            text = self.mutate(text)
        return text

    def program(self) -> str:
        lines = [self.flush(self.list_()) for _ in range(self.rng.randint(2, 3))]
        return "\n".join(lines)

    def flush(self, text: str) -> str:
        if self.heredocs:
            text += "\n" + "\n".join(self.heredocs) + "\n"
            self.heredocs = []
        return text

    def mutate(self, text: str) -> str:
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randint(0, len(text))
            what = self.rng.random()
            if what < 0.5:
                text = text[:at] + self.rng.choice(SPECIAL) + text[at:]
            elif what < 0.75:
                text = text[:at] + text[at + 1 :]
            elif what < 0.85:
                text = text[:at] + "\\\n" + text[at:]
            else:
                other = self.rng.randint(0, len(text))
                text = text[:at] + text[min(at, other) : max(at, other)] + text[at:]
        return text[:1500]

    def list_(self) -> str:
        parts = [self.and_or() for _ in range(self.rng.randint(1, 3))]
        text = parts[0]
        for part in parts[1:]:
            text += self.pick("; ", ";", " & ", "\n", " ;\n") if not self.heredocs else "; "
            text += part
        return text

    def and_or(self) -> str:
        text = self.pipeline()
        while self.rng.random() < 0.25:
            text += self.pick(" && ", " || ", "&&", "||", " &&\\\n ") + self.pipeline()
        return text

    def pipeline(self) -> str:
        text = self.pick("", "", "", "", "! ", "time ", "time -p ") + self.command()
        while self.rng.random() < 0.2:
            text += self.pick(" | ", "|", " |& ") + self.command()
        return text

    def command(self) -> str:
        self.budget -= 1
        if self.budget < 0:
            return self.simple()
        return self.rng.choice(
            [self.simple] * 12
            + [
                self.subshell, self.group, self.if_, self.for_, self.while_, self.case,
                self.wrapped,
                self.wrapped, self.wrapped, self.function, self.condition, self.test, self.builtin,
                self.coproc, self.counting, self.shell, self.array,
            ]
        )()  # fmt: skip

    def simple(self) -> str:
        parts = []
        while self.rng.random() < 0.15:
            parts.append(f"{self.name()}={self.word() if self.rng.random() < 0.8 else ''}")
        parts.append(self.program_word())
        for _ in range(self.rng.randint(0, 3)):
            parts.append(self.word())
        while self.rng.random() < 0.2:
            parts.insert(self.rng.randint(0, len(parts)), self.redirection())
        text = " ".join(parts)
        if self.rng.random() < 0.04:
            text += " #" + self.pick(" comment", "x; p0 y", "'")
            return "{ " + text + "\n}"
        return text

    def program_word(self) -> str:
        stub = self.rng.choice(STUBS)
        style = self.rng.random()
        if style < 0.8:
            return stub
        return self.pick(
            f"'{stub}'", f'"{stub}"', f"\\{stub}", f'{stub[0]}"{stub[1]}"', f"{stub[0]}\\{stub[1]}",
            f"/stubs/{stub}", f"{stub[0]}''{stub[1]}",
        )  # fmt: skip

    def name(self) -> str:
        return self.pick("x", "y", "z", "foo", "FOO")

    def text(self) -> str:
        return self.pick(
            "a", "b1", "-x", "--long=v", "1", "a/b", "x.y", "a=b", "%s", "@", "a:b", "p0", "a,b",
            "}", "{", "]", "a#b", "!", "+", "in", "do", "if", "time", "then",
        )  # fmt: skip

    def word(self) -> str:
        text = self.atom()
        while self.rng.random() < 0.2:
            text += self.atom()
        return text

    def atom(self) -> str:
        self.budget -= 0.3
        kinds = [self.text] * 42 + [self.single] * 8 + [self.double] * 12 + [self.escaped] * 4
        kinds += [self.variable] * 8 + [self.pattern] * 4 + [self.special] * 2
        if self.budget > 0:
            kinds += [self.substitution] * 6 + [self.backquoted] * 3 + [self.expansion] * 4
            kinds += [self.process] * 3
        return self.rng.choice(kinds)()

    def single(self) -> str:
        return "'" + self.pick("a b", "$x", "`p0`", "$(p0)", "a;b", 'q"q', "\\", "#", "") + "'"

    def double(self) -> str:
        return '"' + self.in_quotes() + '"'

    def escaped(self) -> str:
        return "\\" + self.pick(";", "&", "|", "$", "`", '"', "'", " ", "(", "#", "a", "*", "<")

    def variable(self) -> str:
        return self.pick("$x", "${y}", "$1", "$#", "$?", "$@", "${#x}", "${foo}", "$$")

    def pattern(self) -> str:
        return self.pick("*", "?", "[ab]", "p*", "~", "~/a", "{a,b}", "{1..3}", "a{b,c}d")

    def special(self) -> str:
        return self.pick("$'a\\tb'", "$'x'", '$"tr"', "$", "$((1+2))", "$((${#x}))", "$(( 2 * 3 ))")

    def substitution(self) -> str:
        return "$(" + self.inner() + ")"

    def process(self) -> str:
        return self.pick("<(", ">(") + self.inner() + ")"

    def inner(self) -> str:
        kept, self.heredocs = self.heredocs, []
        text = self.flush(self.pick(self.simple, self.pipeline, self.and_or)())
        self.heredocs = kept
        return text

    def backquoted(self) -> str:
        inner = self.inner()
        return "`" + inner.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$") + "`"

    def expansion(self) -> str:
        operator = self.pick(
            ":-", "-", ":=", ":+", "+", "#", "%", "/a/", "//a/", "^^", ",", ":1:1", "@Q"
        )
        operand = (
            ""
            if operator in ("^^", ",", "@Q", ":1:1")
            else self.pick("a", "$y", "$(p3 e)", "`p4 e`", "1")
        )
        return "${" + self.name() + operator + operand + "}"

    def in_quotes(self) -> str:
        text = ""
        for _ in range(self.rng.randint(0, 3)):
            text += self.pick(
                "a b",
                "$x",
                "${y}",
                ";",
                "#",
                "'",
                "\\$x",
                "\\`",
                '\\"',
                "&",
                "|",
                "(",
                "p0",
                "*",
                "\\n",
            )
            if self.budget > 0 and self.rng.random() < 0.2:
                text += self.pick(lambda: "$(" + self.inner() + ")", self.expansion)()
        return text

    def redirection(self) -> str:
        choice = self.rng.random()
        if choice < 0.6:
            operator = self.pick(">", ">>", "<", "2>", "2>>", "&>", ">|", "1>", "&>>", "<>")
            target = self.pick("f1", "f2", "/dev/null", '"f 3"', "f$x", "/dev/null", "f4")
            return operator + self.pick("", " ") + target
        if choice < 0.75:
            return self.pick("2>&1", ">&2", "3<&0", "2>&-", "1>&2", "{fd}>f5")
        if choice < 0.85:
            return "<<<" + self.pick("", " ") + self.word()
        mark = self.pick("EOF", "E1")
        quoted = self.pick(mark, f"'{mark}'", f'"{mark}"', f"\\{mark}")
        lines = [
            self.pick(
                "text", "$x", "$(p5 h)", "`p5 h`", "\\$(p5 h)", "a'b", 'a"b', "\tx", "${x:-$(p1 h)}"
            )
            for _ in range(self.rng.randint(0, 2))
        ]
        strip = self.rng.random() < 0.3
        self.heredocs.append("\n".join([*lines, ("\t" if strip else "") + mark]))
        return ("<<-" if strip else "<<") + self.pick("", " ") + quoted

    def body(self) -> str:
        kept, self.heredocs = self.heredocs, []
        text = self.flush(self.list_())
        self.heredocs = kept
        return text if text.endswith("\n") else text + self.pick("; ", "\n")

    def subshell(self) -> str:
        return "( " + self.body() + ")" if self.rng.random() < 0.5 else "(" + self.body() + ")"

    def group(self) -> str:
        return "{ " + self.body() + "}" + self.pick("", "", " > f6", " 2>&1")

    def if_(self) -> str:
        text = "if " + self.body() + "then " + self.body()
        if self.rng.random() < 0.3:
            text += "elif " + self.body() + "then " + self.body()
        if self.rng.random() < 0.4:
            text += "else " + self.body()
        return text + "fi"

    def for_(self) -> str:
        words = " ".join(self.word() for _ in range(self.rng.randint(0, 3)))
        if self.rng.random() < 0.2:
            return f"for ((i=0; i<2; i++)); do {self.body()}done"
        return f"for {self.name()} in {words}{self.pick('; ', ' ;', chr(10))}do {self.body()}done"

    def while_(self) -> str:
        return (
            self.pick("while false; do ", "until true; do ", "while ! true; do ")
            + self.body()
            + "done"
        )

    def case(self) -> str:
        text = "case " + self.word() + " in "
        for _ in range(self.rng.randint(1, 2)):
            text += self.pick("", "(") + self.pick("a", "*", "a|b", '"x"', "[ab]*", "$x") + ") "
            text += self.body() + self.pick(";; ", ";;\n", ";& ")
        return text + "esac"

    def function(self) -> str:
        name = self.pick("f", "g", "p5")
        head = self.pick(f"{name}() ", f"function {name} ", f"{name} ()\n")
        return head + "{ " + self.body() + "}; " + name + " " + self.word()

    def coproc(self) -> str:
        return (
            "coproc " + self.pick(self.simple, lambda: "N { " + self.body() + "}", self.subshell)()
        )

    def counting(self) -> str:
        return self.pick("((x=1))", "(( 1 + 2 ))", "i=0; ((i++))", "let x=1", "((x[0]=1))")

    def array(self) -> str:
        words = " ".join(self.word() for _ in range(self.rng.randint(0, 3)))
        return self.pick(
            f"x=({words})", f"x+=({words}) ", f"declare -a x=({words})", f"x[1]={self.word()}",
            f"export foo={self.word()}", f"local x={self.word()}", f"readonly r={self.word()}",
        )  # fmt: skip

    def condition(self) -> str:
        left, right = self.word(), self.word()
        return self.pick(
            f"[[ {left} == {right} ]]", f"[[ -n {left} && -z {right} ]]", "[[ $# -eq 1 ]]",
            f"[[ {left} =~ ^a(b|c)$ ]]", f"[[ ! -e {left} ]]", f"[[ {left} < {right} ]]",
            f"[[ -v x || ( {left} != b ) ]]", "x=3; [[ $x -lt 4 ]]",
        )  # fmt: skip

    def test(self) -> str:
        return self.pick(
            f'[ "{self.in_quotes()}" = {self.text()} ]', f'test -n "{self.in_quotes()}"',
            '[ "$x" -eq 1 ]',
            "[ -v x ]", "[ a > f7 ]", f"[ -f {self.text()} -o -d a ]",
        )  # fmt: skip

    def builtin(self) -> str:
        return self.pick(
            f"echo {self.word()} {self.word()}", f"printf '%s' {self.word()}", "true", ":", "false",
            f"read x <<< {self.word()}", "shift", "set -e", "set -x", "cd /tmp", "wait", "pwd",
            f"trap {shlex.quote(self.inner())} EXIT", f"eval {shlex.quote(self.inner())}",
            f"eval {self.simple()}", f"command {self.simple_words()}",
            f"builtin echo {self.word()}",
            f"(exec {self.simple_words()})", f"printf -v x {self.word()}", "unset x",
            f"declare x={self.word()}", f"echo {self.word()} > f8", "exec 3>f9",
            f"set -- {self.word()} {self.word()}", f"mapfile -t arr <<< {self.word()}", "hash -r",
        )  # fmt: skip

    def simple_words(self) -> str:
        return " ".join(
            [self.program_word(), *(self.word() for _ in range(self.rng.randint(0, 2)))]
        )

    def wrapped(self) -> str:
        inner = self.simple_words()
        return self.pick(
            f"env {inner}", f"env A=1 -u B {inner}".replace("A=1 -u B", "-u B A=1"),
            f"env -i /stubs/{self.rng.choice(STUBS)} a",
            f"timeout 5 {inner}", f"timeout -k 1 -s TERM 5 {inner}", f"nice {inner}",
            f"nice -n 3 {inner}", f"nohup {inner}", f"setsid -w {inner}", f"stdbuf -o0 {inner}",
            f"echo a b | xargs {inner}", f"echo a | xargs -I% {inner} %",
            f"printf 'a\\nb' | xargs -n 1 {inner}",
            f"find /stubs -maxdepth 0 -exec {inner} {{}} \\;",
            f"find . -maxdepth 0 -exec {inner} {{}} +",
            f"flock /tmp/l {inner}", f"flock /tmp/l -c {shlex.quote(self.inner())}",
            f"env nice timeout 5 {inner}", f"command env {inner}", f"exec {inner}", f"time {inner}",
            f"xargs -a /dev/null {inner}", f"env -S {shlex.quote(inner)}",
        )  # fmt: skip

    def shell(self) -> str:
        script = self.body() if self.rng.random() < 0.5 else self.inner()
        return self.pick(
            f"bash -c {shlex.quote(script)}", f"sh -c {shlex.quote(script)}",
            f"bash -ec {shlex.quote(script)} a b", f"bash <<< {shlex.quote(script)}",
            f"echo {shlex.quote(script)} | bash", "bash -c \"$x\"", f"eval {shlex.quote(script)}",
            f"bash -c {shlex.quote('bash -c ' + shlex.quote(script))}",
        )  # fmt: skip

    def dynamic(self) -> str:
        return self.pick(
            "x=p0; $x a", "x='p1 b'; $x", "$(echo p2) c", "x='a[$(p3 t)]'; echo $((x))",
            "x='$(p4 t)'; echo ${x@P}", "y=x; x=p0; ${!y} a", "p${z}0 a", "f() { \"$@\"; }; f p1 z",
            "x='a[$(p3 t)]'; [[ $x -eq 0 ]]", "p? a", "`echo p3` d", "read -r 'x[$(p5 q)]' <<< 1",
            "printf -v 'x[$(p5 q)]' 1", "x='a[$(p3 t)]'; let y=x", "unset 'x[$(p0 u)]'",
            "declare -i n; n='a[$(p3 t)]'", "declare -n r='a[$(p3 t)]'; echo $r",
            "x='a[$(p3 t)]'; echo ${y:x}", "mapfile -C 'p0 cb' -c 1 arr <<< a",
            "PS4='$(p1 ps)'; set -x; :",
            "x='-v a[$(p3 t)]'; [ $x ]", "[ -v 'x[$(p0 t)]' ]", "[[ -v 'x[$(p0 t)]' ]]",
            "echo $((x))",
            "((i++))", "[[ $x -eq 1 ]]", "echo ${y:1:$(p3 e)}", "shopt -s extglob",
            "alias p0='p1 a'", "BASH_ENV=/dev/stdin bash -c : <<< 'p0 be'",
        )  # fmt: skip
