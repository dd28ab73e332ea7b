"""Count the instructions of the cuda engine's generated kernels, without a GPU: counted, not measured.

    python benchmarks/cuda_counts.py [--out FILE] [--nvdisasm PATH] [--only NAME]

Needs NVRTC, which the extra `cuda` installs, and nvdisasm, which `pip install nvidia-cuda-nvdisasm` puts into
nvidia/cu13/bin of any environment. A kernel is compiled for sm_90, disassembled, and its control flow is followed for
every warp: integers, predicates and addresses are computed, floats are not. Loops run as often as they would. Where a
branch depends on a float, it is not taken, unless it leads around the call of a slow path.

Cycles of a multiprocessor of an H200 for an iteration of one run: four instructions are issued per cycle; FFMA, FADD
and FMUL take a cycle of a quarter, products of integers and everything of the ALU two, MUFU and conversions eight;
shared memory moves 32 words per cycle, counted by the addresses, and a shuffle takes one.
"""

import argparse
import dataclasses
import json
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from arithmos.engines.cuda.compile import cubin
from arithmos.engines.cuda.names import Settings
from arithmos.engines.cuda.plan import H200, make_plan
from arithmos.spec import MODELS, Spec
from arithmos.tasks import OPERATIONS, Arithmetic

CLOCK, REGISTERS = 1.98e9, 65536
PARAMETERS, THEIR_ADDRESS = 0x210, 0x198
"""Where the arguments of a kernel begin among the constants of sm_90, and where their address is."""

DEFAULT = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"])


def changed(inputs: int = 100, model: str = "NMU", hidden: int = 2, **task: object) -> Spec:
    own = dataclasses.replace(DEFAULT.task, input_size=inputs, **task)
    return dataclasses.replace(DEFAULT, task=own, model=MODELS[model], hidden_size=hidden)


SPECS = {
    "NMU": DEFAULT,
    "NALU": changed(model="NALU"),
    "gated": changed(model="GatedNAUNMU"),
    "300 inputs": changed(300),
    "32 hidden": changed(hidden=32),
    "64 hidden": changed(hidden=64),
    "2 inputs": changed(2, fixed=((0, 1), (1, 2))),
    "4 inputs": changed(4),
    "10 inputs": changed(10),
}
MEASURED = {"NMU": 84.8, "NALU": 26.7, "gated": 32.0, "300 inputs": 21.6, "32 hidden": 6.6, "4 inputs": 534.0,
            "10 inputs": 358.0}  # fmt: skip
"""M it/s of the kernels of version 0.1, from cuda.md."""

BEFORE = {"NMU": 7213, "NALU": 24409, "gated": 22693, "300 inputs": 21750, "32 hidden": 78604, "64 hidden": 160494,
          "2 inputs": 1072, "4 inputs": 1232, "10 inputs": 1591}  # fmt: skip
"""The same sums on 18 November 2026, before a warp trained a small network and half of a tile was considered."""

ROWS = 10_000
"""Observations of each of the two fixed sets."""

CLASSES = {
    "FMA": r"F(FMA|ADD|MUL|SWZADD)|HFMA2",
    "IMAD": r"U?IMAD",
    "float64": r"D(FMA|ADD|MUL|SETP)",
    "MUFU": r"MUFU|I2F\b|F2F|F2I|I2F\.",
    "LDS/STS": r"LDS|STS|ATOMS",
    "shuffle": r"SHFL",
    "memory": r"LD|ST",
    "barrier": r"BAR|WARPSYNC|B2R|BSSY|BSYNC",
    "control": r"BRA|CALL|RET|EXIT|BRX|NOP|BREAK",
    "ALU": r"",
}

Value = np.ndarray | None
"""32 lanes of 32 bits; None if unknown."""

MASK = 0xFFFFFFFF
LANES = np.arange(32)


def signed(x: np.ndarray) -> np.ndarray:
    return (x ^ 0x80000000) - 0x80000000


COMPARE = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal,
           "NE": np.not_equal}  # fmt: skip


