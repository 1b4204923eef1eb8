//! SD-JWTs of an issuer that the hub does not trust, of another type, or out of their time.

use passerelle_protocol::digest;
use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{
    CertificateSpec, TestAuthority, TestSigner, new_key, new_key_with_explicit_curve, public_jwk,
};
use serde_json::json;

use super::super::scripted_wallet::certificate_spec;
use super::{MaliciousWallet, SdJwtForgery, remove};

fn sign_by(pid: &mut SdJwtPresentation, signer: TestSigner) {
    pid.header["x5c"] = signer.x5c();
    pid.issuer_key = signer.key;
}

fn for_usage(usage: &'static str) -> CertificateSpec {
    CertificateSpec { extended_key_usage: Some(usage), ..certificate_spec() }
}

const FORGERIES: &[SdJwtForgery] = &[
    ("untrusted issuer", "issuer_untrusted", |pid, _| {
        sign_by(pid, TestAuthority::new("Stranger").issue(&certificate_spec()));
    }),
    ("issuer of an authority with a trusted name", "issuer_untrusted", |pid, _| {
        sign_by(pid, TestAuthority::new("PID authority").issue(&certificate_spec()));
    }),
    ("self-signed issuer", "certificate_self_signed", |pid, _| {
        let stranger = TestAuthority::new("Stranger");
        let signer = stranger.issue(&certificate_spec());
        sign_by(pid, TestSigner { chain: vec![stranger.der()], ..signer });
    }),
    ("curve of the attacker's choice", "certificate_key", |pid, _| {
        let stranger = TestAuthority::new("Stranger");
        let signer = stranger.issue_for(new_key_with_explicit_curve(), &certificate_spec());
        // josekit signs with no such key, and the hub refuses the certificate before the signature.
        sign_by(pid, TestSigner { key: new_key(), ..signer });
    }),
    ("issuer's certificate that has expired", "certificate_expired", |pid, inputs| {
        let spec = CertificateSpec { not_after: -800, ..certificate_spec() };
        sign_by(pid, inputs.authority.issue(&spec));
    }),
    ("issuer's certificate of the future", "certificate_not_yet_valid", |pid, inputs| {
        let spec = CertificateSpec { not_before: 800, ..certificate_spec() };
        sign_by(pid, inputs.authority.issue(&spec));
    }),
    ("authority that signs a credential", "certificate_usage", |pid, inputs| {
        let spec = CertificateSpec { is_ca: true, extended_key_usage: None, ..certificate_spec() };
        sign_by(pid, inputs.authority.issue(&spec));
    }),
    ("TLS server's certificate", "certificate_usage", |pid, inputs| {
        sign_by(pid, inputs.authority.issue(&for_usage("1.3.6.1.5.5.7.3.1")));
    }),
    ("certificate for e-mail", "certificate_usage", |pid, inputs| {
        sign_by(pid, inputs.authority.issue(&for_usage("1.3.6.1.5.5.7.3.4")));
    }),
    ("issuer of an authority for TLS servers", "certificate_usage", |pid, inputs| {
        let spec = CertificateSpec { is_ca: true, ..for_usage("1.3.6.1.5.5.7.3.1") };
        sign_by(pid, inputs.authority.subordinate(&spec).issue(&certificate_spec()));
    }),
    ("access certificate of a relying party", "certificate_usage", |pid, inputs| {
        let policy = Some("0.4.0.194118.1.2");
        sign_by(pid, inputs.authority.issue(&CertificateSpec { policy, ..certificate_spec() }));
    }),
    ("issuer that poses as an authority", "certificate_usage", |pid, inputs| {
        let leaf = CertificateSpec { is_ca: false, ..certificate_spec() };
        sign_by(pid, inputs.authority.subordinate(&leaf).issue(&certificate_spec()));
    }),
    ("trusted certificate with the key of another", "issuer_signature", |pid, _| {
        pid.issuer_key = new_key();
    }),
    ("credential signed by its holder", "issuer_signature", |pid, _| {
        pid.issuer_key = pid.holder_key.clone();
    }),
    ("credential that brings its key along", "issuer_signature", |pid, _| {
        pid.issuer_key = new_key();
        pid.header["jwk"] = public_jwk(&pid.issuer_key);
    }),
    ("key by address", "certificate_missing", |pid, _| {
        remove(&mut pid.header, "x5c");
        pid.header["jku"] = json!("https://attacker.example/keys");
    }),
    ("empty certificate chain", "certificate_missing", |pid, _| pid.header["x5c"] = json!([])),
    ("certificate that is a text", "certificate_malformed", |pid, _| {
        pid.header["x5c"] = json!("MIIB");
    }),
    ("certificate that is none", "certificate_malformed", |pid, _| {
        pid.header["x5c"] = json!(["AAAA"]);
    }),
    ("flood of certificates", "certificate_chain_too_long", |pid, _| {
        let leaf = pid.header["x5c"][0].clone();
        pid.header["x5c"] = json!(vec![leaf; 20]);
    }),
    ("unsigned credential", "issuer_algorithm", |pid, _| pid.header["alg"] = json!("none")),
    ("credential with a symmetric signature", "issuer_algorithm", |pid, _| {
        pid.header["alg"] = json!("HS256");
    }),
    ("algorithm of another curve", "issuer_algorithm", |pid, _| pid.header["alg"] = json!("ES384")),
    ("credential without an algorithm", "issuer_algorithm", |pid, _| {
        remove(&mut pid.header, "alg")
    }),
    ("critical extension", "issuer_header", |pid, _| pid.header["crit"] = json!(["b64"])),
    ("payload that is not encoded", "issuer_header", |pid, _| pid.header["b64"] = json!(false)),
    ("another token of the issuer", "wrong_token_type", |pid, _| {
        pid.header["typ"] = json!("statuslist+jwt");
    }),
    ("token without a type", "wrong_token_type", |pid, _| remove(&mut pid.header, "typ")),
    ("deeply nested credential", "malformed", |pid, _| {
        let mut deep = json!(1);
        (0..100).for_each(|_| deep = json!([deep]));
        pid.payload["deep"] = deep;
    }),
    ("credential of another type", "wrong_type", |pid, _| {
        pid.payload["vct"] = json!("urn:example:library-card");
    }),
    ("credential of several types", "wrong_type", |pid, _| {
        pid.payload["vct"] = json!(["urn:eudi:pid:1", "urn:example:library-card"]);
    }),
    ("credential without a type", "wrong_type", |pid, _| remove(&mut pid.payload, "vct")),
    ("type in other letters", "wrong_type", |pid, _| pid.payload["vct"] = json!("URN:EUDI:PID:1")),
    ("expired credential", "credential_expired", |pid, inputs| {
        pid.payload["exp"] = json!(inputs.now - 120);
    }),
    ("credential that is not valid yet", "credential_not_yet_valid", |pid, inputs| {
        pid.payload["nbf"] = json!(inputs.now + 3600);
    }),
    ("credential issued in the future", "credential_not_yet_valid", |pid, inputs| {
        pid.payload["iat"] = json!(inputs.now + 3600);
    }),
    ("credential that expires before it begins", "invalid_times", |pid, inputs| {
        pid.payload["exp"] = json!(inputs.now - 2000);
    }),
    ("expiry that is a text", "invalid_times", |pid, _| pid.payload["exp"] = json!("9999999999")),
    ("expiry beyond all numbers", "invalid_times", |pid, _| pid.payload["exp"] = json!(1e300)),
    ("status without a list", "invalid_status_reference", |pid, _| {
        pid.payload["status"] = json!({});
    }),
    ("status with a negative index", "invalid_status_reference", |pid, _| {
        let list = json!({ "uri": "https://status.example/1", "idx": -1 });
        pid.payload["status"] = json!({ "status_list": list });
    }),
];

