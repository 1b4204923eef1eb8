//! Rotations by schedule with a manual clock: of one hub, of two with one store, and with faults.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::HubKeys;
use crate::key_device::HubKeyDevices;
use crate::keys::{load_keys, start_key_reload};
use passerelle_audit::Audit;
use passerelle_config::model::TransitKeyPurpose;
use passerelle_config::{PrivateKeyAccess, VaultTransitAccess};
use passerelle_jose::keyfiles::KeyRow;
use passerelle_jose::keyring::{DEFAULT_ROTATION_LEAD, KeyState};
use passerelle_jose::testing::fake_vault::{FakeVault, TOKEN, VaultFault};
use passerelle_protocol::env::Clock as _;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::testing::fake_shared_store::FakeSharedStore;

use RotationStep::{Claimed, ClaimedElsewhere, Failed, Idle, Rotated};

const PERIOD: Duration = Duration::from_secs(90 * 24 * 3600);
const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// Hubs with one store, and the clock of all.
struct World {
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        Self { clock, store: FakeSharedStore::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn env(&self, seed: u64) -> Env {
        Env::new(Arc::clone(&self.clock) as Arc<_>, Arc::new(SeededEntropy::new(seed)))
    }

    /// A folder with the first keys; a file system that all hubs share.
    fn keys(&self) -> PathBuf {
        let keys = self.folder.path().join("keys");
        if !keys.exists() {
            keyfiles::create_keys(&keys, &self.env(99)).unwrap();
        }
        keys
    }

    fn hub(&self, seed: u64, keys: &Path, devices: HubKeyDevices) -> KeyRotationSchedule {
        let env = self.env(seed);
        let loaded = load_keys(keys, &env, HubKeys::FromFolder, devices).unwrap();
        let shared = start_key_reload(loaded, keys, &Audit::off());
        let settings = KeyRotationSettings {
            key_folder: keys.to_owned(),
            period: PERIOD,
            signing_key_lead: DEFAULT_ROTATION_LEAD,
            node: format!("hub-{seed}"),
        };
        KeyRotationSchedule::new(settings, shared, &self.store, &env, || false)
    }

    /// Two hubs, the second with a copy of the key folder.
    fn hubs_with_separate_folders(&self) -> [KeyRotationSchedule; 2] {
        let (keys, copy) = (self.keys(), self.folder.path().join("copy"));
        for folder in ["", "assertion", "encryption"] {
            fs::create_dir_all(copy.join(folder)).unwrap();
            for entry in fs::read_dir(keys.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    fs::copy(&path, copy.join(folder).join(path.file_name().unwrap())).unwrap();
                }
            }
        }
        [(1, &keys), (2, &copy)].map(|(seed, keys)| self.hub(seed, keys, HubKeyDevices::default()))
    }

    /// Lets each hub make its steps for so long, and returns those that were not idle.
    async fn run(
        &self,
        hubs: &mut [&mut KeyRotationSchedule],
        duration: Duration,
    ) -> Vec<(usize, RotationStep)> {
        let mut steps = Vec::new();
        for hub in hubs.iter() {
            hub.keys.reload().await.unwrap();
        }
        for _ in 0..duration.as_secs() / STEP_INTERVAL.as_secs() {
            let mut has_rotated = false;
            for (index, hub) in hubs.iter_mut().enumerate() {
                let step = hub.step().await;
                has_rotated |= step == Rotated;
                steps.push((index, step));
            }
            for hub in hubs.iter().filter(|_| has_rotated) {
                hub.keys.reload().await.unwrap();
            }
            self.clock.advance(STEP_INTERVAL);
        }
        steps.retain(|(_, step)| *step != Idle);
        steps.dedup();
        steps
    }
}

impl KeyRotationSchedule {
    fn rows(&self) -> Vec<KeyRow> {
        self.keys.rows(self.env.now())
    }

    fn count(&self, state: KeyState) -> usize {
        self.rows().iter().filter(|row| row.state == state).count()
    }

