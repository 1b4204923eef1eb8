//! Makes OpenSSL the cryptographic provider of rustls (docs/design/adr/0020): the library that
//! signs and decrypts tokens also encrypts connections. The protocol itself, and the
//! parsing of peers' certificates, stay in Rust.

use std::sync::Once;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

/// Sizes of RSA keys that may sign, in bytes: 2,048 to 8,192 bits, as in the other providers of
/// rustls. OpenSSL itself verifies with any key from 512 bits.
const RSA_KEY_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// Installs the provider for the process, unless it has one. Whatever builds a TLS client calls it
/// first.
pub fn install_tls_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // It fails only if the process has another provider, which then stays.
        let _installed = provider().install_default();
    });
}

/// Returns the provider; its lists live as long as the process.
fn provider() -> CryptoProvider {
    let mut provider = rustls_openssl::default_provider();
    let algorithms = &mut provider.signature_verification_algorithms;
    algorithms.all = without_weak_keys(algorithms.all);
    let mapping = algorithms.mapping.iter();
    let mapping = mapping.map(|&(scheme, algorithms)| (scheme, without_weak_keys(algorithms)));
    algorithms.mapping = Vec::leak(mapping.collect());
    provider
}

fn without_weak_keys(algorithms: Algorithms) -> Algorithms {
    let checked = algorithms.iter().map(|&algorithm| -> &dyn SignatureVerificationAlgorithm {
        if algorithm.public_key_alg_id() == alg_id::RSA_ENCRYPTION {
            Box::leak(Box::new(SizedRsa(algorithm)))
        } else {
            algorithm
        }
    });
    Vec::leak(checked.collect())
}

/// An RSA algorithm that rejects keys of other sizes than [`RSA_KEY_BYTES`].
#[derive(Debug)]
struct SizedRsa(&'static dyn SignatureVerificationAlgorithm);

impl SignatureVerificationAlgorithm for SizedRsa {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }

    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        // A valid signature is as long as the modulus (RFC 8017 §8).
        if RSA_KEY_BYTES.contains(&signature.len()) {
            self.0.verify_signature(public_key, message, signature)
        } else {
            Err(InvalidSignature)
        }
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use openssl::hash::MessageDigest;
    use openssl::pkey::PKey;
    use openssl::rsa::Rsa;
    use openssl::sign::Signer;

    #[test]
    fn a_signature_of_a_weak_rsa_key_is_rejected() {
        let algorithms = provider().signature_verification_algorithms;
        for (bits, accepted) in [(1024, false), (2040, false), (2048, true)] {
            let key = PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap();
            let mut signer = Signer::new(MessageDigest::sha256(), &key).unwrap();
            let signature = signer.sign_oneshot_to_vec(b"message").unwrap();
            let public = key.rsa().unwrap().public_key_to_der_pkcs1().unwrap();
            let by_scheme = algorithms.mapping.iter().flat_map(|(_, algorithms)| *algorithms);
            for list in [algorithms.all.iter().collect::<Vec<_>>(), by_scheme.collect()] {
                let verified = list.iter().any(|algorithm| {
                    algorithm.signature_alg_id() == alg_id::RSA_PKCS1_SHA256
                        && algorithm.verify_signature(&public, b"message", &signature).is_ok()
                });
                assert_eq!(verified, accepted, "{bits}");
            }
        }
    }

    #[test]
    fn tls_clients_use_the_installed_provider() {
        install_tls_provider();
        let groups = &CryptoProvider::get_default().unwrap().kx_groups;
        assert_eq!(groups.first().unwrap().name(), rustls::NamedGroup::X25519);
    }
}