#[actix_web::test]
async fn a_credential_of_an_untrusted_issuer_or_another_type_is_refused() {
    MaliciousWallet::start("").await.assert_all_refused(FORGERIES).await;
}

#[actix_web::test]
async fn texts_that_are_no_presentation_are_refused() {
    let malicious = MaliciousWallet::start("").await;
    let (repeated, part) =
        (r#"{"alg":"none","alg":"ES256"}"#, |text: &str| digest::base64url(text.as_bytes()));
    for (attack, reason, text) in [
        ("empty presentation", "malformed", String::new()),
        ("only a tilde", "key_binding_missing", "~".to_owned()),
        (
            "header with a repeated member",
            "malformed",
            format!("{}.{}.AA~x", part(repeated), part("{}")),
        ),
        ("payload that is a list", "malformed", format!("{}.{}.AA~x", part("{}"), part("[]"))),
        ("letters of other scripts", "malformed", "é~é".to_owned()),
        ("an mdoc as SD-JWT", "malformed", "o2d2ZXJzaW9u".to_owned()),
    ] {
        malicious.assert_refused(attack, reason, "pid", |_| text).await;
    }
    malicious
        .assert_refused("an SD-JWT as mdoc", "malformed", "pid-mdoc", |inputs| {
            malicious.wallet.present(&inputs.request, &malicious.hub)
        })
        .await;
    malicious
        .assert_refused(
            "credential under an id that was not requested",
            "unrequested_credential",
            "mdl",
            |inputs| malicious.wallet.present(&inputs.request, &malicious.hub),
        )
        .await;
    malicious.assert_valid_presentation_is_accepted().await;
}
