"""What `save` does to the file, to its folder, and to what is no regular file; processes are killed
while they save.
"""

import io
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import dovetail
from dovetail import load, save

KILLS = int(os.environ.get("DOVETAIL_KILLS", "3"))


def test_a_new_file_has_the_mode_that_new_files_have(tmp_path):
    (tmp_path / "touched").touch()
    save(1, tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "touched").stat().st_mode


def test_saving_never_changes_the_umask_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    save(1, tmp_path / "x")
    save(2, tmp_path / "x")
    assert load(tmp_path / "x") == 2


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "x"
    save(1, path)
    path.chmod(mode)
    before = path.stat()
    save(2, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.stat().st_ino != before.st_ino
    assert path.stat().st_mtime_ns >= before.st_mtime_ns


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="gives a file to another user")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "x"
    save(1, path)
    os.chown(path, 12345, 54321)
    save(2, path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_file_of_an_owner_that_cannot_be_given_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "x"
    save([1] * 1000, path)
    inode = path.stat().st_ino
    real = os.stat

    def another_owner(name, *rest, **options):
        found = list(real(name, *rest, **options))
        if str(name).endswith(".tmp"):
            found[4] += 1
        return os.stat_result(found)

    def refuse(*rest):
        raise PermissionError("not yours")

    monkeypatch.setattr(os, "stat", another_owner)
    monkeypatch.setattr(os, "chown", refuse)
    save(2, path)
    monkeypatch.undo()
    assert (load(path), path.stat().st_ino, os.listdir(tmp_path)) == (2, inode, ["x"])


def test_every_name_of_a_file_shows_what_is_saved(tmp_path):
    save([1] * 1000, tmp_path / "x")
    os.link(tmp_path / "x", tmp_path / "y")
    save(2, tmp_path / "x")
    assert load(tmp_path / "y") == 2
    assert (tmp_path / "x").stat().st_nlink == 2


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "folder").mkdir()
    save(1, tmp_path / "folder" / "x")
    (tmp_path / "link").symlink_to("folder/x")
    save(2, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "folder" / "x") == 2


def test_a_symbolic_link_to_nothing_makes_what_it_names(tmp_path):
    (tmp_path / "link").symlink_to("x")
    save(1, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "x") == 1


def test_a_device_stays_one():
    before = os.stat(os.devnull)
    save(dovetail.ones(1000), os.devnull)
    assert os.stat(os.devnull).st_rdev == before.st_rdev
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_named_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    loaded = []
    reader = threading.Thread(target=lambda: loaded.append(load(path)), daemon=True)
    reader.start()
    save({"x": dovetail.arange(100_000)}, path)
    reader.join(20)
    assert loaded[0]["x"].sum().item() == 4999950000
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_descriptor_of_a_pipe_is_written_to():
    read, write = os.pipe()
    save(1, f"/dev/fd/{write}")
    os.close(write)
    with open(read, "rb") as stream:
        assert load(stream) == 1


