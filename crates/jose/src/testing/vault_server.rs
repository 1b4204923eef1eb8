//! A real Vault server (OpenBao's `bao`, or `vault`) with a Transit engine, over TLS, for as long
//! as a test runs.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use openidconnect::HttpRequest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::block_on::block_on_thread;
use passerelle_egress::safe_http_client::{AllowedSchemes, CallLimits, SafeHttpClient, TlsOptions};
use passerelle_protocol::testing::skipped::skip_test;

/// A server in memory.
pub struct VaultServer {
    process: Child,
    folder: TempDir,
    port: u16,
    /// Its root token.
    pub token: String,
}

impl VaultServer {
    /// Starts `$VAULT_BIN`, else `bao`, else `vault`; `None`, with a line on stderr, without one.
    ///
    /// # Panics
    /// If it is missing although `REQUIRE_VAULT` is set.
    pub fn start() -> Option<Self> {
        let named = std::env::var("VAULT_BIN").ok();
        let programs = named.map_or_else(|| vec!["bao".into(), "vault".into()], |name| vec![name]);
        let is_there = |program: &String| Command::new(program).arg("version").output().is_ok();
        let Some(program) = programs.into_iter().find(is_there) else {
            skip_test("OpenBao or Vault (VAULT_BIN, or bao or vault in PATH)", "REQUIRE_VAULT");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let token = "root-of-a-test".to_owned();
        let process = Command::new(program)
            .args(["server", "-dev-tls", "-dev-no-store-token"])
            .arg(format!("-dev-root-token-id={token}"))
            .arg(format!("-dev-listen-address=127.0.0.1:{port}"))
            .arg(format!("-dev-tls-cert-dir={}", folder.path().display()))
            .env("HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, folder, port, token };
        let began = Instant::now();
        let engine = json!({ "type": "transit" });
        while server.send(Method::POST, "sys/mounts/transit", &engine) != Some(204) {
            assert!(began.elapsed() < Duration::from_secs(30), "the Vault server does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    /// Returns its address.
    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Returns the certificate of its authority, in PEM.
    ///
    /// # Panics
    /// If the server has not written it.
    pub fn ca(&self) -> Arc<str> {
        let files = ["vault-ca.pem", "bao-ca.pem"].map(|name| self.folder.path().join(name));
        let file = files.into_iter().find(|file| file.exists()).expect("no certificate");
        fs::read_to_string(file).unwrap().into()
    }

    /// Removes the engine with all keys, and creates an empty one.
    ///
    /// # Panics
    /// If the server refuses that.
    pub fn delete_keys(&self) {
        let engine = json!({ "type": "transit" });
        assert_eq!(self.send(Method::DELETE, "sys/mounts/transit", &Value::Null), Some(204));
        assert_eq!(self.send(Method::POST, "sys/mounts/transit", &engine), Some(204));
    }

    /// Seals it.
    ///
    /// # Panics
    /// If the server refuses that.
    pub fn seal(&self) {
        assert_eq!(self.send(Method::POST, "sys/seal", &Value::Null), Some(204));
    }

    /// Calls its interface; returns the status, or `None` if it is not reached.
    fn send(&self, method: Method, path: &str, body: &Value) -> Option<u16> {
        let ca = ["vault-ca.pem", "bao-ca.pem"].map(|name| self.folder.path().join(name));
        let ca = ca.iter().find_map(|file| fs::read_to_string(file).ok())?;
        let tls = TlsOptions { ca: Some(&ca), client_identity: None };
        let hosts = ["127.0.0.1".to_owned()];
        let limits = CallLimits::DEFAULT;
        let http = SafeHttpClient::with_tls(AllowedSchemes::HttpsOnly, &hosts, limits, tls).ok()?;
        let mut request = HttpRequest::new(body.to_string().into_bytes());
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}/v1/{path}", self.address()).parse().unwrap();
        request.headers_mut().insert("x-vault-token", self.token.parse().unwrap());
        let response = block_on_thread(http.send(request)).unwrap().ok()?;
        Some(response.status().as_u16())
    }
}

impl Drop for VaultServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}
