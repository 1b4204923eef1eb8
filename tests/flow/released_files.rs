//! Files that each release wrote: its configuration, keys, store, state and audit log. A hub of this
//! build continues what was open when a hub of that release stopped.
//!
//! `tests/fixtures/release/record` writes them, one folder for each release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use passerelle_protocol::env::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::browser::Browser;
use super::federation::redirect_uri;
use super::hub::{Answer, TestHub};
use super::service::Authorize;

/// RFC 7636 appendix B, as `tests/fixtures/release/record` has it.
const CODE_CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A hub of this build with the files of one release, and what browsers and applications held.
struct ContinuedHub {
    hub: TestHub,
    facts: Value,
}

impl ContinuedHub {
    /// Starts one for each release, at the time when the hub of the release stopped.
    async fn of_each_release() -> Vec<Self> {
        let mut continued = Vec::new();
        for release in releases() {
            let folder = copy_of(&release);
            let facts: Value =
                serde_json::from_slice(&fs::read(release.join("facts.json")).unwrap()).unwrap();
            let now = Timestamp::from_millis(facts["stopped_at_millis"].as_u64().unwrap());
            continued.push(Self { hub: TestHub::on_at(folder, now).await, facts });
        }
        continued
    }

    fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap()
    }

    /// Returns a browser with the cookies that this one had.
    fn browser(&self, name: &str) -> Browser<'_> {
        let browser = self.hub.browser();
        for (cookie, value) in self.facts[name]["cookies"].as_object().unwrap() {
            browser.plant(cookie, value.as_str().unwrap());
        }
        browser
    }

    /// Returns the address of the page that the browser showed.
    fn page(&self, name: &str) -> &str {
        self.facts[name]["path"].as_str().unwrap()
    }

    async fn token_request(&self, fields: &[(&str, &str)]) -> Answer {
        let client = [("client_id", "clinic"), ("client_secret", self.fact("client_secret"))];
        self.hub.post_form("/api/v2/token", &[&client, fields].concat()).await
    }

    async fn redeem(&self, code: &str) -> Answer {
        let fields = [
            ("grant_type", "authorization_code"),
            ("redirect_uri", &redirect_uri("clinic")),
            ("code_verifier", self.fact("code_verifier")),
            ("code", code),
        ];
        self.token_request(&fields).await
    }

    /// Returns the `sub` of an ID token, which the hub's own keys must verify.
    async fn subject(&self, id_token: &str) -> Value {
        self.hub.verified_claims(id_token).await["sub"].clone()
    }
}

fn releases() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/release");
    let entries = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

/// Copies the files of a release, readable by their owner only: git doesn't keep their mode.
fn copy_of(release: &Path) -> TempDir {
    let folder = TempDir::with_prefix("passerelle-release-").unwrap();
    let script = "cp -r \"$0\"/. \"$1\" && chmod -R go= \"$1\"";
    let copied = Command::new("sh").args(["-c", script]).arg(release).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    // The copy of the last checkpoint names the log that it belongs to, which has moved.
    let checkpoint = folder.path().join("state/audit-last-checkpoint.json");
    let mut copy: Value = serde_json::from_slice(&fs::read(&checkpoint).unwrap()).unwrap();
    copy["log"] = Value::from(folder.path().join("audit/audit.jsonl").to_str().unwrap());
    fs::write(&checkpoint, copy.to_string()).unwrap();
    folder
}

/// Runs the program, and returns whether it succeeds and what it prints.
fn passerelle(arguments: &[&str], paths: &[&Path]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    let output = command.args(arguments).args(paths).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

/// Verifies the audit log of a configuration folder with its keys.
fn verify_audit(folder: &Path) -> (bool, String) {
    let (keys, log) = (folder.join("keys"), folder.join("audit/audit.jsonl"));
    passerelle(&["audit", "verify", "--keys"], &[&keys, &log])
}

#[test]
fn the_configuration_of_each_release_is_valid() {
    for release in releases() {
        let (is_valid, printed) = passerelle(&["check", "--config"], &[copy_of(&release).path()]);
        assert!(is_valid, "{printed}");
    }
}

#[actix_web::test]
async fn logins_sessions_and_pushed_requests_of_each_release_continue() {
    for continued in ContinuedHub::of_each_release().await {
        let browser = continued.browser("choosing");
        let page = browser.open(continued.page("choosing")).await;
        // The other identity provider was blocked by a command.
        assert_eq!(page.offered(), ["sandbox"]);
        let page = page.choose("sandbox").await.sign_in_as("angela").await;
        let received = page.consent().await.received();
        assert_eq!(continued.redeem(received.code()).await.status, 200);

        let browser = continued.browser("consenting");
        let page = browser.open(continued.page("consenting")).await;
        let received = page.consent().await.received();
        assert_eq!(continued.redeem(received.code()).await.status, 200);

        let browser = continued.browser("signed_in");
        let request = Authorize::by("clinic")
            .with("scope", "openid profile email")
            .with("prompt", "none")
            .with("code_challenge", CODE_CHALLENGE)
            .with("code_challenge_method", "S256");
        let received = browser.authorize(&request).await.received();
        assert_eq!(continued.redeem(received.code()).await.status, 200);

        let pushed = continued.fact("request_uri");
        let browser = continued.hub.browser();
        let page =
            browser.open(&format!("/api/v2/authorize?client_id=clinic&request_uri={pushed}")).await;
        assert!(page.is_choice(), "{}", page.answer.body);
    }
}

#[actix_web::test]
async fn codes_and_tokens_of_each_release_are_accepted_and_revoked() {
    for continued in ContinuedHub::of_each_release().await {
        let subject = continued.subject(continued.fact("id_token")).await;
        let answer = continued.redeem(continued.fact("unspent_code")).await.json();
        let id_token = answer["id_token"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(continued.subject(id_token).await, subject);

        let access_token = continued.fact("access_token");
        assert_eq!(continued.hub.userinfo(access_token).await["sub"], subject);
        let revoked = continued.fact("revoked_access_token");
        assert_eq!(continued.hub.get_userinfo(revoked).await.status, 401);

        let refresh =
            [("grant_type", "refresh_token"), ("refresh_token", continued.fact("refresh_token"))];
        let answer = continued.token_request(&refresh).await.json();
        let refreshed = answer["access_token"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(continued.hub.userinfo(refreshed).await["sub"], subject);

        // RFC 6749 §4.1.2: a code that is used twice revokes the tokens that it was redeemed for.
        assert_eq!(continued.redeem(continued.fact("spent_code")).await.status, 400);
        for token in [access_token, refreshed] {
            assert_eq!(continued.hub.get_userinfo(token).await.status, 401);
        }
    }
}

#[actix_web::test]
async fn the_audit_log_of_each_release_is_verified_alone_and_with_the_lines_added_to_it() {
    for release in releases() {
        let (is_intact, printed) = verify_audit(copy_of(&release).path());
        assert!(is_intact, "{printed}");
    }
    for continued in ContinuedHub::of_each_release().await {
        let recorded = continued.hub.audit_text().lines().count();
        let browser = continued.browser("choosing");
        browser.open(continued.page("choosing")).await.choose("sandbox").await;
        assert!(continued.hub.audit_text().lines().count() > recorded);
        // The hub runs, so no checkpoint proves the last lines yet.
        let (_, printed) = verify_audit(continued.hub.folder());
        assert!(printed.contains("No modification was found"), "{printed}");
        assert!(!printed.contains("removed"), "{printed}");
    }
}
