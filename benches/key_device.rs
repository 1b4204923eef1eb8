//! Measures signatures by keys in files and by keys in a token of `SoftHSM`: number in a second,
//! and CPU time of each.
//!
//! `cargo bench --bench key_device`. Nothing is asserted: read the figures. CPU time is that of the
//! process, so it contains that of `SoftHSM`.
#![expect(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a measurement that can't be made should stop"
)]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use passerelle_jose::device_credential::DeviceCredential;
use passerelle_jose::key_device::KeyDevice;
use passerelle_jose::keyfiles::{self, KeyFolder, KeyPurpose, NewDeviceKeys};
use passerelle_jose::pkcs11::{DeviceOptions, Pkcs11Device, Pkcs11Token};
use passerelle_jose::{Keyring, Signer as _};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_testkit::softhsm::{PIN, SoftHsm};
use tokio::time::Instant;

/// Calls that wait at the same time.
const CONCURRENT_CALLS: usize = 16;
const SIGNATURES: usize = 500;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let now = Env::system().now();
    print_figures("file", &Keyring::ephemeral(now).unwrap(), now).await;
    let Some(hsm) = SoftHsm::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pin = DeviceCredential::new(None, Secret::new(PIN.to_owned()));
    let token = Arc::new(Pkcs11Token::load(&hsm.module(), &hsm.token, pin).unwrap());
    for sessions in [1, 2, 4] {
        let options = DeviceOptions { sessions, timeout: Duration::from_secs(10), metrics: None };
        let device: Arc<dyn KeyDevice> = Arc::new(Pkcs11Device::start(&token, options).unwrap());
        let new_keys = NewDeviceKeys { generator: token.as_ref(), purposes: &[KeyPurpose::Tokens] };
        let source = KeyFolder {
            folder: folder.path(),
            passphrase: None,
            refuses_plain_keys: false,
            devices: vec![device],
            new_keys: vec![new_keys],
        };
        if fs::read_dir(folder.path()).unwrap().next().is_none() {
            keyfiles::create_keys(source.clone(), &Env::system()).unwrap();
        }
        let now = Env::system().now();
        let ring = keyfiles::load_keyring(source, now).unwrap();
        print_figures(&format!("SoftHSM, {sessions} sessions"), &ring, now).await;
    }
}

async fn print_figures(name: &str, ring: &Keyring, now: Timestamp) {
    for alg in [SigningAlg::ES256, SigningAlg::RS256] {
        let payload = vec![b'x'; 400];
        ring.sign(alg, "JWT", &payload, now).await.unwrap();
        let (began, cpu) = (Instant::now(), cpu_seconds());
        let calls = stream::iter(0..SIGNATURES).map(|_| ring.sign(alg, "JWT", &payload, now));
        let signed = calls.buffer_unordered(CONCURRENT_CALLS).filter(|signed| {
            let is_signed = signed.is_ok();
            async move { is_signed }
        });
        assert_eq!(signed.count().await, SIGNATURES);
        let each = (cpu_seconds() - cpu) * 1000.0 / SIGNATURES as f64;
        let rate = SIGNATURES as f64 / began.elapsed().as_secs_f64();
        println!("{name}, {}: {rate:.0} signatures/s, {each:.2} ms of CPU each", alg.as_str());
    }
}

/// Returns the CPU time of the process. The clock of the kernel ticks a hundred times a second.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
    let ticks: f64 = [11, 12].iter().map(|at| fields[*at].parse::<f64>().unwrap()).sum();
    ticks / 100.0
}