@cache
def parsed(text: str, high: bool) -> tuple[str, bool, bool, object]:
    """Return what an operand is, whether it is negative or inverted, and its register, address or lanes."""
    sign, inverse, plain = text.startswith("-"), text.startswith("~"), text.lstrip("-~")
    if match := re.fullmatch(r"(U?R)(\d+)(\.64|\.H\d_H\d|\.U32)?", plain):
        return "register", sign, inverse, f"{match[1]}{int(match[2]) + high}"
    if plain in ("RZ", "URZ", "SRZ"):
        return "number", sign, inverse, np.zeros(32, np.int64)
    if match := re.match(r"c\[0x0\]\[(0x[0-9a-f]+)\]", plain):
        return "constant", sign, inverse, int(match[1], 16) + 4 * high
    if re.fullmatch(r"(0x[0-9a-f]+|\d+)", plain):
        return "number", sign, inverse, np.full(32, 0 if high else int(plain, 0))
    return "other", sign, inverse, None


class Instruction:
    """One instruction: guard, operation with its modifiers, operands."""

    def __init__(self, raw: dict[str, str]) -> None:
        self.guard = raw.get("predicate", "").lstrip("@")
        self.opcode = raw["opcode"]
        self.name, *self.modifiers = self.opcode.split(".")
        text = re.sub(r"^(R\w+)\[", r"\1,[", raw.get("operands", "").replace(".reuse", ""))
        self.operands = [part.strip() for part in re.split(r",(?![^\[]*\])", text)] if text else []
        self.kind = next(kind for kind, pattern in CLASSES.items() if re.match(pattern, self.opcode))
        self.results = self._results()

    def _results(self) -> list[str]:
        """Return the registers and predicates that are written."""
        if (
            self.name in ("STS", "STG", "ST", "STL", "BAR", "BSSY", "BSYNC", "WARPSYNC", "NOP", "BREAK")
            or not self.operands
        ):
            return []
        found = self.operands[:1]
        for text in self.operands[1:3]:
            if re.fullmatch(r"U?P(\d|T)", text) or (self.name in ("LOP3", "SHFL") and found[0].strip("U")[0] == "P"):
                found.append(text)
            else:
                break
            if self.name in ("LOP3", "SHFL"):
                break
        wide = {"64": 2, "128": 4, "WIDE": 2, "F64": 2}
        modifiers = self.modifiers[:1] if self.name == "F2F" else self.modifiers  # to the first, from the second
        count = max((wide.get(part, 1) for part in modifiers), default=1)
        if self.name in ("CS2R", "DFMA", "DADD", "DMUL") and "32" not in self.modifiers:
            count = 2
        if match := re.fullmatch(r"(U?R)(\d+)", found[0]):
            found += [f"{match[1]}{int(match[2]) + k}" for k in range(1, count)]
        return found


