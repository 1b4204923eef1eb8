//! The lying wallet: whole logins with presentations that break one rule each, by the name of the
//! attack. The same rules at their limits are in the unit tests of the connector.

mod disclosures;
mod documents;
mod issuers;
mod key_binding;
mod statuses;

use passerelle::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle::testing::wallet_credentials::{TestAuthority, TestSigner};
use serde_json::Value;
use tracing::Level;

use super::scripted_wallet::{MDOC_CREDENTIAL, Wallet, WalletRequest, wallet_page};
use crate::failure_logs::Log;
use crate::hub::TestHub;

/// What a lie is made of.
pub struct WalletFixture {
    /// Seconds since 1970.
    pub now: u64,
    pub request: WalletRequest,
    /// The authority that the hub trusts, and its issuer.
    pub authority: TestAuthority,
    pub issuer: TestSigner,
}

/// Attack, reason of the refusal, and what changes a true presentation.
type SdJwtLie = (&'static str, &'static str, fn(&mut SdJwtPresentation, &WalletFixture));

/// Whatever is in the credentials of the lies, and must not be in a log.
const IDENTITY: [&str; 6] = ["Angela", "Dubois", "1962-08-24", "2620875107001", "Mallory", "Paris"];

/// A hub and a wallet that lies to it. Reads the log at every level.
pub struct LyingWallet {
    pub wallet: Wallet,
    pub hub: TestHub,
    log: Log,
}

impl LyingWallet {
    /// Starts a hub with more keys in the connector's table.
    pub async fn start(more: &str) -> Self {
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

    /// Presents something for a request of a new login, and asserts that it is refused for this
    /// reason: counted, with its code on the page, and with nothing about the person in the log.
    pub async fn assert_refused(
        &self,
        attack: &str,
        reason: &str,
        credential: &str,
        present: impl FnOnce(&WalletFixture) -> String,
    ) {
        assert_documented(&format!("| {attack} | `{reason}` | {} |", code_for(reason)));
        let browser = self.hub.browser();
        let request = WalletRequest::fetch(&self.hub, &wallet_page(&browser).await).await;
        let scene = WalletFixture {
            now: self.hub.now().seconds(),
            request,
            authority: self.wallet.authority.clone(),
            issuer: self.wallet.issuer.clone(),
        };
        let presentation = present(&scene);
        let before = self.count("rejected", reason);
        let redirect =
            self.wallet.respond_with(&self.hub, &scene.request, credential, &presentation).await;
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
        let line = self.assert_silent_log(attack);
        assert!(line.contains(code), "{attack}: the log has no line about it");
    }

    /// Signs the true person in: the lies have not changed anything for anyone.
    pub async fn assert_truth_is_accepted(&self) {
        let browser = self.hub.browser();
        let request = WalletRequest::fetch(&self.hub, &wallet_page(&browser).await).await;
        let truth = self.wallet.present(&request, &self.hub);
        let redirect = self.wallet.respond(&self.hub, &request, &truth).await;
        let received = browser.open(&redirect).await.consent().await.received();
        assert_eq!(self.hub.family_name("bakery", &received).await, "DUBOIS");
        self.assert_silent_log("the truth");
    }

    /// Presents each lie of a table.
    pub async fn assert_all_refused(&self, lies: &[SdJwtLie]) {
        for (attack, reason, lie) in lies {
            self.assert_refused(attack, reason, "pid", |scene| {
                let mut pid = self.wallet.pid(&scene.request, &self.hub);
                lie(&mut pid, scene);
                pid.present()
            })
            .await;
        }
        self.assert_truth_is_accepted().await;
    }

    fn reasons(&self) -> String {
        let metrics = self.hub.metrics.render();
        let of_wallets = |line: &&str| line.starts_with("passerelle_wallet_presentations_total");
        metrics.lines().filter(of_wallets).collect::<Vec<_>>().join("\n")
    }

    /// Returns the hub's lines since the last time, after it has looked for the person in them.
    fn assert_silent_log(&self, attack: &str) -> String {
        let lines: Vec<_> = self.log.taken().iter().map(ToString::to_string).collect();
        for line in &lines {
            let found = IDENTITY.iter().find(|identity| line.contains(*identity));
            assert!(found.is_none() && !line.contains("eyJ"), "{attack}: {found:?} in {line}");
        }
        lines.concat()
    }
}

/// Asserts that the page of attacks has this row.
pub fn assert_documented(row: &str) {
    let page = include_str!("../../../docs/design/wallet-attacks.md");
    assert!(page.lines().any(|line| line == row), "docs/design/wallet-attacks.md lacks {row}");
}

/// The code that a user reads out.
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