    fn finding(&self) -> Option<String> {
        self.keys.rotation_error.load_full().map(|finding| finding.to_string())
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[actix_web::test]
async fn a_hub_rotates_when_its_keys_are_due_and_the_claim_met_no_objection() {
    let world = World::new();
    let mut hub = world.hub(1, &world.keys(), HubKeyDevices::default());
    let second = Duration::from_secs(1);
    world.clock.advance(PERIOD - second);
    assert_eq!(hub.step().await, Idle);
    world.clock.advance(second);
    let steps = world.run(&mut [&mut hub], STEP_INTERVAL * OBJECTION_STEPS).await;
    assert_eq!((steps, hub.rows().len()), (vec![(0, Claimed)], 6));
    let before: BTreeSet<String> = hub.rows().into_iter().map(|row| row.kid).collect();
    assert_eq!(hub.step().await, Rotated);
    assert_eq!((hub.count(KeyState::Current), hub.count(KeyState::Next)), (6, 6));
    let signing = |hub: &KeyRotationSchedule| {
        let rows = hub.rows().into_iter();
        let current = rows.filter(|row| row.state == KeyState::Current).map(|row| row.kid);
        current.collect::<BTreeSet<_>>()
    };
    assert_eq!(signing(&hub), before, "the former keys sign during the lead");
    assert_eq!(world.run(&mut [&mut hub], HOUR).await, []);
    assert!(signing(&hub).is_disjoint(&before));
    let marker = world.keys().join(MARKER_FILE);
    assert!(!marker.exists() && hub.finding().is_none());
}

#[actix_web::test]
async fn of_two_hubs_with_one_store_and_one_folder_one_rotates_once() {
    let world = World::new();
    let keys = world.keys();
    let mut hubs = [1, 2].map(|seed| world.hub(seed, &keys, HubKeyDevices::default()));
    let [one, two] = &mut hubs;
    world.clock.advance(PERIOD);
    let steps = world.run(&mut [one, two], HOUR).await;
    let rotated: Vec<_> = steps.iter().filter(|(_, step)| *step == Rotated).collect();
    assert_eq!(rotated, [&(0, Rotated)], "{steps:?}");
    assert!(steps.iter().all(|(_, step)| *step != Failed), "{steps:?}");
    let kids = |hub: &KeyRotationSchedule| {
        hub.rows().into_iter().map(|row| row.kid).collect::<BTreeSet<_>>()
    };
    assert_eq!((one.rows().len(), kids(one)), (12, kids(two)));
}

/// Fault: each hub has a copy of the key folder. A rotation of one would sign with keys that the key
/// set of the other lacks.
#[actix_web::test]
async fn hubs_with_separate_key_folders_object_and_none_rotates() {
    let world = World::new();
    let [mut one, mut two] = world.hubs_with_separate_folders();
    world.clock.advance(PERIOD);
    let steps = world.run(&mut [&mut one, &mut two], RETRY_INTERVAL + HOUR).await;
    assert!(steps.iter().all(|(_, step)| *step != Rotated), "{steps:?}");
    assert_eq!((one.rows().len(), two.rows().len()), (6, 6));
    for hub in [&one, &two] {
        assert!(hub.finding().unwrap().contains("another key folder"), "{:?}", hub.finding());
    }
}

/// Fault: the clock of all hubs is set forward while the claim waits for objections.
#[actix_web::test]
async fn a_clock_that_is_set_forward_does_not_shorten_the_time_to_object() {
    let world = World::new();
    let [mut one, mut two] = world.hubs_with_separate_folders();
    world.clock.advance(PERIOD);
    assert_eq!((one.step().await, two.step().await), (Claimed, ClaimedElsewhere));
    world.clock.advance(CLAIM_LIFETIME / 2);
    assert_eq!((one.step().await, two.step().await), (Claimed, ClaimedElsewhere));
    let steps = world.run(&mut [&mut one, &mut two], HOUR).await;
    assert!(steps.iter().all(|(_, step)| *step != Rotated), "{steps:?}");
    assert!(one.finding().unwrap().contains("another key folder"), "{:?}", one.finding());
}

/// Fault: the hub that has claimed the rotation ends.
#[actix_web::test]
async fn another_hub_rotates_when_the_claim_of_a_dead_one_ends() {
    let world = World::new();
    let keys = world.keys();
    let mut dead = world.hub(1, &keys, HubKeyDevices::default());
    let mut alive = world.hub(2, &keys, HubKeyDevices::default());
    world.clock.advance(PERIOD);
    assert_eq!(dead.step().await, Claimed);
    let steps = world.run(&mut [&mut alive], CLAIM_LIFETIME).await;
    assert_eq!(steps, [(0, ClaimedElsewhere)]);
    let steps = world.run(&mut [&mut alive], HOUR).await;
    assert_eq!(steps, [(0, Claimed), (0, Rotated)]);
    // The dead one was only slow.
    assert_eq!(world.run(&mut [&mut dead], HOUR).await, []);
    assert_eq!(alive.rows().len(), 12);
}

/// Fault: a rotation takes so long that its claim expires, and another hub claims the next one.
#[actix_web::test]
async fn a_hub_whose_claim_has_expired_does_not_end_that_of_another_hub() {
    let world = World::new();
    let mut slow = world.hub(1, &world.keys(), HubKeyDevices::default());
    let (clock, store) = (Arc::clone(&world.clock), Arc::clone(&world.store));
    world.clock.advance(PERIOD);
    let steps = world.run(&mut [&mut slow], STEP_INTERVAL * OBJECTION_STEPS).await;
    assert_eq!(steps, [(0, Claimed)]);
    slow.is_clock_wrong = Box::new(move || {
        clock.advance(CLAIM_LIFETIME);
        let claim = NewRecord::new(b"of another hub".to_vec(), clock.now() + CLAIM_LIFETIME);
        let inserted = store.insert(claim_key(), claim, clock.now());
        futures_util::FutureExt::now_or_never(inserted).unwrap().unwrap();
        true
    });
    assert_eq!(slow.step().await, Failed);
    let claim = world.store.load(&claim_key(), world.clock.now()).await.unwrap().unwrap();
    assert_eq!(claim.value.as_ref(), b"of another hub");
}

/// Fault: a part of the key folder is not mounted, so that new keys can't be written.
#[actix_web::test]
async fn a_folder_that_cant_be_written_is_reported_before_the_keys_are_due_and_never_claimed() {
    let world = World::new();
    let mut hub = world.hub(1, &world.keys(), HubKeyDevices::default());
    let (mounted, away) = (world.keys().join("assertion"), world.folder.path().join("away"));
    fs::rename(&mounted, &away).unwrap();
    assert_eq!(hub.step().await, Idle);
    assert!(hub.finding().unwrap().contains("can't be written"), "{:?}", hub.finding());
    world.clock.advance(PERIOD);
    assert_eq!((hub.step().await, hub.step().await), (Failed, Idle));
    assert!(world.store.load(&claim_key(), hub.env.now()).await.unwrap().is_none());
    assert_eq!(hub.count(KeyState::Current), 6);
    fs::rename(&away, &mounted).unwrap();
    world.clock.advance(RETRY_INTERVAL);
    let steps = world.run(&mut [&mut hub], HOUR).await;
    assert_eq!((steps, hub.finding()), (vec![(0, Claimed), (0, Rotated)], None));
}

/// Fault: the clock jumped ahead, which identity providers show.
#[actix_web::test]
async fn a_hub_with_a_wrong_clock_does_not_rotate() {
    let world = World::new();
    let mut hub = world.hub(1, &world.keys(), HubKeyDevices::default());
    hub.is_clock_wrong = Box::new(|| true);
    world.clock.advance(PERIOD);
    let steps = world.run(&mut [&mut hub], HOUR).await;
    assert_eq!(steps, [(0, Claimed), (0, Failed)]);
    assert!(hub.finding().unwrap().contains("clock"));
    world.clock.set_back(2 * HOUR);
    assert_eq!(hub.step().await, Idle);
    assert_eq!((hub.rows().len(), hub.finding()), (6, None));
}

/// Fault: the device that generates keys has failed, and works again.
async fn check_device_outage(access: &PrivateKeyAccess, set_gone: impl Fn(bool), keys: usize) {
    let world = World::new();
    let devices = HubKeyDevices::open(access, None).unwrap();
    let mut hub = world.hub(1, &world.keys(), devices);
    set_gone(true);
    world.clock.advance(PERIOD);
    let steps = world.run(&mut [&mut hub], HOUR).await;
    assert_eq!(steps, [(0, Claimed), (0, Failed)]);
    assert!(hub.finding().unwrap().contains("could not be generated"), "{:?}", hub.finding());
    assert_eq!((hub.rows().len(), hub.count(KeyState::Current)), (6, 6));

    set_gone(false);
    let steps = world.run(&mut [&mut hub], RETRY_INTERVAL).await;
    assert_eq!(steps, [(0, Claimed), (0, Rotated)]);
    let in_device = hub.rows().iter().filter(|row| row.uri.is_some()).count();
    assert_eq!((in_device, hub.rows().len(), hub.finding()), (keys, 12, None));
}

#[actix_web::test]
async fn a_vault_server_that_is_sealed_delays_the_rotation_and_the_keys_in_use_stay() {
    let vault = FakeVault::start();
    let engine = VaultTransitAccess {
        address: vault.address().parse().unwrap(),
        mount: "transit".to_owned(),
        namespace: None,
        token: Secret::new(TOKEN.to_owned()),
        token_file: None,
        ca: None,
        new_keys: vec![TransitKeyPurpose::Tokens, TransitKeyPurpose::Assertion],
        timeout_seconds: 2,
    };
    let access = PrivateKeyAccess { vault_transit: Some(engine), ..PrivateKeyAccess::default() };
    let set_gone =
        |is_gone| vault.set_fault(if is_gone { VaultFault::Sealed } else { VaultFault::None });
    check_device_outage(&access, set_gone, 4).await;
}

#[cfg(feature = "pkcs11")]
#[actix_web::test]
async fn a_token_that_is_removed_delays_the_rotation_and_the_keys_in_use_stay() {
    use passerelle_config::Pkcs11Access;
    use passerelle_config::model::DeviceKeyPurpose::{Assertion, Encryption, Tokens};
    use passerelle_jose::testing::softhsm::{PIN, SoftHsm};

    let Some(hsm) = SoftHsm::start() else { return };
    let token = Pkcs11Access {
        module: hsm.module(),
        token: hsm.token.clone(),
        pin: Secret::new(PIN.to_owned()),
        pin_file: None,
        new_keys: vec![Tokens, Assertion, Encryption],
        sessions: 2,
        timeout_seconds: 10,
    };
    let access = PrivateKeyAccess { pkcs11: Some(token), ..PrivateKeyAccess::default() };
    let set_gone = |is_gone| hsm.set_fault(if is_gone { "removed" } else { "none" });
    check_device_outage(&access, set_gone, 6).await;
}
