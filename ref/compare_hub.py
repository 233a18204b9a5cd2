"""Shares a cache between sabok and huggingface_hub, both ways, against the hub of the tests on this machine.

    python ref/compare_hub.py [--build build]

One side fetches a tiny model, the other must find it without a network, and must not fetch a file again with one. Exit
status 1 on any difference.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY = ROOT / "test/golden/bert-tiny"
ID = "org/tiny"
PYTHON = r"""
import json, sys
import huggingface_hub
folder = huggingface_hub.snapshot_download(sys.argv[1], local_dir=sys.argv[2] or None)
scan = huggingface_hub.scan_cache_dir() if not sys.argv[2] else None
tokens = None
if not sys.argv[2]:
    import transformers
    tokens = transformers.AutoTokenizer.from_pretrained(sys.argv[1])("the cat")["input_ids"]
print(json.dumps({"folder": folder, "warnings": len(scan.warnings) if scan else 0, "tokens": tokens,
                  "version": huggingface_hub.__version__}))
"""


def files(folder):
    """Every file under a folder, links followed: name to inode and bytes. A file fetched again has another inode."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file() and ".cache" not in path.relative_to(folder).parts:
            found[str(path.relative_to(folder))] = (path.stat().st_ino, path.read_bytes())
    return found


class Sides:
    def __init__(self, build, endpoint, home):
        self.sabok = str(build / "sabok")
        self.env = dict(os.environ, HF_ENDPOINT=endpoint, HF_HOME=home, no_proxy="*", HF_HUB_DISABLE_XET="1")
        for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN_PATH"):
            self.env.pop(name, None)

    def run(self, command, offline):
        env = dict(self.env, HF_HUB_OFFLINE="1" if offline else "0")
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command[:3])}: {done.stderr}")
        return done.stdout

    def pull(self, offline=False, local_dir=None):
        command = [self.sabok, "pull", ID] + (["--local_dir", local_dir] if local_dir else ["--include", "*"])
        return self.run(command + (["--include", "*"] if local_dir else []), offline).strip()

    def download(self, offline=False, local_dir=None):
        return json.loads(self.run([sys.executable, "-c", PYTHON, ID, local_dir or ""], offline).splitlines()[-1])

    def tokens(self):
        return json.loads(self.run([self.sabok, "tokenize", ID, "--text", "the cat"], True))["ids"]


def check(what, found, expected):
    print(f"{'ok    ' if found == expected else 'FAILED'} {what}")
    if found != expected:
        print(f"    found {str(found)[:300]}, expected {str(expected)[:300]}")
    return found == expected


def both_ways(build, endpoint):
    good = True
    with tempfile.TemporaryDirectory() as home:
        sides = Sides(build, endpoint, home)
        folder = sides.pull()
        before = files(folder)
        there = {name: data for name, (_, data) in files(TINY).items()}
        good &= check("sabok fetches every byte", {n: d for n, (_, d) in before.items()}, there)
        for offline in (True, False):
            said = sides.download(offline=offline)
            where = "without a network" if offline else "with one"
            good &= check(f"huggingface_hub finds what sabok fetched, {where}", said["folder"], folder)
            good &= check("  and sees nothing wrong in the cache", said["warnings"], 0)
            good &= check("  and fetches nothing again", files(folder), before)
        good &= check("transformers reads it: the same tokens", said["tokens"], sides.tokens())
        local = os.path.join(home, "local")
        sides.pull(local_dir=local)
        before = files(local)
        sides.download(local_dir=local)
        good &= check("huggingface_hub keeps the files of sabok's --local_dir", files(local), before)
    with tempfile.TemporaryDirectory() as home:
        sides = Sides(build, endpoint, home)
        said = sides.download()
        before = files(said["folder"])
        for offline in (True, False):
            where = "without a network" if offline else "with one"
            good &= check(f"sabok finds what huggingface_hub fetched, {where}", sides.pull(offline), said["folder"])
            good &= check("  and fetches nothing again", files(said["folder"]), before)
        good &= check("  and reads the same tokens", sides.tokens(), said["tokens"])
        local = os.path.join(home, "local")
        sides.download(local_dir=local)
        before = files(local)
        sides.pull(local_dir=local)
        good &= check("sabok keeps the files of huggingface_hub's local_dir", files(local), before)
    print(f"huggingface_hub {said['version']}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch) / "endpoint"
        with subprocess.Popen([build / "test/hub_server", TINY, ID, place]) as server:
            while not place.exists() and server.poll() is None:
                time.sleep(0.02)
            try:
                good = both_ways(build, place.read_text().strip())
            finally:
                server.terminate()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
