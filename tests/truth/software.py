#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""software.py [--only TEXT] [--disable LIST] [--user USER] [BINARY] - compares reports of real
programs with the truth.

Runs the programs of this list that are installed, and prints the names of those that are not;
installs nothing. The truth is measured from outside. CPU time: the larger of an outer cgroup's
and the tracker's rusage, minus the tracker's own usage. Processes: from the proc connector.
Memory: the outer cgroup's peak, and PSS, which is sampled and so a lower bound. Prints a table,
followed by the faults. Run it as root, on an otherwise idle machine. Exits with status 1 if
there is a fault.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import watching

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120
CPU_TOLERANCE, CPU_FLOOR = 0.01, 0.03
MEMORY_TOLERANCE, MEMORY_FLOOR = 0.03, 3 << 20
# The tracker and its pages belong to the outer cgroup, too.
CHARGED_TOLERANCE, CHARGED_FLOOR = 0.03, 12 << 20

PYTHON = sys.executable
BURN = "import time\nwhile time.process_time() < {}: pass"


@dataclasses.dataclass
class Case:
    """One program to run. `command` is a shell command, run in a new folder that contains
    `files`; {bin} stands for a folder of the programs of `needs`."""
    name: str
    command: str
    needs: tuple = ()
    files: dict = dataclasses.field(default_factory=dict)
    setup: str = ""
    user: str = ""  # the user that runs the command if root may not


JAVA = """
public class Burn {
    public static void main(String[] arguments) throws Exception {
        byte[][] held = new byte[100][];
        for (int i = 0; i < held.length; i++) { held[i] = new byte[1 << 20]; held[i][i] = 1; }
        long sum = 0;
        for (long i = 0; i < 1500000000L; i++) sum += i ^ (i >> 3);
        Process process = new ProcessBuilder("sh", "-c", "exit 7").start();
        System.exit(process.waitFor() + (sum == 42 ? 1 : 0) - 7);
    }
}
"""
NODE = """
const { execSync, fork } = require('child_process');
const held = Buffer.alloc(80 << 20, 1);
const end = process.cpuUsage().user + 600000;
while (process.cpuUsage().user < end) ;
execSync('true');
console.log(held.length);
"""
POOL = """
import multiprocessing, time
def burn(_):
    while time.process_time() < 0.4: pass
    return len(bytearray(30 << 20))
shared = bytearray(100 << 20)
with multiprocessing.get_context('fork').Pool(3) as pool:
    print(sum(pool.map(burn, range(3), 1)))
"""
MAKEFILE = "all: $(patsubst %,f%.o,$(shell seq 12))\nf%.o: f.c\n\tcc -O2 -c -o $@ f.c\n"
SOURCE = "#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
    f"int f{i}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {i} ^ s; return s; }}\n"
    for i in range(300))
