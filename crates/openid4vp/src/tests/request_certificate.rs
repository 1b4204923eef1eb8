//! Tests the chain of the certificate with which the hub signs its requests.

use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::X509;
use serde_json::{Value, json};

use crate::testing::wallet_credentials::{CertificateSpec, TestAuthority, TestSigner};
use passerelle_jose::certificate_signer::{CertificateSigner, CertificateSignerError};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

fn pem(chain: &[Vec<u8>]) -> Vec<u8> {
    chain.iter().flat_map(|der| X509::from_der(der).unwrap().to_pem().unwrap()).collect()
}

fn sign(
    chain: &[Vec<u8>],
    signer: &TestSigner,
) -> Result<CertificateSigner, CertificateSignerError> {
    let key = String::from_utf8(signer.key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    CertificateSigner::from_pem(&pem(chain), &Secret::new(key))
}

fn sent_chain(signer: &CertificateSigner) -> Value {
    let token = signer.sign("oauth-authz-req+jwt", &json!({})).unwrap();
    let header = digest::from_base64url(token.split('.').next().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["x5c"].clone()
}

#[test]
fn the_chain_is_sent_without_its_trust_anchor() {
    let root = TestAuthority::new("Root");
    let middle = root.subordinate(&CertificateSpec::authority("Middle"));
    let signer = middle.issue(&CertificateSpec::signer());
    let [leaf, authority] = &signer.chain[..] else { panic!("{}", signer.chain.len()) };
    let encoded = [leaf, authority].map(|der| openssl::base64::encode_block(der));
    for chain in [
        vec![leaf.clone(), authority.clone()],
        vec![leaf.clone(), authority.clone(), root.der()],
        vec![leaf.clone(), root.der(), authority.clone()],
    ] {
        let made = sign(&chain, &signer).unwrap();
        assert_eq!(sent_chain(&made), json!(encoded));
        let hash = digest::base64url(&digest::sha256(leaf));
        assert_eq!(made.certificate_digest(), hash, "of x509_hash");
    }
}

#[test]
fn a_certificate_or_key_that_wallets_would_refuse_is_an_error() {
    use CertificateSignerError as E;
    let (root, other) = (TestAuthority::new("Root"), TestAuthority::new("Other"));
    let signer = root.issue(&CertificateSpec::signer());
    let stranger = other.subordinate(&CertificateSpec::authority("Stranger"));
    let leaf = signer.chain[0].clone();
    let p384 = EcGroup::from_curve_name(Nid::SECP384R1).unwrap();
    let p384 = PKey::from_ec_key(EcKey::generate(&p384).unwrap()).unwrap();
    let on_p384 = root.issue_for(p384, &CertificateSpec::signer());
    for (chain, key, error) in [
        (vec![], &signer, E::NoCertificate),
        (vec![root.der(), leaf.clone()], &signer, E::SelfSigned),
        (vec![leaf.clone(), stranger.der()], &signer, E::ChainOrder),
        (vec![stranger.der(), leaf.clone()], &signer, E::KeyPairMismatch),
        (vec![leaf.clone()], &root.issue(&CertificateSpec::signer()), E::KeyPairMismatch),
        (on_p384.chain.clone(), &on_p384, E::Curve),
        (vec![leaf.clone()], &on_p384, E::KeyPairMismatch),
    ] {
        assert_eq!(sign(&chain, key).err(), Some(error));
    }
    let no_key = CertificateSigner::from_pem(&pem(&[leaf]), &Secret::new("key".to_owned()));
    assert_eq!(no_key.err(), Some(E::PrivateKey));
}
