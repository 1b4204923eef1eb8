//! A malicious wallet: whole logins with forged presentations, each of which breaks one rule and
//! has the name of its attack. The unit tests of the connector test the limits of the same rules.

mod disclosures;
mod documents;
mod issuers;
mod key_binding;
mod statuses;

use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{TestAuthority, TestSigner};
use serde_json::Value;
use tracing::Level;

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, wallet_page};
use crate::failure_logs::Log;
use crate::hub::TestHub;

/// Inputs of a forgery.
pub(super) struct ForgeryInputs {
    /// Seconds since 1970.
    pub now: u64,
    pub request: WalletRequest,
    /// The authority that the hub trusts, and its issuer.
    pub authority: TestAuthority,
    pub issuer: TestSigner,
}

/// Attack, reason of the refusal, and the change to a valid presentation.
type SdJwtForgery = (&'static str, &'static str, fn(&mut SdJwtPresentation, &ForgeryInputs));

/// Values in the forged credentials that must not be in the log.
const IDENTITY: [&str; 6] = ["Angela", "Dubois", "1962-08-24", "2620875107001", "Mallory", "Paris"];

/// A hub, and a malicious wallet that presents forgeries to it. Reads the log at every level.
pub(super) struct MaliciousWallet {
    pub wallet: Wallet,
    pub hub: TestHub,
    log: Log,
}

impl MaliciousWallet {
    /// Starts a hub; `more` are further keys of the connector's table.
    pub(super) async fn start(more: &str) -> Self {
        let wallet = Wallet::new();
        let files = wallet.files(more, MDOC_CREDENTIAL);
        let hub = TestHub::with_files("", &files).await;
        Self { wallet, hub, log: Log::begin_at(Level::TRACE) }
    }

    fn count(&self, outcome: &str, reason: &str) -> u64 {
        let series = format!(
            "passerelle_wallet_presentations_total{{connector=\"wallet\",outcome=\"{outcome}\",reason=\"{reason}\"}} "
        );
        let metrics = self.hub.metrics.render();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&series).map(str::to_owned));
        line.map_or(0, |count| count.parse().unwrap())
    }

    /// Presents a forgery in a new login. Asserts that the hub refuses it for `reason`, counts it,
    /// shows its code on the page, and logs nothing that identifies the person.
    pub(super) async fn assert_refused(
        &self,
        attack: &str,
        reason: &str,
        credential: &str,
        present: impl FnOnce(&ForgeryInputs) -> String,
    ) {
        assert_documented(&format!("| {attack} | `{reason}` | {} |", code_for(reason)));
        let browser = self.hub.browser();
        let request = WalletRequest::fetch(&self.hub, &wallet_page(&browser).await).await;
        let inputs = ForgeryInputs {
            now: self.hub.now().seconds(),
            request,
            authority: self.wallet.authority.clone(),
            issuer: self.wallet.issuer.clone(),
        };
        let presentation = present(&inputs);
        let before = self.count("rejected", reason);
        let redirect =
            self.wallet.respond_with(&self.hub, &inputs.request, credential, &presentation).await;
        let page = browser.open(&redirect).await;
        assert!(page.answer.status < 500, "{attack}: {} {}", page.answer.status, page.answer.body);
        assert!(page.is_choice(), "{attack}: {}", page.answer.body);
        let (shown, code) = (page.references().join(" "), code_for(reason));
        assert!(shown.contains(code), "{attack}: {shown} instead of {code} ({})", self.reasons());
        let reasons = self.reasons();
        assert_eq!(
            self.count("rejected", reason),
            before + 1,
            "{attack} is not {reason}: {reasons}"
        );
        assert!(browser.session().is_none(), "{attack}");
        let line = self.assert_log_without_identity(attack);
        assert!(line.contains(code), "{attack}: the log has no line about it");
    }

    /// Checks that a valid presentation still signs the user in.
    pub(super) async fn assert_valid_presentation_is_accepted(&self) {
        let browser = self.hub.browser();
        let request = WalletRequest::fetch(&self.hub, &wallet_page(&browser).await).await;
        let presentation = self.wallet.present(&request, &self.hub);
        let redirect = self.wallet.respond(&self.hub, &request, &presentation).await;
        let received = browser.open(&redirect).await.consent().await.received();
        assert_eq!(self.hub.family_name("bakery", &received).await, "DUBOIS");
        self.assert_log_without_identity("valid presentation");
    }

    /// Presents each forgery of a table.
    pub(super) async fn assert_all_refused(&self, forgeries: &[SdJwtForgery]) {
        for (attack, reason, forge) in forgeries {
            self.assert_refused(attack, reason, "pid", |inputs| {
                let mut pid = self.wallet.pid(&inputs.request, &self.hub);
                forge(&mut pid, inputs);
                pid.present()
            })
            .await;
        }
        self.assert_valid_presentation_is_accepted().await;
    }

    fn reasons(&self) -> String {
        let metrics = self.hub.metrics.render();
        let of_wallets = |line: &&str| line.starts_with("passerelle_wallet_presentations_total");
        metrics.lines().filter(of_wallets).collect::<Vec<_>>().join("\n")
    }

    /// Returns the log lines since the last call. Asserts that none of them identifies the person.
    fn assert_log_without_identity(&self, attack: &str) -> String {
        let lines: Vec<_> = self.log.take_lines().iter().map(ToString::to_string).collect();
        for line in &lines {
            let found = IDENTITY.iter().find(|identity| line.contains(*identity));
            assert!(found.is_none() && !line.contains("eyJ"), "{attack}: {found:?} in {line}");
        }
        lines.concat()
    }
}

/// Asserts that the page of attacks has this row.
pub(super) fn assert_documented(row: &str) {
    let page = include_str!("attacks.md");
    assert!(page.lines().any(|line| line == row), "tests/flow/wallet/attacks.md lacks {row}");
}

/// Returns the error code that the page shows.
fn code_for(reason: &str) -> &'static str {
    match reason {
        "issuer_untrusted" => "Y020511",
        "credential_expired" | "certificate_expired" => "Y020512",
        "revoked" | "suspended" => "Y020513",
        "missing_claim" | "subject_missing" => "Y020514",
        "unreachable" | "unusable" => "Y020520",
        _ => "Y020510",
    }
}

/// Removes a member of a JSON object.
fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().unwrap().remove(member).unwrap();
}
