//! Credentials that are revoked, and status lists that are not to be believed.

use std::sync::{Arc, Mutex};

use passerelle::testing::fake_server::{FakeResponse, FakeServer};
use passerelle::testing::wallet_credentials::lists::{UnsignedList, compressed};
use passerelle::testing::wallet_credentials::{TestAuthority, new_key, sign_jws};
use serde_json::json;

use super::super::scripted_wallet::certificate_spec;
use super::{LyingWallet, WalletFixture};

const MORE: &str = "insecure_http = true\ninternal_hosts = [\"127.0.0.1\"]";

/// Attack, reason of the refusal, and what changes a list by which the credential is valid.
type StatusLie = (&'static str, &'static str, fn(&mut UnsignedList, &mut WalletFixture));

fn set_statuses(list: &mut UnsignedList, statuses: &[u8]) {
    list.payload["status_list"]["lst"] = json!(compressed(statuses));
}

/// The entry is the upper half of the second byte, with two bits for each.
const LIES: &[StatusLie] = &[
    ("revoked credential", "revoked", |list, _| set_statuses(list, &[0, 0b0100_0000])),
    ("suspended credential", "suspended", |list, _| set_statuses(list, &[0, 0b1000_0000])),
    ("credential with an unknown status", "unknown_status", |list, _| {
        set_statuses(list, &[0, 0b1100_0000]);
    }),
    ("credential beyond its list", "out_of_range", |list, _| set_statuses(list, &[0])),
    ("list with a bad signature", "unusable", |_, scene| scene.issuer.key = new_key()),
    ("list of an untrusted signer", "unusable", |list, scene| {
        scene.issuer = TestAuthority::new("Stranger").issue(&certificate_spec());
        list.header["x5c"] = scene.issuer.x5c();
    }),
    ("unsigned list", "unusable", |list, _| list.header["alg"] = json!("none")),
    ("list with a symmetric signature", "unusable", |list, _| list.header["alg"] = json!("HS256")),
    ("another token of the signer as list", "unusable", |list, _| {
        list.header["typ"] = json!("dc+sd-jwt");
    }),
    ("list of another address", "unusable", |list, _| {
        list.payload["sub"] = json!("https://status.example/another");
    }),
    ("expired list", "unusable", |list, scene| list.payload["exp"] = json!(scene.now - 1)),
    ("list of the future", "unusable", |list, scene| {
        list.payload["iat"] = json!(scene.now + 3600);
    }),
    ("compression bomb", "unusable", |list, _| set_statuses(list, &vec![0; 5 << 20])),
    ("list that is not compressed", "unusable", |list, _| {
        list.payload["status_list"]["lst"] = json!("AAAA");
    }),
    ("list with three bits for each", "unusable", |list, _| {
        list.payload["status_list"]["bits"] = json!(3);
    }),
    ("list without entries", "unusable", |list, _| list.payload["status_list"] = json!({})),
];

struct StatusServer {
    server: FakeServer,
    response: Arc<Mutex<FakeResponse>>,
}

impl StatusServer {
    async fn start() -> Self {
        let response = Arc::new(Mutex::new(FakeResponse::status(404)));
        let served = Arc::clone(&response);
        let server = FakeServer::start(move |_| served.lock().unwrap().clone()).await;
        Self { server, response }
    }

    /// Returns the presentation of a credential with entry 7 of the list at `path`.
    fn present(&self, lying: &LyingWallet, scene: &WalletFixture, path: &str) -> String {
        let mut pid = lying.wallet.pid(&scene.request, &lying.hub);
        let list = json!({ "uri": self.uri(path), "idx": 7 });
        pid.payload["status"] = json!({ "status_list": list });
        pid.present()
    }

    fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.server.base())
    }

    fn serve(
        &self,
        scene: &mut WalletFixture,
        path: &str,
        lie: fn(&mut UnsignedList, &mut WalletFixture),
    ) {
        let mut list = UnsignedList::with_statuses(&scene.issuer, &[0; 8]);
        list.payload["sub"] = json!(self.uri(path));
        list.payload["iat"] = json!(scene.now - 10);
        list.payload["exp"] = json!(scene.now + 600);
        lie(&mut list, scene);
        let body = sign_jws(&list.header, &list.payload, &scene.issuer.key).into_bytes();
        let headers = vec![("content-type", "application/statuslist+jwt".to_owned())];
        *self.response.lock().unwrap() = FakeResponse { status: 200, headers, body };
    }
}

#[actix_web::test]
async fn a_revoked_credential_or_a_false_list_is_refused() {
    let (lying, lists) = (LyingWallet::start(MORE).await, StatusServer::start().await);
    for (number, (attack, reason, lie)) in LIES.iter().enumerate() {
        // A new address each, so that no list comes from the cache.
        let path = number.to_string();
        let present = |scene: &WalletFixture| {
            let (now, request) = (scene.now, scene.request.clone());
            let (authority, issuer) = (scene.authority.clone(), scene.issuer.clone());
            lists.serve(&mut WalletFixture { now, request, authority, issuer }, &path, *lie);
            lists.present(&lying, scene, &path)
        };
        lying.assert_refused(attack, reason, "pid", present).await;
    }
    lying.assert_truth_is_accepted().await;
}

#[actix_web::test]
async fn a_list_that_can_not_be_fetched_is_refused() {
    let (lying, lists) = (LyingWallet::start(MORE).await, StatusServer::start().await);
    let redirect = vec![("location", lists.uri("elsewhere"))];
    for (attack, response) in [
        ("list that is gone", FakeResponse::status(404)),
        ("list behind an error", FakeResponse::status(500)),
        ("list behind a redirect", FakeResponse { status: 302, headers: redirect, body: vec![] }),
        ("list that is cut off", FakeResponse::connection_closed()),
        ("endless list", FakeResponse { status: 200, headers: vec![], body: vec![b'a'; 20 << 20] }),
    ] {
        *lists.response.lock().unwrap() = response;
        let present = |scene: &WalletFixture| lists.present(&lying, scene, "gone");
        lying.assert_refused(attack, "unreachable", "pid", present).await;
    }
    let inward = |scene: &WalletFixture| {
        let mut pid = lying.wallet.pid(&scene.request, &lying.hub);
        let list = json!({ "uri": "http://169.254.169.254/latest", "idx": 7 });
        pid.payload["status"] = json!({ "status_list": list });
        pid.present()
    };
    lying.assert_refused("list inside of the network", "unreachable", "pid", inward).await;
    lying.assert_truth_is_accepted().await;
}
