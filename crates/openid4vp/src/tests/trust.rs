use std::sync::Arc;

use super::Bench;
use crate::presentation_error::PresentationError::{self, *};
use crate::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use crate::testing::wallet_credentials::{
    CertificateSpec, PRESENTED_AT, TestAuthority, TestSigner, new_key, new_key_with_explicit_curve,
};
use crate::trust::{CertificatePurpose, IssuerRules, TrustAnchors};
use passerelle_protocol::env::Timestamp;

fn verify(
    anchors: &TrustAnchors,
    signer: &TestSigner,
    purpose: CertificatePurpose,
) -> Result<String, PresentationError> {
    let verified = anchors.verify_chain(&signer.chain, purpose, PRESENTED_AT)?;
    Ok(verified.certificate.anchor_subject)
}

const ALL_PURPOSES: [CertificatePurpose; 4] = [
    CertificatePurpose::SdJwtVc,
    CertificatePurpose::MobileSecurityObject,
    CertificatePurpose::StatusList,
    CertificatePurpose::TrustList,
];

/// Asserts that a signer is refused for every purpose.
#[track_caller]
fn assert_refused(reason: PresentationError, authority: &TestAuthority, signer: &TestSigner) {
    for purpose in ALL_PURPOSES {
        assert_eq!(verify(&authority.anchors(), signer, purpose), Err(reason), "{purpose:?}");
    }
}

#[test]
fn paths_over_intermediate_authorities_are_built() {
    let root = TestAuthority::new("Root");
    let middle = root.subordinate(&CertificateSpec::authority("Middle"));
    let low = middle.subordinate(&CertificateSpec::authority("Low"));
    let signer = low.issue(&CertificateSpec::signer());
    for purpose in ALL_PURPOSES {
        assert_eq!(verify(&root.anchors(), &signer, purpose).unwrap(), "C=FR, CN=Root");
    }
    // An intermediate authority, or the signer itself, may be pinned.
    let pinned = |der: Vec<u8>| TrustAnchors::from_der(&[der]);
    let purpose = CertificatePurpose::SdJwtVc;
    assert_eq!(verify(&pinned(low.der()), &signer, purpose).unwrap(), "C=FR, CN=Low");
    let itself = pinned(signer.chain[0].clone());
    assert_eq!(verify(&itself, &signer, purpose).unwrap(), "C=FR, CN=PID issuer");
    // The order of the others doesn't matter, and the union of anchors has all.
    let mut reversed = signer.clone();
    reversed.chain[1..].reverse();
    let union = root.anchors().union(&TestAuthority::new("Other").anchors());
    assert!(verify(&union, &reversed, purpose).is_ok());
    assert_eq!(union.len(), 2);
}

#[test]
fn an_issuer_that_no_anchor_has_issued_is_refused() {
    let (trusted, other) = (TestAuthority::new("Trusted"), TestAuthority::new("Other"));
    assert_refused(IssuerUntrusted, &trusted, &other.issue(&CertificateSpec::signer()));
    // An authority that only has the name.
    let namesake = TestAuthority::new("Trusted");
    let signer = namesake.issue(&CertificateSpec::signer());
    for purpose in ALL_PURPOSES {
        assert!(verify(&trusted.anchors(), &signer, purpose).is_err());
    }
    let nothing = TrustAnchors::default();
    let signer = trusted.issue(&CertificateSpec::signer());
    assert_eq!(verify(&nothing, &signer, CertificatePurpose::SdJwtVc), Err(IssuerUntrusted));
}

/// Asserts that a signer is refused for every purpose that HAIP 1.0 is about.
#[track_caller]
fn assert_self_signed_is_refused(authority: &TestAuthority, signer: &TestSigner) {
    for purpose in ALL_PURPOSES.into_iter().filter(|p| *p != CertificatePurpose::TrustList) {
        let outcome = verify(&authority.anchors(), signer, purpose);
        assert_eq!(outcome, Err(CertificateSelfSigned), "{purpose:?}");
    }
}

#[test]
fn a_chain_with_its_own_anchor_is_refused() {
    let authority = TestAuthority::new("Trusted");
    let mut signer = authority.issue(&CertificateSpec::signer());
    signer.chain.push(authority.der());
    assert_self_signed_is_refused(&authority, &signer);
}

#[test]
fn a_self_signed_issuer_is_refused() {
    let own = TestAuthority::with_spec(&CertificateSpec::signer());
    let signer = TestSigner { key: new_key(), chain: vec![own.der()] };
    assert_self_signed_is_refused(&own, &signer);
}