class Warp:
    """A warp that runs as far as integers say.

    Args:
        code: the instructions of all functions.
        starts: first instruction of each function.
        constants: words of constant bank 0, by address.
        jumps: words of constant bank 2, which are targets of indirect branches.
        number: number of the warp.
    """

    def __init__(
        self,
        code: dict[int, Instruction],
        starts: dict[str, int],
        constants: dict[int, int],
        jumps: np.ndarray,
        number: int,
    ) -> None:
        self.code, self.starts, self.constants, self.jumps = code, starts, constants, jumps
        self.registers: dict[str, Value] = {}
        self.local: dict[int, Value] = {}
        self.at = np.full(32, starts["train"])
        self.depth = np.zeros(32, int)
        self.thread = LANES + 32 * number
        self.counts: Counter[str] = Counter()
        self.wavefronts = 0

    def run(self) -> None:
        """Run to the end, the lanes that are deepest in calls and furthest behind first."""
        while (live := self.at >= 0).any():
            deepest = live & (self.depth == self.depth[live].max())
            here = int(self.at[deepest].min())
            lanes = deepest & (self.at == here)
            one = self.code[here]
            self.at[lanes] = here + 1
            guard = self.predicate(one.guard) if one.guard else np.ones(32, bool)
            self.counts[one.kind] += 1
            if one.name in ("BRA", "CALL", "RET", "EXIT", "BRX"):
                self.branch(one, here, lanes, guard)
            elif guard is None:
                self.forget(one)
            elif (active := lanes & guard).any():
                self.step(one, active)

    def branch(self, one: Instruction, here: int, lanes: np.ndarray, guard: Value) -> None:
        target = -1
        if one.name in ("BRA", "CALL"):
            if "DIV" in one.modifiers:
                return
            place = one.operands[-1]
            target = self.starts[place] if place in self.starts else int(place, 16) // 16
        elif one.name == "RET":
            value = self.read(one.operands[0])
            target = int(value[lanes][0]) // 16
        elif one.name == "BRX":
            value = self.read(one.operands[0])
            target = int(value[lanes][0] + int(one.operands[1], 16)) // 16 + here + 1
        if guard is None:
            if one.name == "BRA" and target <= here:
                raise NotImplementedError(f"the trips of a loop are unknown: {here * 16:#x}")
            slow = any(self.code[k].name == "CALL" for k in range(here + 1, target))
            guard = np.full(32, slow)
        self.at[lanes & guard] = target
        self.depth[lanes & guard] += (one.name == "CALL") - (one.name == "RET")

    def predicate(self, name: str) -> Value:
        plain = name.lstrip("!")
        value = np.ones(32, bool) if plain in ("PT", "UPT") else self.registers.get(plain)
        return value if value is None or plain == name else ~value

    def read(self, text: str, high: bool = False) -> Value:
        """Return a register, an immediate or a constant; the upper half of a pair."""
        kind, sign, inverse, place = parsed(text, high)
        if kind == "register":
            value = self.registers.get(place)
            if value is None:
                return None
        elif kind == "constant":
            value = np.full(32, self.constants.get(place, 0))
        elif kind == "number":
            value = place
        else:
            return None
        return (-value if sign else ~value if inverse else value) & MASK if sign or inverse else value

    def write(self, name: str, value: Value, active: np.ndarray) -> None:
        if name in ("RZ", "URZ", "PT", "UPT"):
            return
        old = self.registers.get(name)
        if value is None or active.all() or old is None:
            # A register of which only a part is known is used by those lanes alone.
            self.registers[name] = value
        else:
            self.registers[name] = np.where(active, value, old)

    def forget(self, one: Instruction) -> None:
        for name in one.results:
            self.write(name, None, LANES >= 0)

    def step(self, one: Instruction, active: np.ndarray) -> None:
        made = one.results
        if one.kind == "LDS/STS":
            self.share(one, active)
        elif one.kind == "shuffle":
            self.wavefronts += 1
        if one.name in ("STL", "LDL"):
            place = next(text for text in one.operands if "[" in text)
            first = int(place.partition("+")[2].rstrip("]") or "0", 16)
            if one.name == "STL":
                self.local[first] = self.read(one.operands[1])
                self.local[first + 4] = (
                    self.read(one.operands[1], high=True) if "64" in one.modifiers else self.local.get(first + 4)
                )
                return
            values = [self.local.get(first + 4 * k) for k in range(2)]
        else:
            values = self.compute(one) or []
        for k, name in enumerate(made):
            self.write(name, values[k] if k < len(values) else None, active)

    def share(self, one: Instruction, active: np.ndarray) -> None:
        """Count the cycles of an access: the most different words of a bank."""
        match = re.search(r"\[(?:(U?R\w+)(?:\.X\d+)?)?(?:\+(U?R\w+))?(?:\+(-?0x[0-9a-f]+))?\]", " ".join(one.operands))
        parts = [self.read(text) for text in match.groups()[:2] if text] if match else [None]
        size = 4 if "128" in one.modifiers else 2 if "64" in one.modifiers else 1
        if any(part is None for part in parts):  # a loop behind a branch that is not followed
            self.wavefronts += size
            return
        offset = int(match[3], 16) if match[3] else 0
        words = (sum(parts, np.zeros(32, np.int64)) + offset)[active] // 4
        different = np.unique(np.concatenate([words + k for k in range(size)]))
        self.wavefronts += int(np.bincount(different % 32).max())

    def compute(self, one: Instruction) -> list[Value] | None:
        """Return what an instruction of integers writes; None if it is not followed."""
        name, mods, ops = one.name.removeprefix("U") if one.name != "ULDC" else "LDC", one.modifiers, one.operands
        if name in ("S2R", "S2UR", "2UR"):
            return [{"SR_TID.X": self.thread}.get(ops[1], np.zeros(32, np.int64))]
        if name == "LDC" and (match := re.fullmatch(r"c\[0x2\]\[(R\d+)(\+0x\w+)?\]", ops[1])):
            places = self.read(match[1])
            if places is None:
                return None
            return [self.jumps[(places + int(match[2] or "0", 16)) // 4 % len(self.jumps)].astype(np.int64)]
        if name == "LDC":
            return [self.read(ops[1]), self.read(ops[1], high=True)]
        if name in ("LDG", "LD"):
            return self.load(ops[1])
        if name in ("MOV", "R2UR"):
            return [self.read(ops[-1])]
        if name == "HFMA2" and ops[1:3] == ["-RZ", "RZ"]:  # a constant, as two halves
            high, low = (int(np.float16(float(text)).view(np.uint16)) for text in ops[3:5])
            return [np.full(32, high << 16 | low)]
        if name == "CS2R":
            return [np.zeros(32, np.int64)] * 2
        if name == "B2R":
            return [None, np.zeros(32, bool)]
        if name == "PLOP3":
            inputs = [self.predicate(text) for text in ops[2:5]]
            return [self.table(int(ops[5], 16), [None if x is None else x * MASK for x in inputs], bool)]
        if name in ("ISETP",):
            return self.compare(mods, ops)
        values = [self.read(text) for text in ops[1:]]
        if name == "VIADD" or (name == "IADD3" and "X" not in mods):
            flags = [text for text in ops[1:3] if re.fullmatch(r"U?P(\d|T)", text)]
            terms = values[len(flags) :][:3]
            if any(term is None for term in terms):
                return None
            total = sum(
                (term if not text.startswith("-") else (MASK + 1) - self.read(text[1:]))
                for term, text in zip(terms, ops[1 + len(flags) :], strict=False)
            )
            return [total & MASK, *([total > MASK] * len(flags))]
        if name == "IADD3" or (name == "IMAD" and "X" in mods):
            flags = [text for text in ops[1:3] if re.fullmatch(r"U?P(\d|T)", text)]
            rest = ops[1 + len(flags) :]
            terms = [self.read(text) for text in rest[:3]]
            carry = self.predicate(rest[3]) if len(rest) > 3 else np.zeros(32, bool)
            if any(term is None for term in terms) or carry is None:
                return None
            total = (terms[0] * terms[1] + terms[2] if name == "IMAD" else sum(terms)) + carry
            return [total & MASK, *([total > MASK] * len(flags))]
        if name == "IMAD":
            return self.multiply(mods, ops, values)
        if name == "LEA" and not {"HI", "X"} & {*mods}:
            a, b = self.read(ops[-3] if len(ops) < 5 else ops[2]), self.read(ops[-2] if len(ops) < 5 else ops[3])
            return None if a is None or b is None else [((a << int(ops[-1], 16)) + b) & MASK]
        if name == "LEA" and "X" not in mods and len(ops) == 5:
            a, b, top = self.read(ops[1]), self.read(ops[2]), self.read(ops[3])
            shift = 32 - int(ops[4], 16)
            if a is None or b is None or top is None:
                return None
            if "SX32" in mods:
                return [((signed(a) >> shift) + b) & MASK]
            return [(((top << 32 | a) >> shift) + b) & MASK]
        if name == "SHF":
            a, count, top = values[:3]
            if a is None or count is None or top is None:
                return None
            if "L" in mods:
                return [a << count & MASK] if "HI" not in mods else None
            return [(signed(top) if "S32" in mods else top) >> count & MASK]
        if name == "LOP3":
            flag = [ops[0]] if re.fullmatch(r"U?P(\d|T)", ops[0]) else []
            rest = ops[1 + len(flag) :]
            both = self.table(int(rest[3], 16), [self.read(text) for text in rest[:3]], np.int64)
            return None if both is None else [both != 0, both] if flag else [both]
        if name == "SEL":
            chosen = self.predicate(ops[3])
            if chosen is None or values[0] is None or values[1] is None:
                return None
            return [np.where(chosen, values[0], values[1])]
        if name in ("VIMNMX", "VIADDMNMX"):
            if any(value is None for value in values[:-1]):
                return None
            a, b = values[:2] if name == "VIMNMX" else ((values[0] + values[1]) & MASK, values[2])
            if "U32" not in mods:
                a, b = signed(a), signed(b)
            return [(np.maximum(a, b) if ops[-1] == "!PT" else np.minimum(a, b)) & MASK]
        return None

    def load(self, place: str) -> list[Value]:
        """Return words of memory: those of a run that has not begun are 0, but for the settings of the launch."""
        match = re.search(r"\[(R\d+)\.64(?:\+(-?0x[0-9a-f]+))?\]", place)
        base = self.read(match[1]) if match else None
        first = -1 if base is None else int(base[0]) + int(match[2] or "0", 16)
        return [np.full(32, self.constants.get(first + 4 * k, 0)) for k in range(4)]

    def multiply(self, mods: list[str], ops: list[str], values: list[Value]) -> list[Value] | None:
        a, b, c = values[:3]
        zeros = any(value is not None and not value.any() for value in (a, b))
        if (a is None or b is None) and not zeros:
            return None
        if c is None:
            return None
        convert = (lambda x: x) if "U32" in mods else signed
        product = np.zeros(32, np.int64) if zeros else convert(a).astype(object) * convert(b)
        if "HI" in mods:
            return [((product + (c.astype(object) << 32 if zeros else c)) >> 32).astype(np.int64) & MASK]
        if "WIDE" not in mods:
            return [(product + c).astype(object).astype(np.int64) & MASK if not zeros else c]
        top = self.read(ops[3], high=True)
        if top is None:
            return None
        total = product + (top.astype(object) << 32 | c)
        return [(total & MASK).astype(np.int64), (total >> 32 & MASK).astype(np.int64)]

    def table(self, bits: int, inputs: list[Value], kind: type) -> Value:
        """Return a function of three bits, given by its eight values."""
        found = np.zeros(32, np.int64)
        for k in range(8):
            if bits >> k & 1:
                term: Value = np.full(32, MASK)
                for number, value in enumerate(inputs):
                    if value is None:
                        term = None
                        break
                    term = term & (value if k >> (2 - number) & 1 else ~value & MASK)
                if term is None:
                    return np.ones(32, bool) if bits == 0xFF and kind is bool else None
                found = found | term
        return found != 0 if kind is bool else found

    def compare(self, mods: list[str], ops: list[str]) -> list[Value] | None:
        a, b = self.read(ops[2]), self.read(ops[3])
        last = self.predicate(ops[4])
        if a is None or b is None or last is None:
            return None
        if "U32" not in mods:
            a, b = signed(a), signed(b)
        found = COMPARE[mods[0]](a, b)
        if "EX" in mods:
            low = self.predicate(ops[5])
            if low is None:
                return None
            found = (a != b) | low if mods[0] == "NE" else COMPARE[mods[0][0] + "T"](a, b) | ((a == b) & low)
        joined = found & last if "AND" in mods else found | last
        return [joined, ~found & last if "AND" in mods else ~found | last]


def section(code: bytes, name: bytes) -> bytes:
    """Return a section of a cubin, which is an ELF file."""
    (start,), (size, count, names) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<HHH", code, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", code, start + k * size) for k in range(count)]
    text = heads[names][4]
    for place, _, _, _, offset, length in heads:
        if code[text + place :].startswith(name + b"\0"):
            return code[offset : offset + length]
    return b""


