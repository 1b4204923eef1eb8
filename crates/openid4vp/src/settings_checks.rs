//! Checks the `[kind.openid4vp]` table.

use std::path::PathBuf;

use url::Url;

use super::credential::CredentialFormat;
use super::credential_query::{FINGERPRINT_PREFIX, are_equal_paths};
use super::settings::{CredentialSettings, Openid4vpKind, TrustListSettings};
use passerelle_connector::AcrTable;
use passerelle_connector::kind_settings::{KindCheck, KindSettings};
use passerelle_federation::identity::mapping::ClaimPath;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::PlainHttp;

impl KindSettings for Openid4vpKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check_level(self, check);
        check_trust(self, check);
        if self.algs.is_empty() {
            check.report("algs", "is empty", "write for example [\"ES256\"]");
        }
        let http = PlainHttp::anywhere_if(self.insecure_http);
        for (index, list) in self.trust_lists.iter().enumerate() {
            check.check_url(&format!("trust_lists[{index}].url"), &list.url, http);
        }
        check_wallets(self, check);
        check_address(self, check, "cross_device_url", &self.cross_device_url);
        check_credentials(self, check);
        check_subject(self, check);
        check.check_hosts("internal_hosts", &self.internal_hosts);
        check.secret("private_key", &self.private_key)
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        let signers =
            self.trust_lists.iter_mut().map(|list| ("trust_lists", list.signers.as_mut()));
        let own = self.credentials.iter_mut().filter_map(|credential| {
            Some(("credentials", credential.trust_anchors.as_mut()?.as_mut()))
        });
        let statuses = self.status_trust_anchors.iter_mut();
        std::iter::once(("certificate", self.certificate.as_mut()))
            .chain(self.trust_anchors.iter_mut().map(|path| ("trust_anchors", path.as_mut())))
            .chain(self.verifier_info.iter_mut().map(|path| ("verifier_info", path.as_mut())))
            .chain(statuses.map(|path| ("status_trust_anchors", path.as_mut())))
            .chain(signers)
            .chain(own)
            .collect()
    }

    /// Each presentation is made for its request.
    fn reauthenticates(&self) -> bool {
        true
    }

    fn electronic_record_types(&self) -> Vec<String> {
        self.credentials.iter().flat_map(|credential| credential.types.clone()).collect()
    }

    fn insecure_key(&self) -> Option<&'static str> {
        self.insecure_http.then_some("insecure_http")
    }
}

fn check_trust(kind: &Openid4vpKind, check: &mut KindCheck<'_>) {
    let is_for = |list: &TrustListSettings, credential: &CredentialSettings| {
        let is_named = list.credentials.contains(&credential.id);
        is_named || (list.credentials.is_empty() && credential.trust_anchors.is_none())
    };
    let is_trusted = |credential: &CredentialSettings| {
        credential.trust_anchors.is_some()
            || kind.trust_lists.iter().any(|list| is_for(list, credential))
    };
    if kind.trust_anchors.is_none() && !kind.credentials.iter().all(is_trusted) {
        let fix = "write trust_anchors = \"issuers.pem\", with the authorities of the issuers";
        check.report("trust_anchors", "is missing, so no issuer is trusted", fix);
    }
    for (index, list) in kind.trust_lists.iter().enumerate() {
        let is_unknown = |id: &&String| kind.credentials.iter().all(|one| one.id != **id);
        for id in list.credentials.iter().filter(is_unknown) {
            let key = format!("trust_lists[{index}].credentials");
            let fix = "write the id of a [[kind.openid4vp.credentials]]";
            check.report(&key, format!("has {id:?}, which is no credential"), fix);
        }
    }
    let is_identifier =
        |text: &str| text.contains('.') && text.split('.').all(|arc| arc.parse::<u64>().is_ok());
    for usage in kind.extended_key_usages.iter().filter(|usage| !is_identifier(usage)) {
        let message = format!("has {usage:?}, which is no object identifier");
        check.report("extended_key_usages", message, "write for example \"1.2.3.4\"");
    }
}

fn check_level(kind: &Openid4vpKind, check: &mut KindCheck<'_>) {
    let file = check.file();
    let unused = [
        ("acr", file.acr != AcrTable::default()),
        ("assumed_level", file.assumed_level.is_some()),
        ("ignore_acr", file.ignore_acr),
    ];
    let levels = file.levels;
    for (key, _) in unused.into_iter().filter(|(_, given)| *given) {
        let message = "has no effect on wallets, which return no acr";
        check.report_in_file(key, message, "remove it, and write level in [kind.openid4vp]");
    }
    if !(levels.lowest..=levels.highest).contains(&kind.level) {
        let fix = "write a level between levels.lowest and levels.highest";
        check.report("level", "is outside levels, so every login would fail", fix);
    }
}

fn check_wallets(kind: &Openid4vpKind, check: &mut KindCheck<'_>) {
    if kind.wallets.is_empty() {
        let fix = "remove the key for any wallet, or write [{ url = \"openid4vp://\" }]";
        check.report("wallets", "is empty, so the page has no link", fix);
    }
    for (index, wallet) in kind.wallets.iter().enumerate() {
        check_address(kind, check, &format!("wallets[{index}].url"), &wallet.url);
    }
}

