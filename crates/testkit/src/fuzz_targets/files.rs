//! Files of the operator: configuration, messages, registers, and the audit log.

use std::fs;
use std::io::Cursor;
use std::str;

use tempfile::TempDir;

use super::sample_keys::{NOW, public_jwks};
use super::{FuzzFunction, FuzzTarget, split_line, target};
use passerelle_audit::proof::Prover;
use passerelle_audit::statistics::LoginStatistics;
use passerelle_audit::verify::{Chains, LineHeader, TrustedCheckpoints, Verifier};
use passerelle_federation::testing::samples;
use passerelle_jose::verify::VerificationKeys;
use passerelle_localization::MessageFile;
use passerelle_protocol::ids::SupportId;
use passerelle_register::file::FileRegister;
use passerelle_settings::Environment;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "configuration_file",
        &[
            "crates/settings/src/",
            "crates/config/src/loaded.rs",
            "crates/config/src/loaded/",
            "crates/config/src/validation/",
        ],
        configuration_file,
    ),
    target("message_file", &["crates/localization/src/message_file.rs"], message_file),
    target(
        "register_csv",
        &["crates/register/src/file.rs", "crates/federation/src/identity/pivot.rs"],
        register_csv,
    ),
    target(
        "audit_lines",
        &[
            "crates/audit/src/verify.rs",
            "crates/audit/src/proof.rs",
            "crates/audit/src/statistics.rs",
            "crates/audit/src/signed_checkpoint.rs",
        ],
        audit_lines,
    ),
];

const SECRET: &str = "a-client-secret-of-thirty-two-characters";

const FOLDER: [(&str, &str); 3] = [
    (
        "passerelle.toml",
        r#"
platform = "standard"
base_url = "https://login.example.org"
subject_key = { env = "SUBJECT_KEY" }
connectors = "connectors"
public.listen = "127.0.0.1:8080"
private.listen = "127.0.0.1:9090"
identity_source = "provider"
"#,
    ),
    (
        "service-providers/sp.toml",
        r#"
client_id = "sp"
name = { fr = "Service", en = "Service" }
home_page = "https://sp.example.org/"
redirect_uris = ["https://sp.example.org/callback"]
scopes = ["openid", "email"]
secrets = [{ env = "SERVICE_PROVIDER_SP__SECRET" }]
"#,
    ),
    (
        "connectors/idp.toml",
        r#"
name = { en = "Provider" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas2" }
[acr]
eidas1 = ["low"]
eidas2 = ["substantial"]
[kind.oidc]
issuer = "https://idp.example.org"
client_id = "hub"
client_secret = { env = "CONNECTOR_IDP__SECRET" }
"#,
    ),
];

/// The first line names the file that the rest replaces.
fn configuration_file() -> FuzzFunction {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    FOLDER.iter().for_each(|(name, text)| write(name, text.as_bytes()));
    let names = ["SUBJECT_KEY", "SERVICE_PROVIDER_SP__SECRET", "CONNECTOR_IDP__SECRET"];
    let environment: Environment = names.map(|name| (name, SECRET)).into_iter().collect();
    Box::new(move |data| {
        let (name, text) = split_line(data);
        let file = FOLDER.iter().find(|(known, _)| known.as_bytes() == name);
        let Some((name, original)) = file else { return false };
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let loaded = passerelle_server::load_config(folder.path(), &environment);
        if let Err(problems) = &loaded {
            assert!(!problems.is_empty(), "rejected without a reason");
            for problem in problems {
                assert!(!problem.to_string().contains(SECRET), "a secret in a diagnostic");
            }
        }
        fs::write(&path, original).unwrap();
        loaded.is_ok()
    })
}

fn message_file() -> FuzzFunction {
    Box::new(|data| {
        let Ok(text) = String::from_utf8(data.to_vec()) else { return false };
        match MessageFile::from_text("en", text) {
            Ok(file) => file.language() == "en",
            Err(problems) => {
                assert!(!problems.is_empty(), "rejected without a reason");
                false
            }
        }
    })
}

fn register_csv() -> FuzzFunction {
    let queried = samples::angela();
    Box::new(move |data| {
        let register = FileRegister::from_reader("register.csv", data, "99100");
        let Ok(register) = register else { return false };
        let rows = data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        assert!(register.len() <= rows + 1);
        let _ = register.find(&queried);
        !register.is_empty()
    })
}

/// Verifies a log: the first line is a checkpoint that the operator has stored, the others are the
/// lines of the log.
fn audit_lines() -> FuzzFunction {
    let keys = VerificationKeys::from_jwks(&public_jwks()).unwrap();
    Box::new(move |data| {
        let (checkpoints, lines) = split_line(data);
        let checkpoints = String::from_utf8_lossy(checkpoints);
        for chains in [Chains::One, Chains::Several] {
            let trusted = TrustedCheckpoints::from_text(&checkpoints, &keys);
            let mut verifier = Verifier::new(&keys, trusted, chains);
            verifier.read_file("audit.log", &mut Cursor::new(lines)).unwrap();
            let mut report = verifier.finish();
            assert!(report.unproven_lines <= report.lines, "more lines are unproven than read");
            report.expect_running_hub(NOW);
            let _ = report.result();
        }
        let mut prover = Prover::new(&keys, SupportId::new("0123456789AB"), None);
        prover.read_file(&mut Cursor::new(lines)).unwrap();
        let (proof, _) = prover.finish();
        for event in &proof.events {
            let _ = event.verify("0123456789AB", &keys);
        }
        let mut statistics = LoginStatistics::new("2027-01".parse().unwrap());
        statistics.read_file(&mut Cursor::new(lines)).unwrap();
        let _ = (statistics.malformed(), statistics.counts().len());
        let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
        lines.any(|line| LineHeader::parse(line).is_some())
    })
}