def test_a_socket_is_refused_and_stays(tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        with pytest.raises(OSError):
            save(1, path)
        assert stat.S_ISSOCK(os.stat(path).st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(1, tmp_path / "missing" / "x")
    with pytest.raises(FileNotFoundError):
        save(1, "")


def test_the_longest_name_can_be_saved_to(tmp_path):
    path = tmp_path / ("x" * 255)
    save(1, path)
    assert load(path) == 1


def test_the_new_name_is_made_lasting_after_the_bytes(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def seen_fsync(handle):
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        calls.append(kind)
        fsync(handle)

    def seen_replace(*names):
        calls.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    save(1, tmp_path / "x")
    assert calls == ["file", "replace", "folder"]


def test_a_folder_in_which_nothing_can_be_created_is_explained(tmp_path, monkeypatch):
    real = os.open

    def refuse(path, flags, *rest, **options):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *rest, **options)

    save(1, tmp_path / "x")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError) as caught:
        save(2, tmp_path / "x")
    assert "Save to a folder that can be written" in caught.value.__notes__[0]
    assert load(tmp_path / "x") == 1


class Slow(io.RawIOBase):
    """A file object that takes seven bytes at once."""

    def __init__(self):
        self.content = b""

    def writable(self):
        return True

    def write(self, data):
        self.content += bytes(data[:7])
        return len(data[:7])


def test_a_file_object_that_takes_less_than_it_is_given_gets_it_all():
    slow = Slow()
    save(dovetail.arange(100), slow)
    assert load(io.BytesIO(slow.content)).tolist() == list(range(100))


# Processes that are killed

SAVING = """
import sys, itertools, dovetail
for number in itertools.count(1):
    dovetail.save(dovetail.full((200_000,), number), sys.argv[1])
    if number == 1:
        print("ready", flush=True)
"""

WAITING = """
import os, sys, time, dovetail
fsync = os.fsync
def wait(handle):
    print("written", flush=True)
    sys.stdin.readline()
    os.fsync = fsync
    fsync(handle)
os.fsync = wait
dovetail.save("new", sys.argv[1])
"""


def started(program, path):
    """A process that runs the program, after it has said its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline()
    return process


def ended(process):
    process.stdin.close()
    process.stdout.close()
    return process.wait(30)


def remains(folder):
    return [name for name in os.listdir(folder) if name.startswith(".dovetail-save-")]


def test_a_killed_save_leaves_the_old_file_or_the_new_one_and_the_next_save_cleans_up(tmp_path):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "x"
    for _ in range(KILLS):
        process = started(SAVING, path)
        time.sleep(chance.uniform(0, 0.05))
        process.kill()
        ended(process)
        saved = load(path)
        assert saved.min().item() == saved.max().item() > 0
        assert len(remains(tmp_path)) <= 1
        save("next", tmp_path / "another")
        assert remains(tmp_path) == []
        assert load(path).tolist() == saved.tolist()


def test_a_save_killed_before_it_replaces_leaves_the_old_file_and_a_known_name(tmp_path):
    path = tmp_path / "x"
    save("old", path)
    process = started(WAITING, path)
    process.kill()
    ended(process)
    assert load(path) == "old"
    assert len(remains(tmp_path)) == 1
    save("next", path)
    assert os.listdir(tmp_path) == ["x"]


def test_the_temporary_file_of_a_living_process_is_left_alone(tmp_path):
    path = tmp_path / "x"
    process = started(WAITING, path)
    os.kill(process.pid, signal.SIGSTOP)
    save("other", tmp_path / "y")
    assert len(remains(tmp_path)) == 1
    os.kill(process.pid, signal.SIGCONT)
    process.stdin.write(b"\n")
    assert ended(process) == 0
    assert load(path) == "new"
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]


def test_other_files_of_the_folder_are_left_alone(tmp_path):
    names = [".dovetail-save-notes.tmp", "x.tmp", ".dovetail-save-0123456789abcdef.tmp.bak"]
    for name in names:
        (tmp_path / name).touch()
    folder = ".dovetail-save-0123456789abcdef.tmp"
    (tmp_path / folder).mkdir()
    link = ".dovetail-save-0123456789abcde0.tmp"
    (tmp_path / link).symlink_to("x.tmp")
    save(1, tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == sorted([*names, folder, link, "x"])


def test_a_file_that_another_save_makes_in_the_meantime_is_replaced(tmp_path, monkeypatch):
    real = os.path.realpath

    def made_in_the_meantime(path):
        (tmp_path / "x").write_bytes(b"of another save")
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os.path, "realpath", made_in_the_meantime)
        save([1], tmp_path / "x")
    assert load(tmp_path / "x") == [1]


def test_many_threads_that_save_into_one_folder_leave_whole_files(tmp_path):
    failures = []

    def work(number):
        try:
            for trial in range(20):
                save([number] * (trial + 1), tmp_path / f"x{number % 3}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(os.listdir(tmp_path)) == ["x0", "x1", "x2"]
    for number in range(3):
        assert len(load(tmp_path / f"x{number}")) == 20


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("format", ["safetensors", "torch"])
def test_a_full_disk_is_an_error_of_the_save_also_into_an_open_file(format: str) -> None:
    stream = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        dovetail.save(dovetail.ones(3), stream, format=format)
    with suppress(OSError):
        stream.close()
