"""Schema texts made at random: by the grammar, and damaged ones.

The grammar part makes what the schema language has (and some of what it nearly has); `damaged`
changes a text by one to four cuts, insertions, repetitions or exchanges.
"""

from __future__ import annotations

from random import Random


def _words(text: str) -> list[str]:
    return text.split()


BASIC = _words(
    "Tensor int float bool str complex Scalar ScalarType Layout MemoryFormat Device DeviceIndex "
    "Generator QScheme Quantizer Storage Stream SymInt SymBool Any AnyClassType AnyEnumType "
    "Capsule None NoneType t u t.v Nothing in"
)
COMMON = _words("Tensor Tensor int float bool Scalar SymInt complex str")
NAMES = _words("x y z self out input dim n0 _ for lambda float default")
SETS = _words("a b c *")
NUMBERS = _words(
    "0 1 2 3 7 -1 -2 0.5 1.5 2. .5 -0. 1e3 1e-3 1E+5 1e16 1e300 1e999 -1e999 1e-999 2j 0j -0j "
    "1.5j 1e999j 0x10 0xFF -0x1 0x7fffffffffffffff 0x8000000000000000 9223372036854775807 "
    "9223372036854775808 -9223372036854775808 -9223372036854775809 00012 1_0 --1 - 1.2.3 ٣ ²"
)
WORDS = _words(
    "None True False float long Mean strided contiguous_format int32 cfloat half inf nan nosuch"
)
CHARACTERS = [*"abz 09'\"\n\\#()[],", "\\n", "\\t", "\\\\", '\\"', "\\'", "\\101", "\\377", "\\x41"]
CHARACTERS += ["\\8", "\\r", "\r", "\x00", "é", "😀", "\udc80", "\\\n"]
PIECES = _words(
    ", ( ) [ ] [] ? ! | -> * ... . : :: = == # $ @ \\ ' \" ''' \"\"\" Union( Future( Dict( RRef( "
    "Await( None Any ;; 0x 1e 9 [2] [0] [300] (a) (a!) (a->b) (*) {"
)
PIECES += [" ", "\n", "\\\n", "\t", "\x00", "\u2028", "\xa0", "'\\", '"\\"']


def a_type(random: Random, depth: int = 3) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.5:
        basic = random.choice(COMMON if random.random() < 0.7 else BASIC)
        return basic + random.choice(["", "", "", "", "?", "[]", "[]?", "?[]", "[][]", "??"])
    if kind < 0.7:
        return a_type(random, depth - 1) + random.choice(["[]", "?", "[]?", "?[]"])
    parts = [a_type(random, depth - 1) for _ in range(random.choice([1, 2, 2, 3, 4]))]
    if kind < 0.8:
        return f"({', '.join(parts)})"
    if kind < 0.9:
        return f"Union({', '.join(parts)})"
    if kind < 0.95:
        return f"Dict({', '.join([random.choice(COMMON), *parts[:1]])})"
    return f"{random.choice(['Future', 'RRef', 'Await'])}({parts[0]})"


def an_alias(random: Random) -> str:
    before = "|".join(random.choices(SETS, k=random.choice([1, 1, 1, 2])))
    after = random.choice(
        ["", "", " -> " + "|".join(random.choices(SETS, k=random.choice([1, 2])))]
    )
    write = random.choice(["", "!", "!"])
    return random.choice([f"({before}{write}{after})", f"({before}{write})", "!", ""])


def an_aliased_type(random: Random) -> str:
    suffix = random.choice(["", "", "[]", "?", "[]?", "?[]", "[](d)", "[][]"])
    return random.choice(["Tensor", "Tensor", "Tensor", "int", "t"]) + an_alias(random) + suffix


def a_sized_list(random: Random) -> str:
    size = random.choice(["1", "2", "2", "3", "0", "07", "256", "257", "0x2", "-1", "1.5"])
    elem = random.choice(["int", "SymInt", "float", "bool", "complex", "Tensor", "Scalar", "int?"])
    return f"{elem}[{size}]{random.choice(['', '', '?'])}"


def a_string(random: Random) -> str:
    quote = random.choice(["'", '"', '"', "'''", '"""'])
    return quote + "".join(random.choices(CHARACTERS, k=random.randrange(5))) + quote


def a_default(random: Random) -> str:
    kind = random.random()
    if kind < 0.4:
        return random.choice(NUMBERS)
    if kind < 0.6:
        return random.choice(WORDS)
    if kind < 0.75:
        return a_string(random)
    if kind < 0.8:
        return random.choice(['"cuda:1"', '"cpu"', '"cuda:-1"', "[", "()", ""])
    items = [random.choice(NUMBERS + WORDS[:4]) for _ in range(random.choice([0, 1, 2, 3]))]
    return f"[{', '.join(items[:1] * len(items) if random.random() < 0.4 else items)}]"


def an_argument(random: Random) -> str:
    kind = random.random()
    if kind < 0.08:
        return "*"
    declared = (
        an_aliased_type(random)
        if kind < 0.25
        else a_sized_list(random)
        if kind < 0.4
        else a_type(random)
        if kind < 0.7
        else random.choice(COMMON) + random.choice(["", "", "?", "[]"])
    )
    text = f"{declared} {random.choice(NAMES)}{random.choice(['', '', random.randrange(9)])}"
    return f"{text}={a_default(random)}" if random.random() < 0.4 else text


def a_schema(random: Random) -> str:
    """Return the text of a schema, mostly one that the language has."""
    parts = [an_argument(random) for _ in range(random.choice([0, 1, 1, 2, 3, 5]))]
    if random.random() < 0.05:
        parts.append("...")
    returned = [
        (an_aliased_type(random) if random.random() < 0.4 else a_type(random, 2))
        + random.choice(["", "", " r", " out"])
        for _ in range(random.choice([0, 1, 1, 2]))
    ]
    returns = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    name = random.choice(
        ["f", "f", "ns::f", "ns::f.out", "f.default", "f.__a", "ns:f", "in", "f.1"]
    )
    space = random.choice([" ", " ", " ", "", "  ", "\n", " \\\n ", " # note\n", "\t"])
    return f"{name}({f',{space}'.join(parts)}) -> {returns}"


def damaged(random: Random, text: str) -> str:
    """Return `text` with one to four changes."""
    for _ in range(random.choice([1, 1, 2, 4])):
        start = random.randint(0, len(text))
        stop = min(len(text), start + random.choice([0, 1, 1, 3, 10]))
        kind = random.random()
        if kind < 0.5:
            middle = random.choice(PIECES)
        elif kind < 0.7:
            middle = text[start:stop] * random.choice([0, 2, 3])
        elif kind < 0.85:
            middle = text[start:stop][::-1]
        else:
            other = random.randint(0, len(text))
            middle = text[other : other + random.choice([1, 3, 10])]
        text = text[:start] + middle + text[stop:]
    return text
