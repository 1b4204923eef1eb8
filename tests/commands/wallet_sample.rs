//! `passerelle check connector FILE --sample` with the presentation of a wallet.

use std::sync::Arc;

use openssl::x509::X509;
use passerelle_config::check_context::CheckContext;
use passerelle_connector::diagnostic::DiagnosticStatus;
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_server::KINDS;
use passerelle_server::check::CheckInputs;
use passerelle_server::check::connector::{ConnectorReport, check_connector};
use passerelle_testkit::env::{ManualClock, SeededEntropy};
use passerelle_testkit::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, PID_DOC_TYPE, security_object,
};
use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{
    CLIENT_ID, CertificateSpec, NONCE, PRESENTED_AT, RESPONSE_URI, TestAuthority, TestSigner,
};
use serde_json::json;

const CONNECTOR: &str = r#"
name = { en = "Wallet" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas3" }
unmapped_claims = "drop"
[mapping]
family_name = { from = "family_name" }
[kind.openid4vp]
certificate = "access.pem"
private_key = { file = "wallet.secret" }
trust_anchors = "issuers.pem"
subject_claims = ["family_name"]
[[kind.openid4vp.credentials]]
id = "pid"
format = "dc+sd-jwt"
types = ["urn:eudi:pid:1", "urn:eudi:pid:de:1"]
claims = ["family_name"]
optional_claims = ["/address/locality", "nationalities", "given_name"]
[[kind.openid4vp.credentials]]
id = "pid-mdoc"
format = "mso_mdoc"
types = ["DOC_TYPE"]
claims = ["family_name"]
optional_claims = ["nationality", "given_name", "birth_date", "sex", "portrait"]
"#;

struct Folder {
    folder: tempfile::TempDir,
    issuer: TestSigner,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = TestAuthority::new("PID authority");
        let access = TestAuthority::new("Access authority").issue(&CertificateSpec::signer());
        let put =
            |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        put("wallet.toml", CONNECTOR.replace("DOC_TYPE", PID_DOC_TYPE).as_bytes());
        put("access.pem", &X509::from_der(&access.chain[0]).unwrap().to_pem().unwrap());
        put("wallet.secret", &access.key.private_key_to_pem_pkcs8().unwrap());
        put("issuers.pem", &authority.pem());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(folder.path().join("wallet.secret"), mode).unwrap();
        }
        Self { issuer: authority.issue(&CertificateSpec::signer()), folder }
    }

    async fn check(&self, sample: &str) -> ConnectorReport {
        let context = CheckContext::without_hub(self.folder.path(), KINDS);
        let environment = [("", ""); 0].into_iter().collect();
        let clock = Arc::new(ManualClock::at(PRESENTED_AT));
        let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
        let file = self.folder.path().join("wallet.toml");
        let sample = Some(sample.as_bytes());
        let check = CheckInputs {
            context: &context,
            environment: &environment,
            env: &env,
            is_online: false,
        };
        check_connector(&file, check, sample).await
    }

    fn sd_jwt(&self) -> SdJwtPresentation {
        SdJwtPresentation::of_pid(&self.issuer)
    }
}

#[track_caller]
fn finding<'r>(report: &'r ConnectorReport, name: &str) -> (DiagnosticStatus, &'r str) {
    let found = report.diagnostics.iter().find(|finding| finding.name == name);
    let found = found.unwrap_or_else(|| panic!("no {name}: {report}"));
    (found.status, &found.message)
}

#[actix_web::test]
async fn a_presentation_is_verified_and_mapped() {
    let folder = Folder::new();
    let report = folder.check(&folder.sd_jwt().present()).await;
    let (status, message) = finding(&report, "presentation");
    assert_eq!(status, DiagnosticStatus::Ok, "{report}");
    assert!(message.contains("urn:eudi:pid") && message.contains("CN=PID authority"), "{message}");
    let (_, holder) = finding(&report, "holder");
    assert!(holder.ends_with("not checked: age, nonce, audience"), "{holder}");
    assert_eq!(finding(&report, "subject").0, DiagnosticStatus::Ok);
    assert!(report.sample.unwrap().claims.contains_key("family_name"));
}

#[actix_web::test]
async fn the_request_in_a_sample_is_compared() {
    let folder = Folder::new();
    let presentation = folder.sd_jwt().present();
    let good = json!({ "presentation": presentation, "nonce": NONCE, "client_id": CLIENT_ID });
    let report = folder.check(&good.to_string()).await;
    assert!(finding(&report, "holder").1.ends_with("not checked: age"), "{report}");
    for (name, value) in [("nonce", "another"), ("client_id", "x509_hash:another")] {
        let mut sample = good.clone();
        sample[name] = json!(value);
        let report = folder.check(&sample.to_string()).await;
        let (status, message) = finding(&report, "presentation");
        assert_eq!(status, DiagnosticStatus::Error, "{name}: {message}");
        assert!(report.sample.is_none());
    }
    let report = folder.check(&json!({ "presentation": "a", "nonsense": 1 }).to_string()).await;
    assert_eq!(finding(&report, "sample").0, DiagnosticStatus::Error);
}

