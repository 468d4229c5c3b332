"""The loads: real programs as distributions ship them, doing typical work.

Each is a context manager with .pids, the roots of the process trees to evaluate (a server, but not
its client). Servers listen on loopback or on a socket in their own folder. Leaving the context
kills each process of the load. Servers started by packages are not touched.
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
ROOT = os.path.dirname(os.path.dirname(HERE))

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
UNTIL_KILLED_SECONDS = 3600


class Load:
    """Base class of all loads: owns a folder and processes, and ends them."""

    name = ""
    needs = ()   # commands
    least = 99.5  # goal: percent of complete stacks
    warm_seconds = 1.5

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.pids = set()
        self.cgroup = None  # cgroup of the processes to evaluate, for --cgroup; None: no cgroup v2

    def missing(self):
        lacking = [command for command in self.needs if not shutil.which(command)]
        return f"{', '.join(lacking)} not installed" if lacking else None

    def begin(self):
        raise NotImplementedError

    def start(self, command, judged=False, **options):
        if judged and self.cgroup:
            command = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self.cgroup, *command]
        process = subprocess.Popen(command, **{**QUIET, **options}, start_new_session=True)
        self.processes.append(process)
        if judged:
            self.pids.add(process.pid)
        return process

    def __enter__(self):
        try:
            self.cgroup = new_cgroup()
            self.begin()
            time.sleep(self.warm_seconds)
            for process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end_session(process)
        if self.cgroup:
            remove_cgroup(self.cgroup)


def end_session(process):
    """Sends SIGTERM to the process, then kills the rest of its session, which has only our
    processes."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def new_cgroup():
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        trees = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    if not trees:
        return None
    folder = f"{trees[0]}/stook-bench-{os.getpid()}"
    os.mkdir(folder)
    return folder


def read_ascii(path):
    with open(path, encoding="ascii") as stream:
        return stream.read()


def remove_cgroup(folder):
    """Removes the cgroup and kills what is left in it. Exited processes leave it a moment later."""
    for _ in range(50):
        try:
            for pid in read_ascii(f"{folder}/cgroup.procs").split():
                os.kill(int(pid), signal.SIGKILL)
            return os.rmdir(folder)
        except OSError:
            time.sleep(0.1)
    return print(f"bench-unwind: could not remove {folder}", file=sys.stderr)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, seconds=10):
    end = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


# --- servers ----------------------------------------------------------------------------------


