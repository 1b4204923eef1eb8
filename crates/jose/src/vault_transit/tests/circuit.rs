//! Which answers of the server open the circuit.

use super::*;

/// More calls than open the circuit.
const MANY_CALLS: usize = 20;

#[tokio::test]
async fn an_unreachable_server_opens_the_circuit_and_is_used_again_when_it_returns() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.set_fault(VaultFault::Away);
    for _ in 0..5 {
        fixture.device_error().await;
    }
    assert!(!fixture.device.is_available() && fixture.device.failure().is_some());
    vault.take_requests();
    fixture.device_error().await;
    assert!(vault.take_requests().is_empty(), "an open circuit makes no call");
    vault.set_fault(VaultFault::None);
    fixture.recover().await;
    assert!(fixture.sign(SigningAlg::RS256).await.is_ok());
}

#[tokio::test]
async fn ciphertexts_that_do_not_decrypt_never_open_the_circuit() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    for _ in 0..20 {
        assert_eq!(fixture.decrypt(true).await, Err(JweDecryptError::DecryptionFailed));
    }
    assert!(fixture.device.is_available());
    assert!(fixture.decrypt(false).await.is_ok());
}

#[tokio::test]
async fn load_caused_by_attackers_never_opens_the_circuit() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.set_fault(VaultFault::RateLimited);
    for _ in 0..MANY_CALLS {
        assert_eq!(fixture.device_error().await, KeyDeviceError::Busy);
        let decrypted = fixture.decrypt(false).await;
        assert_eq!(decrypted, Err(JweDecryptError::Device(KeyDeviceError::Busy)));
    }
    assert!(fixture.device.is_available());
    vault.set_fault(VaultFault::None);
    assert!(fixture.sign(SigningAlg::ES256).await.is_ok());
}

#[tokio::test]
async fn a_policy_without_the_right_to_decrypt_never_opens_the_circuit() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    for status in [403, 404] {
        vault.set_fault(VaultFault::DecryptionRefused(status));
        for _ in 0..MANY_CALLS {
            assert_eq!(fixture.decrypt(false).await, Err(JweDecryptError::DecryptionFailed));
        }
        assert!(fixture.device.is_available(), "{status}");
        assert!(fixture.sign(SigningAlg::ES256).await.is_ok(), "{status}");
    }
}