/// Whether a certificate states that it issued itself is known without its key.
#[test]
fn a_forged_self_signed_certificate_costs_no_signature() {
    let own = TestAuthority::with_spec(&CertificateSpec::signer());
    let mut forged = own.der();
    *forged.last_mut().unwrap() ^= 1;
    let trusted = TestAuthority::new("Trusted");
    for chain in [
        vec![forged.clone()],
        [trusted.issue(&CertificateSpec::signer()).chain, vec![forged]].concat(),
    ] {
        assert_self_signed_is_refused(&trusted, &TestSigner { key: new_key(), chain });
    }
}

/// OpenSSL decodes a key while it parses a certificate: one with curve parameters of the stranger's
/// choice takes most of a second.
#[test]
fn a_chain_with_a_key_that_is_expensive_to_read_is_refused_before_the_path_is_built() {
    let (trusted, stranger) = (TestAuthority::new("Trusted"), TestAuthority::new("Stranger"));
    let leaf = stranger.issue_for(new_key_with_explicit_curve(), &CertificateSpec::signer());
    assert_refused(CertificateKey, &trusted, &leaf);
    let honest = trusted.issue(&CertificateSpec::signer());
    let chain = [honest.chain.clone(), leaf.chain].concat();
    assert_refused(CertificateKey, &trusted, &TestSigner { chain, ..honest });
}

#[test]
fn a_missing_intermediate_authority_is_refused() {
    let root = TestAuthority::new("Root");
    let middle = root.subordinate(&CertificateSpec::authority("Middle"));
    let mut signer = middle.issue(&CertificateSpec::signer());
    signer.chain.truncate(1);
    assert_refused(IssuerUntrusted, &root, &signer);
}

#[test]
fn expired_and_future_certificates_are_refused() {
    let root = TestAuthority::new("Root");
    let expired = CertificateSpec { not_after: -1, ..CertificateSpec::signer() };
    assert_refused(CertificateExpired, &root, &root.issue(&expired));
    let future = CertificateSpec { not_before: 1, ..CertificateSpec::signer() };
    assert_refused(CertificateNotYetValid, &root, &root.issue(&future));
    let middle = root
        .subordinate(&CertificateSpec { not_after: -1, ..CertificateSpec::authority("Middle") });
    assert_refused(CertificateExpired, &root, &middle.issue(&CertificateSpec::signer()));
}

#[test]
fn an_expired_anchor_is_refused() {
    let root = TestAuthority::with_spec(&CertificateSpec {
        not_after: -1,
        ..CertificateSpec::authority("Root")
    });
    assert_refused(CertificateExpired, &root, &root.issue(&CertificateSpec::signer()));
    let day = 86_400;
    let end = Timestamp::from_seconds(PRESENTED_AT.seconds() - day);
    assert_eq!(root.anchors().earliest_expiry(), Some(end));
}

#[test]
fn an_issuer_that_poses_as_authority_is_refused() {
    let root = TestAuthority::new("Root");
    // A signer's certificate signs another certificate.
    let signer = root.subordinate(&CertificateSpec::signer());
    assert_refused(CertificateUsage, &root, &signer.issue(&CertificateSpec::signer()));
}

#[test]
fn an_authority_that_signs_credentials_is_refused() {
    let root = TestAuthority::new("Root");
    assert_refused(CertificateUsage, &root, &root.issue(&CertificateSpec::authority("Low")));
}

#[test]
fn an_authority_beyond_its_path_length_is_refused() {
    let root = TestAuthority::new("Root");
    let spec = CertificateSpec { path_length: Some(0), ..CertificateSpec::authority("Middle") };
    let low = root.subordinate(&spec).subordinate(&CertificateSpec::authority("Low"));
    assert_refused(CertificateChainTooLong, &root, &low.issue(&CertificateSpec::signer()));
}

#[test]
fn a_flood_of_certificates_is_refused() {
    let root = TestAuthority::new("Root");
    let mut signer = root.issue(&CertificateSpec::signer());
    signer.chain.extend(vec![signer.chain[0].clone(); 6]);
    assert_refused(CertificateChainTooLong, &root, &signer);
}

