//! Real servers (Debian's `redis-server`) on free ports and sockets, each with its own folder, for
//! the duration of a test.
//!
//! The servers end with the test's process, even if it crashes: a shell reads its standard input,
//! which ends with that process, and then kills the server.

use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use tempfile::TempDir;

pub const PASSWORD: &str = "of the tests' servers";

/// Shell script that kills the server when its own standard input ends. It does not `exec` the
/// server, because it must outlive it.
const KEEPER: &str = r#""$@" & pid=$!; read -r _; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null"#;

pub struct Server {
    keeper: Child,
    input: Option<ChildStdin>,
    pub folder: TempDir,
    pub port: u16,
    program: &'static str,
    arguments: Vec<String>,
}

impl Server {
    /// Starts a server with a password, on a port and a socket, without persistence.
    pub fn start(more: &[&str]) -> Self {
        Self::with("redis-server", &[&["--requirepass", PASSWORD], more].concat())
    }

    pub fn with(program: &'static str, more: &[&str]) -> Self {
        // Another program may take the port before the server does: then try another port.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let port = free_port();
            let socket = folder.path().join("redis.sock");
            let port_text = port.to_string();
            let mut arguments: Vec<String> =
                ["--port", &port_text, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
                    .iter()
                    .map(ToString::to_string)
                    .collect();
            arguments.extend(["--dir".into(), folder.path().display().to_string()]);
            arguments.extend(["--unixsocket".into(), socket.display().to_string()]);
            arguments.extend(more.iter().map(ToString::to_string));
            if let Some((keeper, input)) = launch(program, &arguments) {
                return Self { keeper, input: Some(input), folder, port, program, arguments };
            }
        }
        panic!("{program} does not start, five times in a row");
    }

    /// Starts a server with this configuration file, which the server may rewrite.
    pub fn for_file(
        program: &'static str,
        port: u16,
        folder: TempDir,
        text: &str,
        mode: &[&str],
    ) -> Self {
        let path = folder.path().join("server.conf");
        std::fs::write(&path, text).unwrap();
        let mut arguments = vec![path.display().to_string()];
        arguments.extend(mode.iter().map(ToString::to_string));
        let (keeper, input) =
            launch(program, &arguments).unwrap_or_else(|| panic!("{program} does not start"));
        Self { keeper, input: Some(input), folder, port, program, arguments }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Kills the server at once, like a failure of its machine.
    pub fn kill(&mut self) {
        drop(self.input.take());
        self.keeper.wait().unwrap();
    }

    /// Starts the server again at the same address, without its records.
    pub fn restart(&mut self) {
        let _gone = std::fs::remove_file(self.socket());
        let (keeper, input) = launch(self.program, &self.arguments).expect("it starts again");
        (self.keeper, self.input) = (keeper, Some(input));
    }

    /// Runs `redis-cli` with the server's password, and returns its output.
    pub fn cli(&self, arguments: &[&str]) -> Vec<u8> {
        cli(self.port, arguments, None)
    }

    pub fn cli_text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.cli(arguments)).unwrap().trim_ascii_end().to_owned()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Vec<u8> {
        let mut bytes = self.cli(&["GET", key]);
        assert_eq!(bytes.pop(), Some(b'\n'));
        bytes
    }

    pub fn set(&self, key: &str, bytes: &[u8]) {
        assert_eq!(cli(self.port, &["-x", "SET", key], Some(bytes)), b"OK\n");
    }

    pub fn keys(&self) -> Vec<String> {
        let text = self.cli_text(&["KEYS", "*"]);
        let mut keys: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
        // The server's order changes with the size of its table.
        keys.sort_unstable();
        keys
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.keeper.wait();
    }
}

pub fn cli(port: u16, arguments: &[&str], input: Option<&[u8]>) -> Vec<u8> {
    let mut child = Command::new("redis-cli")
        .args(["-p", &port.to_string(), "--no-auth-warning"])
        .args(arguments)
        .env("REDISCLI_AUTH", PASSWORD)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-cli is installed, with Debian's redis-tools");
    if let Some(input) = input {
        child.stdin.take().unwrap().write_all(input).unwrap();
    }
    child.wait_with_output().unwrap().stdout
}

/// Starts a server and waits until it is ready. Returns `None` if it fails.
fn launch(program: &str, arguments: &[String]) -> Option<(Child, ChildStdin)> {
    let is_there = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status();
    assert!(
        is_there.is_ok_and(|status| status.success()),
        "{program} is missing: apt-get install redis-server redis-sentinel"
    );
    let mut keeper = Command::new("sh")
        .args(["-c", KEEPER, "keeper", program])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = keeper.stdin.take().unwrap();
    let said = BufReader::new(keeper.stdout.take().unwrap());
    let (ready, is_ready) = mpsc::channel();
    // Reads the later output too, because the server blocks if nothing reads it.
    std::thread::spawn(move || {
        for line in said.lines().map_while(Result::ok) {
            if line.contains("Ready to accept connections") || line.contains("Sentinel ID is") {
                let _unread = ready.send(true);
            } else if line.contains("Failed listening")
                || line.contains("FATAL CONFIG")
                || line.contains("Address already in use")
            {
                eprintln!("{line}");
                let _unread = ready.send(false);
            }
        }
    });
    if is_ready.recv_timeout(Duration::from_secs(20)) == Ok(true) {
        return Some((keeper, input));
    }
    drop(input);
    let _ended = keeper.wait();
    None
}

/// Returns a free port of loopback that this process has not received before. It is below the range
/// of ports for outgoing connections, so that none of these takes it before the server does.
pub fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(()) >> 1));
    loop {
        let port = 11_000 + (NEXT.fetch_add(1, Ordering::Relaxed) % 21_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Calls `ask` until it returns a value, for example until a failover has finished. Fails the test
/// after half a minute.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = std::time::Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "after half a minute still not: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes a test certificate authority (`ca.crt`), and a certificate for 127.0.0.1 and localhost
/// with its key (`server.crt`, `server.key`).
pub fn certificates(folder: &Path) {
    let run = |arguments: &[&str]| {
        let made = Command::new("openssl")
            .current_dir(folder)
            .args(arguments)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    let ca = ["req", "-x509", "-subj", "/CN=Throwaway", "-keyout", "ca.key", "-out", "ca.crt"];
    run(&[&ca[..], &curve].concat());
    let request = ["req", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
    run(&[&request[..], &curve[..5]].concat());
    std::fs::write(
        folder.join("names"),
        "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n",
    )
    .unwrap();
    run(&[
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "names",
        "-out",
        "server.crt",
    ]);
}