#[actix_web::test]
async fn a_false_presentation_is_named_as_a_login_would() {
    let folder = Folder::new();
    let stranger = TestAuthority::new("Stranger").issue(&CertificateSpec::signer());
    let mut changed = folder.sd_jwt();
    changed.payload["exp"] = json!(PRESENTED_AT.seconds() - 3600);
    changed.payload["iat"] = json!(PRESENTED_AT.seconds() - 7200);
    for (what, sample, words) in [
        ("untrusted", SdJwtPresentation::of_pid(&stranger).present(), "no trust anchor"),
        ("expired", changed.present(), "has expired"),
        ("no presentation", "hello".to_owned(), "a login would be rejected"),
    ] {
        let report = folder.check(&sample).await;
        let (status, message) = finding(&report, "presentation");
        assert_eq!(status, DiagnosticStatus::Error, "{what}");
        assert!(message.contains(words), "{what}: {message}");
    }
}

#[actix_web::test]
async fn the_claims_that_are_missing_or_too_many_are_named() {
    let folder = Folder::new();
    let [mut little, mut much] = [folder.sd_jwt(), folder.sd_jwt()];
    little.disclosures.clear();
    much.disclose("tax_class", &json!("secret value"));
    let [mut little_mdoc, mut much_mdoc] =
        [MdocPresentation::of_pid(&folder.issuer), MdocPresentation::of_pid(&folder.issuer)];
    little_mdoc.elements.clear();
    much_mdoc.elements.push(IssuedElement::new(8, "tax_class", "secret value"));
    much_mdoc.security_object = security_object(&much_mdoc.elements, &much_mdoc.device_key);
    for (what, sample, words) in [
        ("too little", little.present(), "did not disclose family_name,"),
        ("too much", much.present(), "disclosed tax_class, which was not requested"),
        ("mdoc, too little", little_mdoc.present(), "did not disclose family_name,"),
        ("mdoc, too much", much_mdoc.present(), "disclosed tax_class, which was not requested"),
    ] {
        let report = folder.check(&sample).await;
        let (status, message) = finding(&report, "presentation");
        assert_eq!(status, DiagnosticStatus::Error, "{what}");
        assert!(message.contains(words), "{what}: {message}");
        assert!(!message.contains("secret value"), "a value is no name: {message}");
    }
}

#[actix_web::test]
async fn an_issuer_that_is_not_pinned_is_named() {
    let folder = Folder::new();
    let file = folder.folder.path().join("wallet.toml");
    let connector = std::fs::read_to_string(&file).unwrap();
    let pin = async |issuer: &str| {
        let line = format!("id = \"pid\"\nissuers = [\"{issuer}\"]");
        std::fs::write(&file, connector.replace("id = \"pid\"", &line)).unwrap();
        folder.check(&folder.sd_jwt().present()).await
    };
    let certificate = X509::from_der(&folder.issuer.chain[0]).unwrap();
    let hash = certificate.digest(openssl::hash::MessageDigest::sha256()).unwrap();
    let fingerprint = format!("sha256:{}", digest::base64url(&hash));
    for issuer in ["C=FR, CN=PID issuer", fingerprint.as_str()] {
        let report = pin(issuer).await;
        assert_eq!(finding(&report, "presentation").0, DiagnosticStatus::Ok, "{report}");
        assert!(finding(&report, "presentation").1.contains(&fingerprint), "{report}");
    }
    let report = pin("C=FR, CN=Another issuer").await;
    let (status, message) = finding(&report, "presentation");
    assert_eq!(status, DiagnosticStatus::Error);
    assert!(message.contains("C=FR, CN=PID issuer") && message.contains(&fingerprint), "{message}");
}

#[actix_web::test]
async fn an_mdoc_is_verified_without_its_request_as_far_as_that_goes() {
    let folder = Folder::new();
    let presentation = MdocPresentation::of_pid(&folder.issuer).present();
    let report = folder.check(&presentation).await;
    assert_eq!(finding(&report, "presentation").0, DiagnosticStatus::Ok, "{report}");
    assert_eq!(finding(&report, "holder").0, DiagnosticStatus::Warning);
    let sample = json!({
        "presentation": presentation, "nonce": NONCE, "client_id": CLIENT_ID,
        "response_uri": RESPONSE_URI, "key_thumbprint": digest::base64url(&[7; 32]),
    });
    let report = folder.check(&sample.to_string()).await;
    assert_eq!(finding(&report, "holder").0, DiagnosticStatus::Ok, "{report}");
    let mut other = sample.clone();
    other["nonce"] = json!("another");
    let report = folder.check(&other.to_string()).await;
    assert!(finding(&report, "presentation").1.contains("holder's signature"), "{report}");
}

#[actix_web::test]
async fn claims_are_still_a_sample() {
    let folder = Folder::new();
    let report = folder.check(&json!({ "family_name": "Dubois" }).to_string()).await;
    assert!(report.diagnostics.iter().all(|finding| finding.name != "presentation"), "{report}");
    assert_eq!(report.sample.unwrap().claims["family_name"], "Dubois");
}