#[test]
fn an_mdoc_signer_without_the_usage_of_document_signers_is_refused() {
    let root = TestAuthority::new("Root");
    let purpose = CertificatePurpose::MobileSecurityObject;
    for spec in [
        CertificateSpec { extended_key_usage: None, ..CertificateSpec::signer() },
        CertificateSpec { has_key_usage: false, ..CertificateSpec::signer() },
        // A TLS server, and a reader.
        CertificateSpec {
            extended_key_usage: Some("1.3.6.1.5.5.7.3.1"),
            ..CertificateSpec::signer()
        },
        CertificateSpec {
            extended_key_usage: Some("1.0.18013.5.1.6"),
            ..CertificateSpec::signer()
        },
    ] {
        let signer = root.issue(&spec);
        assert_eq!(verify(&root.anchors(), &signer, purpose), Err(CertificateUsage));
    }
}

/// Returns a signer's certificate with this extended key usage.
fn with_usage(usage: Option<&'static str>) -> CertificateSpec {
    CertificateSpec { extended_key_usage: usage, ..CertificateSpec::signer() }
}

/// RFC 5280 §4.2.1.12: authorities issue certificates for many purposes.
#[test]
fn a_certificate_for_another_purpose_signs_no_credential_and_no_list() {
    let root = TestAuthority::new("Root");
    for usage in [
        "1.3.6.1.5.5.7.3.1",
        "1.3.6.1.5.5.7.3.2",
        "1.3.6.1.5.5.7.3.3",
        "1.3.6.1.5.5.7.3.4",
        "1.3.6.1.5.5.7.3.8",
        "1.3.6.1.5.5.7.3.9",
        "1.0.18013.5.1.6",
        "1.2.3.4",
    ] {
        assert_refused(CertificateUsage, &root, &root.issue(&with_usage(Some(usage))));
    }
    // Not for a pinned issuer either.
    let server = root.issue(&with_usage(Some("1.3.6.1.5.5.7.3.1")));
    let pinned = TrustAnchors::from_der(&[server.chain[0].clone()]);
    assert_eq!(verify(&pinned, &server, CertificatePurpose::SdJwtVc), Err(CertificateUsage));
}

#[test]
fn a_certificate_without_a_restriction_or_for_documents_signs_credentials_and_lists() {
    let root = TestAuthority::new("Root");
    let purposes = ALL_PURPOSES.into_iter().filter(|p| {
        // An mdoc demands its own usage.
        *p != CertificatePurpose::MobileSecurityObject
    });
    for purpose in purposes {
        for usage in [None, Some("2.5.29.37.0"), Some("1.3.6.1.5.5.7.3.36")] {
            let signer = root.issue(&with_usage(usage));
            assert!(verify(&root.anchors(), &signer, purpose).is_ok(), "{usage:?} {purpose:?}");
        }
    }
    let list_signer = root.issue(&with_usage(Some("0.4.0.2231.3.0")));
    assert!(verify(&root.anchors(), &list_signer, CertificatePurpose::TrustList).is_ok());
    let purpose = CertificatePurpose::SdJwtVc;
    assert_eq!(verify(&root.anchors(), &list_signer, purpose), Err(CertificateUsage));
}

#[test]
fn a_usage_that_the_operator_adds_signs_credentials() {
    let root = TestAuthority::new("Root");
    let rules =
        Arc::new(IssuerRules { extended_key_usages: vec!["1.2.3.4".into()], access_key: None });
    let anchors = root.anchors().with_rules(&rules);
    let signer = root.issue(&with_usage(Some("1.2.3.4")));
    assert!(verify(&anchors, &signer, CertificatePurpose::SdJwtVc).is_ok());
    let other = root.issue(&with_usage(Some("1.2.3.5")));
    assert_eq!(verify(&anchors, &other, CertificatePurpose::SdJwtVc), Err(CertificateUsage));
    // The usage of document signers stays required of an mdoc.
    let purpose = CertificatePurpose::MobileSecurityObject;
    assert_eq!(verify(&anchors, &signer, purpose), Err(CertificateUsage));
    let union = TrustAnchors::default().with_rules(&rules).union(&root.anchors());
    assert!(verify(&union, &signer, CertificatePurpose::SdJwtVc).is_ok());
}

#[test]
fn an_authority_for_tls_servers_issues_no_signers() {
    let root = TestAuthority::new("Root");
    let usage = Some("1.3.6.1.5.5.7.3.1");
    let spec = CertificateSpec { extended_key_usage: usage, ..CertificateSpec::authority("TLS") };
    for leaf in [CertificateSpec::signer(), with_usage(None)] {
        let signer = root.subordinate(&spec).issue(&leaf);
        for purpose in ALL_PURPOSES {
            assert_eq!(verify(&root.anchors(), &signer, purpose), Err(CertificateUsage));
        }
    }
}