POSTGRES = """set -e
export PATH="$(echo /usr/lib/postgresql/*/bin | tr ' ' '\\n' | tail -1):$PATH"
pg_ctl -D data -o "-k $PWD -c listen_addresses=''" -l log -w start >/dev/null
psql -qh "$PWD" -d postgres -c 'create table t as select i, repeat(md5(i::text), 8) as text
  from generate_series(1, 200000) as i; create index on t (text); select count(distinct text) from t' >/dev/null
pg_ctl -D data -m fast -w stop >/dev/null
"""
INITDB = """export PATH="$(echo /usr/lib/postgresql/*/bin | tr ' ' '\\n' | tail -1):$PATH"
initdb -D data -A trust >/dev/null
"""
REDIS = """redis-server --port 0 --unixsocket "$PWD/s" --daemonize yes --dir "$PWD" >/dev/null
until redis-cli -s "$PWD/s" ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s "$PWD/s" -n 50000 -r 100000 -d 500 -t set,get -q >/dev/null
redis-cli -s "$PWD/s" shutdown nosave
while [ -e s ]; do sleep 0.05; done
"""
SQLITE = """sqlite3 x.db 'create table t(a,b);
with recursive n(i) as (select 1 union all select i+1 from n where i<400000)
insert into t select i, hex(randomblob(50)) from n; create index x on t(b); select count(distinct b) from t;'
"""
# Moves to a cgroup of its own elsewhere, as container runtimes do.
LEAVING = f"""for d in /sys/fs/cgroup /sys/fs/cgroup/*; do
  [ -e $d/cgroup.procs ] && mkdir -p $d/spoor-elsewhere 2>/dev/null && echo $$ >$d/spoor-elsewhere/cgroup.procs
done 2>/dev/null
{PYTHON} -c {shlex.quote('held = bytearray(200 << 20)' + chr(10) + BURN.format(1.0))}
"""
SLURM = """
ClusterName=truth
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1
PartitionName=all Nodes=ALL Default=YES State=UP
"""
TASK = BURN.format(0.5) + """
import os
open('task.' + os.environ['SLURM_PROCID'], 'w').write(str(time.process_time()))
"""
CASES = [
    Case("sh, moves its cgroup", LEAVING),
    Case("podman + runc", "podman --runtime runc --cgroup-manager cgroupfs run --rm --network none "
         "--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --rootfs \"$PWD/rootfs\" /burn", ("podman", "runc", "cc"), setup="rootfs"),
    Case("podman + crun", "podman --runtime crun --cgroup-manager cgroupfs run --rm --network none "
         "--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --rootfs \"$PWD/rootfs\" /burn", ("podman", "crun", "cc"), setup="rootfs"),
    Case("bwrap", f"bwrap --dev-bind / / --unshare-pid --proc /proc {PYTHON} -c "
         + shlex.quote(BURN.format(0.6)), ("bwrap",)),
    Case("postgres", POSTGRES, ("psql",), setup=INITDB, user="postgres"),
    Case("redis", REDIS, ("redis-server", "redis-benchmark")),
    Case("java", "java Burn.java", ("java", "javac"), {"Burn.java": JAVA}),
    Case("node", "node burn.js", ("node",), {"burn.js": NODE}),
    Case("python, one", f"{PYTHON} -c 'x = bytearray(300 << 20)'"),
    Case("python, pool", f"{PYTHON} pool.py", files={"pool.py": POOL}),
    Case("xargs", "seq 300 | xargs -P4 -n1 sh -c ':'", ("xargs",)),
    Case("parallel", "seq 60 | parallel -j4 'test {} -gt 0'", ("parallel",)),
    Case("make -j4", "make -s -j4", ("make", "cc"), {"Makefile": MAKEFILE, "f.c": SOURCE}),
    Case("mpirun", f"mpirun --allow-run-as-root --oversubscribe -np 3 {PYTHON} -c "
         + shlex.quote("x = bytearray(30 << 20)\n" + BURN.format(0.4)), ("mpirun",)),
    Case("R", "Rscript -e 'x <- parallel::mclapply(1:3, function(i) sum(sort(runif(1.5e6))), "
         "mc.cores = 3)'", ("Rscript",)),
    Case("tar | gzip", "tar cf - /usr/include /usr/lib/python3 2>/dev/null | gzip -1 >/dev/null",
         ("tar", "gzip")),
    Case("dd", "dd if=/dev/zero of=x bs=1M count=200 conv=fsync 2>/dev/null", ("dd",)),
    Case("sqlite", SQLITE, ("sqlite3",)),
    Case("slurm, srun", f"SLURM_CONF=$PWD/slurm.conf srun -n1 {PYTHON} task.py", ("srun", "slurmctld", "slurmd", "munged"),
         {"task.py": TASK}, setup="slurm"),
    Case("stress-ng --cpu", "stress-ng -q --cpu 2 --cpu-ops 600", ("stress-ng",)),
    Case("stress-ng --shm", "stress-ng -q --shm 2 --shm-ops 60", ("stress-ng",)),
    Case("stress-ng --fork", "stress-ng -q --fork 2 --fork-ops 2000", ("stress-ng",)),
    Case("stress-ng --vm", "stress-ng -q --vm 2 --vm-bytes 100m --vm-ops 2000", ("stress-ng",)),
]
BURN_C = """
#include <string.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    char *held = malloc(100 << 20);
    volatile unsigned work = 0;
    memset(held, 1, 100 << 20);
    while (clock() < 1.0 * CLOCKS_PER_SEC)
        work++;
    return held[5] - 1;
}
"""


def why_not(case):
    for program in case.needs:
        if not shutil.which(program):
            return f"{program} is not installed"
    if case.user:
        try:
            pwd.getpwnam(case.user)
        except KeyError:
            return f"there is no user {case.user}"
    return ""


def as_user(user, command):
    group = pwd.getpwnam(user).pw_gid if user else 0
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *command] if user else command


