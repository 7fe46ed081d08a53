# SPDX-License-Identifier: Apache-2.0
"""Builds the files that the machine boots: Debian's own kernel, an initramfs that finds the disk, and the disk.

Nothing is installed on the host: the kernel's package is downloaded and the few required files are extracted. The
initramfs contains busybox and the modules for the disk; everything else is on the disk, an ext4 file system, because
files on a tmpfs would count as memory of the job instead of page cache.
"""
import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile

META_PACKAGES = {"x86_64": "linux-image-amd64", "aarch64": "linux-image-arm64"}
MODULES = ["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"]
# Files to extract: the kernel, and the modules that a disk and ext4 may need.
KERNEL_FILES = re.compile(r"boot/vmlinuz|modules\.builtin$|kernel/drivers/virtio/.*\.ko$|"
                          r"kernel/(drivers/block|fs|fs/ext4|fs/jbd2|lib|crypto)/[^/]*\.ko$")
DISK_BYTES = 6 << 30  # sparse


def call(*command, **options):
    """Returns the output of a command that must succeed."""
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def fetch_kernel(folder):
    """Unpacks the kernel of Debian's meta package into `folder`, once for each version, and returns
    the folder of that version."""
    for may_retry in (True, False):
        try:
            package = re.search(r"Depends: (linux-image-\S+)",
                                call("apt-cache", "depends", META_PACKAGES[os.uname().machine]))[1]
            unpacked = folder / package
            if not (unpacked / "done").exists():
                unpack_kernel(package, unpacked)
            return unpacked
        except (subprocess.CalledProcessError, TypeError):
            # There is no package index yet, or it names a version that the archive no longer has.
            if not may_retry:
                raise SystemExit("vm: Debian's kernel cannot be downloaded") from None
            call("apt-get", "update", "-qq")
    return None


def unpack_kernel(package, unpacked):
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    call("apt-get", "download", "-qq", package, cwd=unpacked, stderr=subprocess.DEVNULL)
    archive = next(unpacked.glob("*.deb"))
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as pipe:
        with tarfile.open(fileobj=pipe.stdout, mode="r|") as tar:
            for member in tar:
                if member.isfile() and KERNEL_FILES.search(member.name):
                    tar.extract(member, unpacked)
    archive.unlink()
    (unpacked / "done").touch()


def module_order(kernel):
    """Returns the module files in load order. A module without a file is built into the kernel."""
    files = {path.stem.replace("-", "_"): path for path in kernel.rglob("*.ko")}
    builtin = {pathlib.Path(line).stem.replace("-", "_") for path in
               kernel.rglob("modules.builtin") for line in path.read_text().splitlines()}
    order = []

    def visit(name):
        if name not in files:
            if name not in builtin:
                raise SystemExit(f"vm: the kernel has no module '{name}'")
            return
        if files[name] in order:
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())
        for other in (depends[1].decode() if depends else "").split(","):
            if other:
                visit(other.replace("-", "_"))
        order.append(files[name])

    for name in MODULES:
        visit(name)
    return order


def cpio_entry(number, name, mode, data=b"", device=(0, 0)):
    """Returns one file of a cpio archive in the "newc" format of the kernel's initramfs."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
    entry = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    entry += b"\0" * (-len(entry) % 4) + data
    return entry + b"\0" * (-len(data) % 4)


def make_initramfs(target, script, kernel):
    """Returns a folder tree with busybox, the modules in load order and the script as /init."""
    modules = module_order(kernel)
    files = [(name, stat.S_IFDIR | 0o755, b"") for name in
             ("bin", "dev", "proc", "sys", "modules", "disk")]
    files += [("bin/busybox", stat.S_IFREG | 0o755, pathlib.Path("/bin/busybox").read_bytes()),
              ("init", stat.S_IFREG | 0o755, script.read_bytes())]
    files += [(f"modules/{i:02}-{path.name}", stat.S_IFREG | 0o644, path.read_bytes())
              for i, path in enumerate(modules)]
    archive = b"".join(cpio_entry(i + 1, *file) for i, file in enumerate(files))
    archive += cpio_entry(len(files) + 1, "dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive += cpio_entry(0, "TRAILER!!!", 0)
    target.write_bytes(gzip.compress(archive, 1))


def libraries(binary):
    """Returns the files that the loader maps for a program, including the loader."""
    listed = subprocess.run(["ldd", binary], text=True, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout
    return re.findall(r"(?:=> |^\s+)(/\S+)", listed, re.M)


def add_program(tree, source, path):
    """Copies a program and its libraries into a folder that stands for "/"."""
    for origin, name in [(source, path), *((library, library) for library in libraries(source))]:
        target = tree / str(name).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(origin), target)


def make_tree(tree, init):
    """Creates the contents of the disk except the programs: a root file system with busybox, and
    an init."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("bin", "sbin", "dev", "proc", "sys", "etc", "tmp", "work"):
        (tree / name).mkdir(parents=True)
    add_program(tree, "/bin/busybox", "/bin/busybox")
    add_program(tree, shutil.which("setpriv"), "/bin/setpriv")
    shutil.copy(init, tree / "sbin/init")
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/work:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")


def make_disk(target, tree):
    """Creates an ext4 file system in a sparse file, filled from a folder; all files belong to
    root."""
    target.unlink(missing_ok=True)
    with open(target, "wb") as file:
        file.truncate(DISK_BYTES)
    call("mke2fs", "-q", "-F", "-t", "ext4", "-N", 8192, "-m", 0, "-E",
         "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0", "-d", tree, target,
         stderr=subprocess.DEVNULL)