/// ETSI TS 119 411-8: any service gets an access certificate, which may have the authority of the
/// issuers.
#[test]
fn an_access_certificate_signs_no_credential() {
    let root = TestAuthority::new("Root");
    for policy in ["0.4.0.194118.1.1", "0.4.0.194118.1.2", "0.4.0.194118.1.3", "0.4.0.194118.1.4"] {
        let spec = CertificateSpec { policy: Some(policy), ..CertificateSpec::signer() };
        assert_refused(CertificateUsage, &root, &root.issue(&spec));
    }
    let spec = CertificateSpec { policy: Some("1.2.3"), ..CertificateSpec::signer() };
    assert!(verify(&root.anchors(), &root.issue(&spec), CertificatePurpose::SdJwtVc).is_ok());
}

#[test]
fn the_hubs_own_key_signs_no_credential() {
    let root = TestAuthority::new("Root");
    let own = root.issue(&CertificateSpec::signer());
    let rules = IssuerRules {
        access_key: Some(own.key.public_key_to_der().unwrap()),
        ..IssuerRules::default()
    };
    let anchors = root.anchors().with_rules(&Arc::new(rules));
    for purpose in ALL_PURPOSES {
        assert_eq!(verify(&anchors, &own, purpose), Err(CertificateUsage));
        assert!(verify(&anchors, &root.issue(&CertificateSpec::signer()), purpose).is_ok());
    }
}

#[test]
fn a_name_with_separators_does_not_pass_for_another_issuer() {
    let root = TestAuthority::new("Root");
    let spec = CertificateSpec { name: "X, O=Y", ..CertificateSpec::signer() };
    let verified = root.anchors().verify_chain(
        &root.issue(&spec).chain,
        CertificatePurpose::SdJwtVc,
        PRESENTED_AT,
    );
    assert_eq!(verified.unwrap().certificate.subject, "C=FR, CN=X\\, O\\=Y");
}

#[test]
fn bytes_after_a_certificate_are_refused() {
    let authority = TestAuthority::new("Root");
    let mut signer = authority.issue(&CertificateSpec::signer());
    signer.chain[0].push(0);
    assert_refused(CertificateMalformed, &authority, &signer);
    let anchor = [authority.der(), vec![0]].concat();
    assert!(TrustAnchors::from_der(&[anchor]).is_empty());
}

#[test]
fn a_presentation_of_an_untrusted_issuer_is_refused() {
    let bench = Bench::sd_jwt();
    let other = TestAuthority::new("Attacker").issue(&CertificateSpec::signer());
    let presentation = SdJwtPresentation::of_pid(&other).present();
    assert_eq!(bench.verify(&presentation).map(|_| ()), Err(IssuerUntrusted));
    // With the certificate of the true issuer, whose key the attacker hasn't.
    let mut forged = SdJwtPresentation::of_pid(&other);
    forged.header["x5c"] = bench.issuer.x5c();
    assert_eq!(bench.verify(&forged.present()).map(|_| ()), Err(IssuerSignature));
}

#[test]
fn files_without_certificates_are_no_anchors() {
    for pem in
        [&b""[..], b"text", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        assert!(TrustAnchors::from_pem(pem).is_err());
    }
    assert!(TrustAnchors::from_der(&[vec![1, 2, 3]]).is_empty());
}

/// Attack: an issuer whose certificate names two organizations has its credentials pass for those of
/// the other.
#[test]
fn an_issuer_is_the_only_organization_of_its_certificate() {
    let authority = TestAuthority::new("Member State CA");
    for (organizations, expected) in
        [(&["Ministry"][..], Some("Ministry")), (&["Ministry", "Bank"], None), (&[], None)]
    {
        let signer =
            authority.issue(&CertificateSpec { organizations, ..CertificateSpec::signer() });
        let purpose = CertificatePurpose::SdJwtVc;
        let verified = authority.anchors().verify_chain(&signer.chain, purpose, PRESENTED_AT);
        let certificate = verified.ok().unwrap().certificate;
        assert_eq!(certificate.organization.as_deref(), expected);
        assert_eq!(certificate.country.as_deref(), Some("FR"));
    }
}