class Redis(Load):
    name = "redis"
    needs = ("redis-server", "redis-benchmark")
    commands = "set,get,incr,lpush,rpop,sadd,hset,zadd,zpopmin,lrange_100,mset"

    def start_server(self, pinned=()):
        self.port = free_port()
        server = self.start([*pinned, "redis-server", "--port", str(self.port),
                             "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                             "--daemonize", "no", "--dir", self.folder], judged=True)
        wait_for_port(self.port)
        return server

    def begin(self):
        self.start_server()
        self.start(["redis-benchmark", "-p", str(self.port), "-c", "20", "-n", "50000",
                    "-r", "100000", "-d", "64", "-t", self.commands, "-q", "-l"])


class Nginx(Load):
    """Serves files and a directory listing, and compresses."""

    name = "nginx"
    needs = ("nginx", "wrk")

    def begin(self):
        port = free_port()
        os.makedirs(f"{self.folder}/html/list")
        for number in range(30):
            with open(f"{self.folder}/html/list/{number}.txt", "w", encoding="ascii") as page:
                page.write("".join(f"line {i} of {number}\n" for i in range(300)))
        with open(f"{self.folder}/nginx.conf", "w", encoding="ascii") as config:
            config.write(
                f"user root; daemon off; worker_processes 1; pid {self.folder}/pid;\n"
                "error_log stderr crit; events { worker_connections 256; }\n"
                f"http {{ access_log {self.folder}/access.log; gzip on; gzip_types *;\n"
                + "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"server {{ listen 127.0.0.1:{port}; root {self.folder}/html;"
                " autoindex on; } }\n")
        script = f"{self.folder}/paths.lua"
        with open(script, "w", encoding="ascii") as lua:
            lua.write('local n = 0\nrequest = function()\n\tn = n + 1\n'
                      '\tlocal path = n % 7 == 0 and "/list/" or "/list/" .. n % 30 .. ".txt"\n'
                      '\treturn wrk.format("GET", path, {["Accept-Encoding"] = '
                      'n % 3 == 0 and "gzip" or "identity"})\nend\n')
        self.start(["nginx", "-c", f"{self.folder}/nginx.conf", "-p", self.folder], judged=True)
        wait_for_port(port)
        self.start(["wrk", "-t", "1", "-c", "20", "-d", f"{UNTIL_KILLED_SECONDS}s", "-s", script,
                    f"http://127.0.0.1:{port}/"])


def postgres_folder():
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    return os.path.dirname(max(found, key=os.path.getmtime)) if found else None


class Postgres(Load):
    """The server refuses to run as root and runs as another user."""

    name = "postgres"
    needs = ("pgbench", "setpriv")
    as_postgres = ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups")

    def missing(self):
        return super().missing() or (None if postgres_folder() else "no PostgreSQL server")

    def begin(self):
        bin_folder, data = postgres_folder(), f"{self.folder}/data"
        shutil.chown(self.folder, "postgres", "postgres")
        once = {**QUIET, "cwd": "/", "check": True}
        subprocess.run([*self.as_postgres, f"{bin_folder}/initdb", "-D", data, "-A", "trust",
                        "--no-sync"], **once)
        self.start([*self.as_postgres, f"{bin_folder}/postgres", "-D", data,
                    "-c", "listen_addresses=", "-c", "fsync=off",
                    "-c", f"unix_socket_directories={self.folder}"], judged=True, cwd="/")
        end = time.monotonic() + 20
        while not os.path.exists(f"{self.folder}/.s.PGSQL.5432") and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1)
        bench = [*self.as_postgres, "pgbench", "-h", self.folder]
        subprocess.run([*bench, "-q", "-i", "-s", "3", "postgres"], **once)
        self.start([*bench, "-n", "-c", "4", "-j", "1", "-T", str(UNTIL_KILLED_SECONDS),
                    "-b", "tpcb-like@1", "-b", "select-only@3", "postgres"], cwd="/")

    def __exit__(self, *_):
        for process in self.processes[:1]:  # SIGTERM, a smart shutdown, would wait for the client
            process.send_signal(signal.SIGINT)
        super().__exit__()


class Mariadb(Load):
    name = "mariadb"
    needs = ("mariadbd", "mariadb-install-db", "mariadb-slap")

    def begin(self):
        data, listener = f"{self.folder}/data", f"{self.folder}/socket"
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root",
                        "--auth-root-authentication-method=normal", "--skip-test-db"],
                       **QUIET, check=True)
        self.start(["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={listener}",
                    "--skip-networking", "--user=root", "--innodb-flush-log-at-trx-commit=0"],
                   judged=True)
        end = time.monotonic() + 30
        while not os.path.exists(listener) and time.monotonic() < end:
            time.sleep(0.1)
        self.start(["mariadb-slap", "--no-defaults", f"--socket={listener}", "--user=root",
                    "--auto-generate-sql", "--auto-generate-sql-load-type=mixed",
                    "--concurrency=4", "--number-of-queries=100000000"])


class Memcached(Load):
    name = "memcached"
    needs = ("memcached",)

    def begin(self):
        port = free_port()
        self.start(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0"],
                   judged=True)
        wait_for_port(port)
        self.start([sys.executable, f"{PROGRAMS}/ask_memcached.py", str(port)])


# --- interpreters and compiled programs -------------------------------------------------------


class Python(Load):
    """Debian's python3, not another one on PATH."""

    name = "python3"
    needs = ("/usr/bin/python3",)

    def begin(self):
        self.start(["/usr/bin/python3", f"{PROGRAMS}/busy.py"], judged=True)


class PythonPerf(Load):
    """Python with -X perf, from PATH or pyenv."""

    version, option = "3.12", "perf"

    def python(self):
        command = f"python{self.version}"
        pyenv = os.path.expanduser(os.environ.get("PYENV_ROOT", "~/.pyenv"))
        for path in [*glob.glob(f"{pyenv}/versions/{self.version}.*/bin/{command}"),
                     shutil.which(command)]:
            if path and not subprocess.run([path, "-c", ""], **QUIET, check=False).returncode:
                return path
        return None

    def missing(self):
        return None if self.python() else f"python{self.version} not installed"

    def begin(self):
        self.start([self.python(), "-X", self.option, f"{PROGRAMS}/busy.py"], judged=True,
                   env={**os.environ, "TMPDIR": "/tmp"})


class Python312(PythonPerf):
    name = "python3.12-perf"


class Python313(PythonPerf):
    name, version = "python3.13-perf", "3.13"


class Python313Jit(PythonPerf):
    name, version, option = "python3.13-perf-jit", "3.13", "perf_jit"


class Node(Load):
    name = "node"
    needs = ("node",)

    def begin(self):
        self.start(["node", "--perf-basic-prof", "--interpreted-frames-native-stack",
                    f"{PROGRAMS}/busy.js"], judged=True)


class Java(Load):
    name = "java"
    needs = ("java", "javac")
    program = "Busy"

    def begin(self):
        subprocess.run(["javac", "-d", self.folder, f"{PROGRAMS}/{self.program}.java"],
                       stdin=subprocess.DEVNULL, check=True)
        self.start(["java", "-XX:+PreserveFramePointer", "-cp", self.folder, self.program],
                   judged=True)


class WaitingJava(Java):
    name, program = "java-waiting", "Waiting"


class PythonServer(Load):
    """A thread for each connection."""

    name = "python3-server"
    needs = ("/usr/bin/python3", "wrk")

    def begin(self):
        port = free_port()
        with open(f"{self.folder}/page.html", "w", encoding="ascii") as page:
            page.write("page\n" * 200)
        self.start(["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1",
                    "--directory", self.folder, str(port)], judged=True)
        wait_for_port(port)
        self.start(["wrk", "-t", "1", "-c", "4", "-d", f"{UNTIL_KILLED_SECONDS}s",
                    f"http://127.0.0.1:{port}/page.html"])


class Php(Load):
    """PHP without its JIT compiler; pcre2 still compiles regular expressions."""

    name = "php"
    needs = ("php",)

    def begin(self):
        self.start(["php", f"{PROGRAMS}/busy.php"], judged=True)


class Perl(Load):
    name = "perl"
    needs = ("/usr/bin/perl",)

    def begin(self):
        self.start(["/usr/bin/perl", f"{PROGRAMS}/busy.pl"], judged=True)


class Sqlite(Load):
    name = "sqlite3"
    needs = ("/usr/bin/sqlite3",)
    rounds = 20000

    def begin(self):
        path = f"{self.folder}/rounds.sql"
        with open(path, "w", encoding="ascii") as rounds:
            rounds.write(f".read {PROGRAMS}/busy.sql\n" * self.rounds)
        with open(path, "rb") as rounds:
            self.start(["/usr/bin/sqlite3", ":memory:"], judged=True, stdin=rounds)


class Cxx(Load):
    name = "c++"
    needs = ("g++",)

    def begin(self):
        subprocess.run(["g++", "-std=c++17", "-O2", "-o", f"{self.folder}/busy-c++",
                        f"{PROGRAMS}/busy.cc"], stdin=subprocess.DEVNULL, check=True)
        self.start([f"{self.folder}/busy-c++"], judged=True)


class Musl(Load):
    """A program linked with musl, as in Alpine images: assembly code of its libc has no unwind
    information."""

    name = "musl"
    needs = ("musl-gcc",)
    flags = []

    def program(self):
        program = f"{self.folder}/busy-{self.name}"
        subprocess.run(["musl-gcc", "-O2", *self.flags, "-o", program, f"{PROGRAMS}/busy.c"],
                       stdin=subprocess.DEVNULL, check=True)
        return program

    def begin(self):
        self.start([self.program()], judged=True)


class Container(Musl):
    """A static program in its own namespaces, with its own root."""

    name = "container"
    needs = ("musl-gcc", "unshare", "chroot")
    flags = ["-static"]

    def begin(self):
        program = self.program()
        self.start(["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork",
                    "chroot", self.folder, "/" + os.path.basename(program)], judged=True)


class Go(Load):
    name = "go"
    needs = ("go",)
    flags = []

    def begin(self):
        subprocess.run(["go", "build", *self.flags, "-o", f"{self.folder}/busy-go",
                        f"{PROGRAMS}/busy.go"],
                       env={**os.environ, "GOCACHE": f"{self.folder}/cache", "GO111MODULE": "off"},
                       stdin=subprocess.DEVNULL, check=True)
        self.start([f"{self.folder}/busy-go"], judged=True)


class GoPie(Go):
    name = "go-pie"
    flags = ["-buildmode=pie"]


class GoStripped(Go):
    name = "go-stripped"
    flags = ["-ldflags=-s -w"]


class GoStrippedPie(Go):
    name = "go-stripped-pie"
    flags = ["-buildmode=pie", "-ldflags=-s -w"]


class Rust(Load):
    """A Rust program with the flags of cargo build --release."""

    name = "rust"
    needs = ("rustc",)
    flags = []

    def begin(self):
        program = f"{self.folder}/busy-{self.name}"
        subprocess.run(["rustc", "--edition", "2021", "-C", "opt-level=3", *self.flags,
                        "-o", program, f"{PROGRAMS}/busy.rs"],
                       stdin=subprocess.DEVNULL, check=True)
        self.start([program], judged=True)


class RustAbort(Rust):
    name = "rust-abort"
    flags = ["-C", "panic=abort"]


# --- many processes ---------------------------------------------------------------------------


class Compile(Load):
    """Compiles a copy of stook's sources from scratch, repeatedly."""

    name = "compile"
    needs = ("make", "gcc")
    least = 98.0

    def begin(self):
        tree = f"{self.folder}/tree"
        for part in ("src", "bpf", "vmlinux"):
            shutil.copytree(f"{ROOT}/{part}", f"{tree}/{part}")
        with open(f"{tree}/Makefile", "w", encoding="ascii") as makefile:
            makefile.write(
                "SOURCES := $(filter-out src/kernel/% src/collect/% src/cmd/%,$(shell find src -name '*.c'))\n"
                "all: $(SOURCES:.c=.o)\n"
                "%.o: %.c\n\tgcc -std=gnu11 -O2 -g -w -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64"
                " -Isrc -I. -isystem /usr/include/libiberty -c -o $@ $<\n")
        self.start(["sh", "-c", "while :; do make -s -k -j2; find . -name '*.o' -delete; done"],
                   judged=True, cwd=tree)


class ForkStorm(Load):
    """A shell that only starts programs that run for a millisecond."""

    name = "fork-storm"
    needs = ("bash",)

    def begin(self):
        self.start(["bash", "-c", "while :; do /bin/true; done"], judged=True)


class New(Load):
    """Processes that live 50 ms to 1 s. All their samples count, from the first one on."""

    name = "new"
    needs = ("/usr/bin/python3", "/usr/bin/perl", "/usr/bin/sqlite3", "/usr/bin/awk", "gcc")
    least = 98.0
    lives = (0.05, 1.0)

    def begin(self):
        self.log = f"{self.folder}/log"
        self.start([sys.executable, f"{PROGRAMS}/starter.py", self.log,
                    f"-I{ROOT}/src", "-D_GNU_SOURCE", f"{ROOT}/src/base/file/out_file.c"],
                   judged=True)

    def cpu_us(self):
        """Returns {pid: CPU time} of the processes that have exited and had no children."""
        with open(self.log, encoding="ascii") as lines:
            words = [line.split() for line in lines]
        return {int(w[0]): int(w[1]) for w in words if len(w) == 2}


# Programs of distributions, and compiler defaults: each has a goal.
COMPLETE = (Redis, Nginx, Postgres, Python, Perl, Sqlite, Go, Rust, RustAbort, Compile, New)
# Further programs that a new user may try.
TRIAL = (Mariadb, Memcached, Cxx, Musl, Container, GoPie, GoStripped, GoStrippedPie, Java, Node,
         Python312, Python313, Python313Jit, Php, ForkStorm)
# Programs that wait, for stacks of time off CPU.
BLOCKED = (Redis, Postgres, PythonServer, WaitingJava)
LOADS = {load.name: load for load in COMPLETE + TRIAL + BLOCKED}