fn check_address(kind: &Openid4vpKind, check: &mut KindCheck<'_>, key: &str, address: &str) {
    // Stops script and data URLs of a careless file.
    let is_usable = Url::parse(address).is_ok_and(|url| {
        let forbidden = ["javascript", "data", "file", "blob", "vbscript"];
        url.query().is_none()
            && url.fragment().is_none()
            && !forbidden.contains(&url.scheme())
            && (url.scheme() != "http" || kind.insecure_http)
    });
    if !is_usable {
        let fix = "write a scheme such as \"openid4vp://\", or the https address of the wallet";
        check.report(key, "is no address of a wallet, or has a query", fix);
    }
}

fn check_credentials(kind: &Openid4vpKind, check: &mut KindCheck<'_>) {
    if kind.credentials.is_empty() {
        let fix = "add [[kind.openid4vp.credentials]] with id, format, types and claims";
        check.report("credentials", "is empty", fix);
    }
    for (index, credential) in kind.credentials.iter().enumerate() {
        let key = |name: &str| format!("credentials[{index}].{name}");
        let charset = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_repeated = kind.credentials.iter().take(index).any(|one| one.id == credential.id);
        if credential.id.is_empty() || !credential.id.chars().all(charset) || is_repeated {
            let fix = "write a name of letters, digits, _ and -, for example \"pid\"";
            check.report(&key("id"), "is empty, repeated, or has another character", fix);
        }
        if credential.types.is_empty() {
            let fix = "write for example [\"urn:eudi:pid:1\"]";
            check.report(&key("types"), "is empty", fix);
        }
        if credential.format == CredentialFormat::MsoMdoc && credential.types.len() > 1 {
            let fix = "write a table [[kind.openid4vp.credentials]] for each document type";
            check.report(&key("types"), "has more than one document type", fix);
        }
        if credential.claims.is_empty() {
            let fix = "write the claims that the identity rules need (docs/wallet.md)";
            check.report(&key("claims"), "is empty, so the wallet would disclose all or none", fix);
        }
        let claims = credential.claims.iter().chain(&credential.optional_claims);
        for claim in claims.filter(|claim| ClaimPath::parse(claim).is_err()) {
            let fix = "write a claim's name, or a path such as \"/place_of_birth/locality\"";
            check.report(&key("claims"), format!("has {claim:?}, which is not a path"), fix);
        }
        for issuer in credential.issuers.iter().filter(|issuer| !is_issuer_pin(issuer)) {
            let fix = "copy what passerelle check connector FILE --sample shows of the issuer";
            let message = format!("has {issuer:?}, which is neither a subject nor a fingerprint");
            check.report(&key("issuers"), message, fix);
        }
        check_retained_claims(credential, check, &key("retained_claims"));
    }
}

fn is_issuer_pin(text: &str) -> bool {
    match text.strip_prefix(FINGERPRINT_PREFIX) {
        Some(hash) => digest::from_base64url(hash).is_some_and(|hash| hash.len() == 32),
        None => text.contains('='),
    }
}

fn check_retained_claims(credential: &CredentialSettings, check: &mut KindCheck<'_>, key: &str) {
    let retained = &credential.retained_claims;
    if credential.format != CredentialFormat::MsoMdoc && !retained.is_empty() {
        let message = "has no effect: only requests for an mdoc say what is retained";
        check.report(key, message, "remove it");
    }
    for claim in retained.iter().filter(|claim| !credential.requests(claim)) {
        let message = format!("has {claim:?}, which the wallet is not asked for");
        check.report(key, message, "add it to claims or optional_claims, or remove it");
    }
}

/// Subjects are permanent and unique, so they are made of what every presentation has.
fn check_subject(kind: &Openid4vpKind, check: &mut KindCheck<'_>) {
    let claims = &kind.subject_claims;
    if claims.is_empty() {
        let fix = "write for example [\"personal_administrative_number\", \"issuing_country\"] (docs/wallet.md)";
        check.report("subject_claims", "is empty, but each user needs a subject", fix);
    }
    let has = |name: &str| claims.iter().any(|claim| are_equal_paths(claim, name));
    if has("personal_administrative_number") && !has("issuing_country") {
        let message = "has a number that another country may give to another person";
        check.report("subject_claims", message, "add \"issuing_country\"");
    }
    for claim in claims {
        if let Err(error) = ClaimPath::parse(claim) {
            let fix = "write a claim's name, or a path such as \"/place_of_birth/locality\"";
            check.report("subject_claims", format!("has {claim:?}: {error}"), fix);
            continue;
        }
        let is_missing = |one: &&CredentialSettings| !one.requires(claim);
        if let Some(credential) = kind.credentials.iter().find(is_missing) {
            let message = format!("has {claim:?}, which {:?} does not require", credential.id);
            check.report("subject_claims", message, "add it to claims of that credential");
        }
    }
}