def start_slurm(folder):
    """Starts a Slurm cluster that consists of this machine. Returns its daemons."""
    host = socket.gethostname()
    (folder / "slurm.conf").write_text(SLURM.format(host=host, folder=folder))
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o600)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--force", "-F", *(f"--{name}-file={folder}/{name}" for name in
                                          ("key", "pid", "log", "seed")), f"--socket={folder}/munge.socket"]
    daemons = []
    for command in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
        daemons.append(subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(1)
    subprocess.run(["srun", "true"], env=environment, timeout=TIMEOUT_SECONDS, check=False,
                   stderr=subprocess.DEVNULL)
    return daemons


def prepare(case, user, folder):
    """Prepares a case. Returns the daemons that were started."""
    for name, text in case.files.items():
        (folder / name).write_text(text)
    if user:
        shutil.chown(folder, user)
    if case.setup == "rootfs":
        (folder / "rootfs").mkdir()
        (folder / "burn.c").write_text(BURN_C)
        subprocess.run(["cc", "-static", "-O1", "-o", folder / "rootfs/burn", folder / "burn.c"], check=True)
    elif case.setup == "slurm":
        return start_slurm(folder)
    elif case.setup:
        subprocess.run(as_user(user, ["sh", "-c", case.setup]), cwd=folder, check=True)
    return []


def end(daemons):
    for daemon in reversed(daemons):
        daemon.terminate()
        daemon.wait()


@dataclasses.dataclass
class Seen:
    """One run: the report, and the truth. None: unknown."""
    report: dict
    cpu_seconds: float
    processes: int
    pss_bytes: int
    peak_bytes: int
    disk_bytes: int
    exit_code: int
    elsewhere_seconds: float = 0  # used by processes of daemons


def run(case, folder, arguments):
    """Runs a case in an outer cgroup, with all observers."""
    outer = watching.OuterCgroup(f"spoor-truth-{os.getpid()}")
    path = folder / "report.json"
    processes = watching.Processes()
    pss = watching.Pss(processes)
    written = watching.disk_written_bytes()
    environment = {**os.environ, "SPOOR_DISABLE": arguments.disable, "HOME": str(folder)}
    job = as_user("" if arguments.user else case.user, ["sh", "-c", case.command])
    tracker = as_user(arguments.user, [arguments.binary, "run", "-q", "-o", path, "--", *job])
    try:
        processes.start()
        tracker = subprocess.Popen(tracker, cwd=folder, env=environment, preexec_fn=outer.join,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        processes.root = tracker.pid
        pss.start()
        _, status, usage = os.wait4(tracker.pid, 0)
        tracker.returncode = os.waitstatus_to_exitcode(status)
        pss.stop()
        processes.stop()
        report = json.loads(path.read_text())
        own = report["tracker"]["cpu_seconds"] or 0
        waited = usage.ru_utime + usage.ru_stime
        return Seen(report, max(outer.cpu_seconds or 0, waited) - own,
                    None if processes.lost else
                    len(watching.find_descendants(processes.forks, report["run"]["pid"])),
                    pss.peak_bytes, outer.peak_bytes, watching.disk_written_bytes() - written,
                    tracker.returncode, sum(float(path.read_text()) for path in folder.glob("task.[0-9]")))
    finally:
        outer.remove()
        for elsewhere in watching.CGROUPS.glob("**/spoor-elsewhere"):
            with contextlib.suppress(OSError):
                elsewhere.rmdir()


def is_near(value, true, tolerance, floor):
    return value is not None and abs(value - true) <= true * tolerance + floor


def warns(report, words):
    return any(words in warning["message"] for warning in report["warnings"])


def faults(seen):
    """Lists the false statements of a report."""
    report = seen.report
    cpu = report["cpu"]["total_seconds"]
    started = report["processes"]["started"]
    total, peak = report["memory"]["combined"]["total_rss_bytes"], report["memory"]["job_peak_bytes"]
    if seen.elsewhere_seconds and not warns(report, "slurmd"):
        yield f"{seen.elsewhere_seconds:.2f} s of CPU time of tasks are missing without a word"
    if not is_near(cpu["value"], seen.cpu_seconds, CPU_TOLERANCE, CPU_FLOOR) and \
            (cpu["exact"] or not warns(report, "CPU time")):
        yield f"CPU {cpu['value']} s{' exact' if cpu['exact'] else ''}, true {seen.cpu_seconds:.3f} s"
    if seen.processes is not None and started["value"] != seen.processes and \
            (started["exact"] or started["value"] > seen.processes):
        yield f"{started['value']} processes{' exact' if started['exact'] else ''}, true {seen.processes}"
    least = seen.pss_bytes * (1 - MEMORY_TOLERANCE) - MEMORY_FLOOR
    if total["value"] is not None and total["value"] < least and (total.get("high") or 0) < least:
        yield f"memory {mb(total['value'])} MB at most {mb(total.get('high'))}, PSS was {mb(seen.pss_bytes)} MB"
    if peak["value"] is not None and peak["exact"] and seen.peak_bytes and \
            not is_near(peak["value"], seen.peak_bytes, CHARGED_TOLERANCE, CHARGED_FLOOR):
        yield f"cgroup peak {mb(peak['value'])} MB exact, true {mb(seen.peak_bytes)} MB"


def shortcomings(seen):
    """Lists the inaccuracies that the report admits."""
    report = seen.report
    cpu = report["cpu"]["total_seconds"]
    if not cpu["exact"] and warns(report, "CPU time") and \
            not is_near(cpu["value"], seen.cpu_seconds, CPU_TOLERANCE, CPU_FLOOR):
        yield f"CPU {cpu['value']} s, true {seen.cpu_seconds:.3f} s"
    if seen.elsewhere_seconds and warns(report, "slurmd"):
        yield f"{seen.elsewhere_seconds:.2f} s of CPU time of tasks are missing"


def mb(value):
    return "n/a" if value is None else f"{value / 1e6:.1f}"


COLUMNS = "{:<21}{:>8}{:>9}{:>8} {:<7}{:>8}{:>8} {:<7}{:>8}{:>8}{:>17}{:>8}{:>8}{:>8}{:>8}  {}"
HEADER = COLUMNS.format("program", "CPU s", "ours", "error", "", "procs", "ours", "", "PSS MB", "ours", "bounds", "peak MB",
                        "ours", "disk MB", "ours", "")


def line(case, seen, verdict):
    report = seen.report
    cpu, started = report["cpu"]["total_seconds"], report["processes"]["started"]
    total = report["memory"]["combined"]["total_rss_bytes"]
    true = seen.cpu_seconds + seen.elsewhere_seconds
    error = (cpu["value"] or 0) / true - 1 if true else 0
    return COLUMNS.format(
        case.name, f"{true:.3f}", "n/a" if cpu["value"] is None else f"{cpu['value']:.3f}",
        f"{error:+.1%}", "exact" if cpu["exact"] else "", str(seen.processes), str(started["value"]),
        "exact" if started["exact"] else "", mb(seen.pss_bytes), mb(total["value"]),
        f"{mb(total.get('low'))}-{mb(total.get('high'))}",
        mb(seen.peak_bytes), mb(report["memory"]["job_peak_bytes"]["value"]), mb(seen.disk_bytes),
        mb(report["io"]["written_bytes"]["value"]), verdict)


class Unavailable(Exception):
    """The reason why a case cannot run here."""


def observe(case, arguments):
    """Prepares and runs a case. Returns the observations; raises Unavailable if the case cannot
    run here."""
    if why_not(case):
        raise Unavailable(why_not(case))
    with tempfile.TemporaryDirectory(prefix="spoor-software-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        daemons = []
        try:
            daemons = prepare(case, arguments.user or case.user, folder)
            seen = run(case, folder, arguments)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise Unavailable(str(error)) from error
        finally:
            end(daemons)
    if seen.exit_code != 0:
        raise Unavailable(f"it does not work here (exit code {seen.exit_code})")
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--disable", default="", help="SPOOR_DISABLE of the runs")
    parser.add_argument("--user", default="", help="who runs the tracker and the programs (default: root)")
    parser.add_argument("binary", nargs="?", default=str(HERE.parent.parent / "build/spoor"))
    arguments = parser.parse_args()
    arguments.binary = os.path.abspath(arguments.binary)
    if os.geteuid() != 0:
        sys.exit("software.py: run as root: the outer cgroup and the proc connector are root's")
    found, skipped, has_failed = [], [], False
    print(HEADER)
    for case in CASES:
        if arguments.only not in case.name:
            continue
        try:
            seen = observe(case, arguments)
        except Unavailable as reason:
            skipped.append(f"{case.name}: {reason}")
            continue
        wrong, admitted = list(faults(seen)), list(shortcomings(seen))
        found += [f"wrong   {case.name}: {fault}" for fault in wrong]
        found += [f"admits  {case.name}: {text}" for text in admitted]
        found += [f"        warned: {warning['message']}" for warning in seen.report["warnings"]
                  if wrong or admitted]
        has_failed |= bool(wrong)
        print(line(case, seen, "WRONG" if wrong else "admits" if admitted else ""), flush=True)
    for text in skipped:
        print(f"skipped {text}")
    print("\n".join(found))
    return 1 if has_failed else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
