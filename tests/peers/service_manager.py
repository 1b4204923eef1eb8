"""A minimal service manager: it keeps listening sockets, passes them to the program at each start, and receives the program's
notifications (sd_listen_fds(3), sd_notify(3)).

Usage: service_manager.py NAMES PROGRAM ARGUMENT…, where NAMES are the sockets' names in their order (LISTEN_FDNAMES).
Reads lines from its input, each `start` or the name of a signal, and writes one JSON object a line. Exits at the end of its input."""

import json
import os
import select
import signal
import socket
import sys
import tempfile

names, command = sys.argv[1], sys.argv[2:]
sockets = []
for _ in names.split(":"):
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    sockets.append(listening)
folder = tempfile.TemporaryDirectory()
notified_at = os.path.join(folder.name, "notify")
notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notified.bind(notified_at)
child_ended, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
signal.signal(signal.SIGCHLD, lambda *_: None)


def report(**event):
    print(json.dumps(event), flush=True)


def start():
    child = os.fork()
    if child:
        return child
    try:
        # Moves the sockets to high numbers first: their current numbers may be 3 or higher.
        aside = [os.dup2(one.fileno(), 100 + index) for index, one in enumerate(sockets)]
        for index, number in enumerate(aside):
            os.dup2(number, 3 + index)
        os.closerange(3 + len(sockets), 200)
        environment = dict(os.environ, LISTEN_FDS=str(len(sockets)), LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES=names)
        environment.update(NOTIFY_SOCKET=notified_at, WATCHDOG_USEC="1000000", WATCHDOG_PID=str(os.getpid()), NO_COLOR="1")
        os.execve(command[0], command, environment)
    finally:
        os._exit(127)


report(ports={name: one.getsockname()[1] for name, one in zip(names.split(":"), sockets)})
child, waiting = None, b""
while True:
    for ready in select.select([0, notified, child_ended], [], [])[0]:
        if ready is notified:
            fields = dict(line.split("=", 1) for line in notified.recv(65536).decode().splitlines())
            report(notified=fields)
        elif ready == child_ended:
            os.read(child_ended, 64)
            while child:
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended:
                    break
                child = None
                report(exited=os.waitstatus_to_exitcode(status))
        else:
            text = os.read(0, 4096)
            if not text:
                if child:
                    os.kill(child, signal.SIGKILL)
                sys.exit()
            *lines, waiting = (waiting + text).split(b"\n")
            for line in lines:
                if line == b"start":
                    child = start()
                elif child:
                    os.kill(child, getattr(signal, line.decode()))