def disassembled(code: bytes, nvdisasm: str) -> tuple[dict[int, Instruction], dict[str, int]]:
    """Return the instructions by place, and the first of each function."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        text = subprocess.run([nvdisasm, "-json", file.name], check=True, capture_output=True, text=True).stdout
    starts, found = {}, {}
    for function in json.loads(text)[1]:
        start = starts[function["function-name"]] = function["start"] // 16
        found |= {start + k: Instruction(raw) for k, raw in enumerate(function["sass-instructions"])}
    return found, starts


class Kernel:
    """Machine code of a spec's kernel."""

    def __init__(self, spec: Spec, nvdisasm: str) -> None:
        self.spec, self.plan = spec, make_plan(spec, H200)
        code = cubin(self.plan.source, "sm_90")
        self.code, self.starts = disassembled(code, nvdisasm)
        self.registers = int.from_bytes(code[code.index(b"\x04\x2f\x08\x00") + 8 :][:4], "little")  # EIATTR_REGCOUNT
        self.jumps = np.frombuffer(section(code, b".nv.constant2.train"), np.uint32)

    @property
    def resident(self) -> int:
        """Blocks that fit on a multiprocessor."""
        plan = self.plan
        by_registers = REGISTERS // (-(-self.registers // 8) * 8 * plan.threads)
        by_shared = H200.shared_per_multiprocessor // (plan.shared_bytes + H200.reserved_shared)
        return min(by_registers, by_shared, H200.threads_per_multiprocessor // plan.threads, 32)

    @property
    def spills(self) -> int:
        """Instructions of the kernel that move registers to local memory and back."""
        return sum(one.name in ("LDL", "STL") for one in self.code.values())

    def iterations(self, every: int, chunk: int, warps: int, rows: int = 0) -> Counter[str]:
        """Return what so many warps do in the first iterations of a run."""
        settings = Settings(
            every=every, iterations=10**6, adam_steps=10**5, operation=list(OPERATIONS).index(self.spec.task.operation),
            validation_rows=rows, test_rows=rows, threshold_count=2, curve_length=100,
        )  # fmt: skip
        raw = bytes(settings) + bytes(8) + chunk.to_bytes(8, "little")
        constants = {PARAMETERS + 4 * k: int(word) for k, word in enumerate(np.frombuffer(raw, np.uint32))}
        constants[THEIR_ADDRESS] = PARAMETERS
        total: Counter[str] = Counter()
        for number in range(warps):
            warp = Warp(self.code, self.starts, constants, self.jumps, number)
            warp.run()
            total += warp.counts
            total["wavefronts"] += warp.wavefronts
        return total

    def iteration(self) -> Counter[str]:
        """Return what a block does in an iteration without an evaluation."""
        warps = self.plan.threads // 32
        after = self.iterations(1000, 3, warps)
        after.subtract(self.iterations(1000, 2, warps))
        return after

    def evaluation(self) -> float:
        """Return the instructions of a block for both fixed sets, by those of one warp for some of their rows."""
        few, more = (self.iterations(1000, 1, 1, k * self.plan.threads) for k in (4, 12))
        each = (sum(more[kind] for kind in CLASSES) - sum(few[kind] for kind in CLASSES)) / 8
        return each * ROWS / 32


PARTS = ("issue", "FMA", "ALU", "MUFU", "shared")


def cycles(counts: Counter[str], evaluation: float) -> list[float]:
    """Return the cycles that each part of a multiprocessor needs, in the order of `PARTS`."""
    own = {kind: counts[kind] / 4 for kind in CLASSES}
    return [
        sum(own.values()) + evaluation / 4,
        max(own["IMAD"] * 2, own["IMAD"] + own["FMA"]),
        own["ALU"] * 2,
        own["MUFU"] * 8,
        counts["wavefronts"],
    ]


HEAD = """# Instructions of the cuda engine, counted

**Counted, not measured**: `python benchmarks/cuda_counts.py` follows the machine code of the generated kernels for
sm_90 without a GPU. All counts are warp instructions per iteration of one run, by class; *evaluation* is a thousandth
of both fixed sets; *sum* has it in; *before* is that of 18 November 2026. *shared cycles* are those in which shared
memory and shuffles are busy. The columns *by …* are bounds in M it/s of an H200 (132 multiprocessors at 1.98 GHz), if
that part alone were the limit; no kernel reaches its bound: those of version 0.1 (*measured*, cuda.md), whose
instructions were about those of *before*, reached 45 to 70 % of theirs. *spills* are instructions anywhere in the
kernel; *blocks* are resident ones on a multiprocessor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown file to write.")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="Path of nvdisasm.")
    parser.add_argument("--only", help="Name of the only spec to count.")
    options = parser.parse_args()
    lines = [HEAD, ""]
    columns = ["", "threads", "registers", "spills", "blocks", *CLASSES, "evaluation", "sum", "before"]
    columns += ["shared cycles", *(f"by {part}" for part in PARTS), "measured (0.1)"]
    lines += [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for name, spec in SPECS.items():
        if options.only in (None, name):
            kernel = Kernel(spec, options.nvdisasm)
            counts, evaluation = kernel.iteration(), kernel.evaluation() / spec.evaluate_every
            total = sum(counts[kind] for kind in CLASSES) + evaluation
            bounds = [f"{CLOCK * H200.multiprocessors / needed / 1e6:.0f}" for needed in cycles(counts, evaluation)]
            row = [name, kernel.plan.threads, kernel.registers, kernel.spills, kernel.resident]
            row += [
                *(counts[kind] for kind in CLASSES),
                round(evaluation),
                round(total),
                BEFORE.get(name, ""),
                counts["wavefronts"],
            ]
            lines.append(f"| {' | '.join(map(str, [*row, *bounds, MEASURED.get(name, '')]))} |")
            print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
