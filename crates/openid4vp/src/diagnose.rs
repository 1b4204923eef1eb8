//! Checks a connector to wallets, for `passerelle check connector`.

use super::WalletConnector;
use super::wallet_page::RequestedClaim;
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext};
use passerelle_protocol::env::Timestamp;

impl WalletConnector {
    pub(super) async fn diagnose_wallets(
        &self,
        context: &DiagnosisContext,
    ) -> Vec<CheckDiagnostic> {
        let mut diagnostics = vec![
            self.check_client_id(),
            self.check_expiry("certificate", self.signer.expires_at()),
            self.check_expiry("trust-anchors", self.verifier.anchors_expire_at()),
            missing_claims(&self.verifier.requested_claims(), context),
        ];
        for state in self.verifier.trust().refresh().await {
            diagnostics.push(match state {
                Ok(state) if state.skipped > 0 => CheckDiagnostic::warning(
                    "trust-list",
                    format!(
                        "{} is signed and has {} anchors, and {} certificates that can't be parsed",
                        state.url, state.anchors, state.skipped
                    ),
                    "tell the operator of the list; issuers with these certificates are not trusted",
                ),
                Ok(state) => {
                    let message = format!("{} is signed and has {} anchors", state.url, state.anchors);
                    CheckDiagnostic::ok("trust-list", message)
                }
                Err((url, error)) => CheckDiagnostic::error(
                    "trust-list",
                    format!("{url} can't be used: {error}"),
                    "check its address, and that trust_lists.signers has the certificate of its signer",
                ),
            });
        }
        diagnostics
    }

    fn check_client_id(&self) -> CheckDiagnostic {
        let client_id = self.signer.client_id();
        let message = format!("wallets see {client_id}");
        if client_id.starts_with("x509_hash:") {
            return CheckDiagnostic::ok("client-id", message);
        }
        CheckDiagnostic::warning(
            "client-id",
            format!("{message}, but HAIP 1.0 §5 demands x509_hash: wallets of the EUDI refuse it"),
            "remove dns_name, unless your wallets know x509_san_dns only",
        )
    }

    fn check_expiry(&self, name: &'static str, expires_at: Option<Timestamp>) -> CheckDiagnostic {
        let Some(expires_at) = expires_at else {
            return CheckDiagnostic::ok(name, "there is no date of expiry to check");
        };
        let fix =
            "renew it, and put the new one in its file: with an expired one every login fails";
        CheckDiagnostic::validity(name, expires_at, self.env.now(), fix)
    }
}

/// Reports each claim that an identity requires and the hub requests from no wallet.
fn missing_claims(requested: &[RequestedClaim], context: &DiagnosisContext) -> CheckDiagnostic {
    let top_level = |name: &str| name.trim_start_matches('/').split('/').next().map(str::to_owned);
    let is_requested = |source: &String| {
        let asked = requested.iter().filter(|claim| !claim.is_optional);
        asked.into_iter().any(|claim| top_level(&claim.name) == top_level(source))
    };
    let missing =
        context.required_claims.iter().filter(|(_, sources)| !sources.iter().all(is_requested));
    let missing: Vec<_> = missing.map(|(claim, _)| claim.as_str()).collect();
    if missing.is_empty() {
        return CheckDiagnostic::ok(
            "query",
            "the wallet is asked for every claim that an identity needs",
        );
    }
    CheckDiagnostic::error(
        "query",
        format!(
            "the wallet must not disclose what these claims are made of: {}",
            missing.join(", ")
        ),
        "add it to claims of each credential, map it in [mapping], or let the register complete it (docs/wallet.md)",
    )
}
