# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of two nodes on this machine: munged, mariadbd, slurmdbd, slurmctld, and a slurmd for each node,
with its own host name. All files are in one folder; all traffic uses loopback or sockets."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from conftest import BINARY, DEADLINE_SECONDS

os.environ["PATH"] += ":/usr/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd", "mariadb-install-db", "srun", "sacct")
NODES = ("node1", "node2")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("freezer", "memory", "cpuacct")
CONFIGURATION = """
ClusterName=truth
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[1]}
AccountingStoragePass={folder}/munge.socket
JobAcctGatherFrequency=task=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=5
MinJobAge=600
ReturnToService=2
InactiveLimit=0
TaskProlog={folder}/task-prolog
{plugins}
NodeName=node1 NodeHostname=node1 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=16 RealMemory=8000
NodeName=node2 NodeHostname=node2 NodeAddr=127.0.0.1 Port={ports[3]} CPUs=16 RealMemory=8000
PartitionName=all Nodes=ALL Default=YES State=UP DefMemPerNode=3000
"""
ACCOUNTING = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={ports[1]}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""
WITH_CGROUPS = """
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
"""
WITHOUT_CGROUPS = """
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
"""
CGROUP_CONFIGURATION = """
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
"""


def missing_program():
    """Returns the reason why no cluster can be started, or an empty text."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    return next((f"{program} is not installed" for program in PROGRAMS if not shutil.which(program)), "")


def missing_controller():
    """Returns the reason why Slurm cannot use cgroups here. Its plugin for cgroup v2 needs
    systemd."""
    return next((f"cgroup v1 has no controller {name} that can be used" for name in CONTROLLERS
                 if not os.access(CGROUPS / name / "cgroup.procs", os.W_OK)), "")


def free_ports(count):
    """Returns ports that are free at the moment."""
    with contextlib.ExitStack() as sockets:
        bound = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in bound:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in bound]


class Cluster:
    """The daemons of a cluster, and the commands of a user of this cluster."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.cgroups = not missing_controller()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "SPOOR"))}
        self.environment |= {"SLURM_CONF": str(folder / "slurm.conf"), "MYSQL_UNIX_PORT": str(folder / "sql.socket"),
                             "SLURM_TIME_FORMAT": "%s", "HOME": str(folder)}

    def start(self):
        folder = self.folder
        for name in ("state", "sql", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()
        self.write("key", os.urandom(1024))
        self.write("task-prolog", b"#!/bin/sh\n", 0o755)
        values = {"host": socket.gethostname(), "folder": folder, "ports": free_ports(4),
                  "plugins": WITH_CGROUPS if self.cgroups else WITHOUT_CGROUPS}
        self.write("hosts", "".join(f"127.0.0.1 {name}\n" for name in ("localhost", socket.gethostname(), *NODES)).encode(),
                   0o644)
        self.write("slurm.conf", CONFIGURATION.format(**values).encode(), 0o644)
        self.write("cgroup.conf", CGROUP_CONFIGURATION.encode(), 0o644)
        self.write("slurmdbd.conf", ACCOUNTING.format(**values).encode())
        self.daemon("munged", "--force", "-F", *(f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")),
                    f"--key-file={folder}/key", f"--socket={folder}/munge.socket")
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}/sql", "--user=root", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
        self.daemon("mariadbd", "--no-defaults", f"--datadir={folder}/sql", f"--socket={folder}/sql.socket", "--user=root",
                    f"--pid-file={folder}/sql.pid", "--skip-networking", "--innodb-flush-log-at-trx-commit=0")
        self.wait_for("mariadb", "--no-defaults", "-u", "root", "-e", "CREATE DATABASE slurm")
        self.daemon("slurmdbd", "-D")
        self.wait_for("sacctmgr", "-i", "add", "cluster", "truth")
        self.daemon("slurmctld", "-D", "-i")
        for node in NODES:
            self.daemon("unshare", "--uts", "--mount", "sh", "-ec", f"hostname {node}; mount --bind hosts /etc/hosts; "
                        f"exec slurmd -D -N {node}", name=f"slurmd-{node}")
        self.wait_for("sh", "-c", f"test $(sinfo -h -N -t idle -o %T | wc -l) = {len(NODES)}")

    def write(self, name, data, mode=0o600):
        (self.folder / name).write_bytes(data)
        (self.folder / name).chmod(mode)

    def daemon(self, *command, name=None):
        log = self.folder / f"{name or command[0]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT)
        self.daemons.append((log, process))

    def wait_for(self, *command):
        """Repeats a command until it succeeds."""
        deadline = time.monotonic() + DEADLINE_SECONDS / 2
        while True:
            done = subprocess.run(command, cwd=self.folder, env=self.environment, check=False, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=DEADLINE_SECONDS)
            if done.returncode == 0:
                return
            for log, process in self.daemons:
                if process.poll() is not None:
                    pytest.fail(f"{log.stem} exited: {log.read_text(errors='replace')[-2000:]}")
            if time.monotonic() > deadline:
                pytest.fail(f"{' '.join(command)}: {done.stdout}{done.stderr}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"{log.stem}: {log.read_text(errors='replace')[-1500:]}" for log, _ in self.daemons)

    def run(self, *command, folder=None, status=0, **options):
        """Runs a command as the user. Returns its output."""
        done = subprocess.run([str(word) for word in command], cwd=folder or self.folder, env=self.environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_SECONDS, **options)
        assert status is None or done.returncode == status, f"{done}\n{self.logs()}"
        return done.stdout

    def srun(self, *command, **options):
        return self.run("srun", *command, **options)

    def submit(self, folder, script, *options):
        """Submits a batch script, from the folder. Returns the job number."""
        (folder / "job.sh").write_text(f"#!/bin/sh\n{script}")
        return self.run("sbatch", "--parsable", *options, "job.sh", folder=folder).strip()

    def sacct(self, job, *fields, elements=()):
        """Returns the steps of a job as {step: fields}, once the database contains the end of
        all steps; for an array, returns its elements."""
        deadline = time.monotonic() + DEADLINE_SECONDS / 2
        names = ("JobID", "State", "End", *fields)
        jobs = {f"{job}_{element}" for element in elements} or {job}
        while True:
            lines = self.run("sacct", "-n", "-P", "--units=K", "-j", job, f"--format={','.join(names)}")
            rows = {line.split("|")[0]: dict(zip(names, line.split("|"))) for line in lines.splitlines()}
            if jobs <= rows.keys() and all(row["End"] != "Unknown" for row in rows.values()):
                return rows
            assert time.monotonic() < deadline, f"{lines}\n{self.logs()}"
            time.sleep(0.1)

    def stop(self):
        """Ends the jobs and the daemons, and removes the daemons' cgroups."""
        subprocess.run(["scancel", "--full", "--me"], env=self.environment, check=False, capture_output=True,
                       timeout=DEADLINE_SECONDS)
        for log, process in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for node in NODES if self.cgroups else ():
            for top in CGROUPS.glob(f"*/slurm_{node}"):
                for path, _, _ in os.walk(top, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(path)


@contextlib.contextmanager
def cluster():
    """Starts a cluster in a folder that every user can read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-"))  # short: the path of a socket has 107 characters
    folder.chmod(0o755)
    one = Cluster(folder)
    try:
        shutil.copy(BINARY, folder)
        one.start()
        yield one
    finally:
        one.stop()
        shutil.rmtree(folder)
