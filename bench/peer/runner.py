"""Starts each contender in its own process and lets one run at a time."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peer.model import Model

FOLDER = Path(__file__).resolve().parent


def child_env(threads: int) -> dict[str, str]:
    """The environment of a measured process. The two OpenBLAS settings would tie its kernels to another CPU."""
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
        env[name] = str(threads)
    env["HF_HUB_OFFLINE"] = "1"
    env["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    return env


class PeerProcess:
    """A program of this folder that answers requests, stopped by signal while it is not its turn: idle threads spin."""

    def __init__(self, program: str, peer: str, threads: int, dtype: str = "float32") -> None:
        self.name = peer
        command = [sys.executable, "-P", str(FOLDER / program), peer, "--threads", str(threads), "--dtype", dtype]
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            encoding="utf-8",
            env=child_env(threads),
        )
        self.process.send_signal(signal.SIGSTOP)

    def ask(self, request: dict) -> dict:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": self.last_words()}
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def measure(self, model: Model, batch_size: int, sequence_length: int, seconds: float) -> dict:
        return self.ask(
            {
                "model": model.name,
                "batch_size": batch_size,
                "sequence_length": sequence_length,
                "seconds": seconds,
            }
        )

    def last_words(self) -> str:
        self.log.seek(0)
        return f"ended: {self.log.read().strip()[-300:]}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


class SabokProcess:
    """`sabok bench`, started afresh each round; it warms up by itself."""

    def __init__(self, binary: str, threads: int, dtype: str) -> None:
        self.name = "sabok"
        self.binary, self.threads, self.dtype = binary, threads, dtype

    def measure(self, model: Model, batch_size: int, sequence_length: int, seconds: float) -> dict:
        command = [self.binary, "bench"]
        command += [model.folder] if model.folder is not None else ["--config", model.config]
        command += ["--batch_size", str(batch_size), "--sequence_length", str(sequence_length)]
        command += ["--threads", str(self.threads), "--json"]
        if self.dtype != "float32":
            command += ["--dtype", self.dtype]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=child_env(self.threads), check=False)
        if done.returncode != 0:
            return {"error": f"status {done.returncode}: {done.stderr.strip()[-300:]}"}
        row = json.loads(done.stdout.strip().split("\n")[-1])
        # Its median stands for its runs: other programs on the machine are seen by both sides in the same way.
        return {"ms": [row["ms_median"]], "min": row["ms_min"], "row": row}

    def close(self) -> None:
        pass


def start(names: list[str], sabok: str | None, threads: int, dtype: str) -> list[PeerProcess | SabokProcess]:
    contenders: list[PeerProcess | SabokProcess] = [PeerProcess("engine.py", name, threads, dtype) for name in names]
    if sabok is not None:
        contenders.append(SabokProcess(sabok, threads, dtype))
    return contenders


def settle() -> None:
    """Lets the last contender's threads fall asleep."""
    time.sleep(0.2)
