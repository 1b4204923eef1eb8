//! Tokens of SoftHSM2 behind a module that injects faults.
//!
//! A process can initialize SoftHSM once, so its tests share one installation, and each has a token
//! and a module of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use passerelle_protocol::testing::skipped::skip_test;

/// PIN of every token.
pub const PIN: &str = "73-correct-horse";

/// Where distributions install SoftHSM.
const MODULES: [&str; 4] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
];
/// Tokens of one process. SoftHSM sees those that exist when it is initialized.
const TOKENS: usize = 24;

struct Installation {
    folder: TempDir,
    module: &'static str,
    taken: AtomicUsize,
}

static INSTALLATION: LazyLock<Option<Installation>> = LazyLock::new(Installation::new);

/// Returns the path of the installed library, if any.
pub fn installed_module() -> Option<&'static str> {
    MODULES.into_iter().find(|path| Path::new(path).exists())
}

/// Names the running test as skipped.
///
/// # Panics
/// If `REQUIRE_SOFTHSM` is set, which `tests/run` does where SoftHSM is installed.
pub fn skip_without_softhsm() {
    skip_test("softhsm2 (apt-get install softhsm2)", "REQUIRE_SOFTHSM");
}

impl Installation {
    fn new() -> Option<Self> {
        let module = installed_module()?;
        Command::new("softhsm2-util").arg("--version").output().ok()?;
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens");
        fs::create_dir(&tokens).unwrap();
        let conf = format!("directories.tokendir = {}\nlog.level = ERROR\n", tokens.display());
        fs::write(folder.path().join("softhsm2.conf"), conf).unwrap();
        for number in 0..TOKENS {
            let created = Command::new("softhsm2-util")
                .env("SOFTHSM2_CONF", folder.path().join("softhsm2.conf"))
                .args(["--init-token", "--free", "--label", &format!("hub-{number}")])
                .args(["--so-pin", "12345678", "--pin", PIN])
                .output()
                .unwrap();
            assert!(created.status.success(), "{created:?}");
        }
        Some(Self { folder, module, taken: AtomicUsize::new(0) })
    }
}

/// One token.
pub struct SoftHsm {
    folder: TempDir,
    /// Label of the token.
    pub token: String,
}

impl SoftHsm {
    /// Prepares a token without keys; `None`, with a line on stderr, where SoftHSM is not
    /// installed.
    ///
    /// # Panics
    /// If SoftHSM is missing although `REQUIRE_SOFTHSM` is set.
    pub fn start() -> Option<Self> {
        let Some(installation) = INSTALLATION.as_ref() else {
            skip_without_softhsm();
            return None;
        };
        let number = installation.taken.fetch_add(1, Ordering::Relaxed);
        assert!(number < TOKENS, "raise TOKENS");
        let hsm = Self { folder: tempfile::tempdir().unwrap(), token: format!("hub-{number}") };
        hsm.set_fault("none");
        let source = hsm.folder.path().join("shim.c");
        fs::write(&source, include_str!("softhsm/shim.c")).unwrap();
        let define = |name: &str, path: &Path| format!("-D{name}=\"{}\"", path.display());
        let compiled = Command::new("cc")
            // The module stays mapped: threads and the end of the process use it after it is
            // closed.
            .args(["-Wl,-z,nodelete", "-shared", "-fPIC", "-O1", "-w", "-o"])
            .arg(hsm.module())
            .arg(define("FAULT_FILE", &hsm.fault_file()))
            .arg(define("SOFTHSM_CONF", &installation.folder.path().join("softhsm2.conf")))
            .arg(define("SOFTHSM_MODULE", Path::new(installation.module)))
            .arg(&source)
            .args(["-ldl", "-lpthread"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(hsm)
    }

    /// Returns the path of the module.
    pub fn module(&self) -> PathBuf {
        self.folder.path().join("shim.so")
    }

    /// Makes the module fail in this way from now on; `none` makes it work.
    pub fn set_fault(&self, fault: &str) {
        let temporary = self.folder.path().join("fault.tmp");
        fs::write(&temporary, fault).unwrap();
        fs::rename(temporary, self.fault_file()).unwrap();
    }

    /// Returns how often a login to the token was attempted.
    pub fn login_attempts(&self) -> usize {
        let log = fs::read_to_string(self.fault_file().with_extension("logins"));
        log.map_or(0, |log| log.lines().count())
    }

    /// Returns the table `[pkcs11]` of this token; the PIN is in the file `pin` beside
    /// `passerelle.toml`.
    pub fn settings(&self) -> String {
        format!(
            "[pkcs11]\nmodule = \"{}\"\ntoken = \"{}\"\npin = {{ file = \"pin\" }}\ntimeout_seconds = 1\n",
            self.module().display(),
            self.token
        )
    }

    fn fault_file(&self) -> PathBuf {
        self.folder.path().join("fault")
    }
}

impl Drop for SoftHsm {
    fn drop(&mut self) {
        // Frees threads that hang in the module, which outlives its file.
        self.set_fault("none");
    }
}
