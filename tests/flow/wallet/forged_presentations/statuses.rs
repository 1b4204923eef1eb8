//! Credentials that are revoked, and status lists that are not to be believed.

use std::sync::{Arc, Mutex};

use passerelle_testkit::fake_server::{FakeResponse, FakeServer};
use passerelle_testkit::wallet_credentials::lists::{UnsignedList, compressed};
use passerelle_testkit::wallet_credentials::{TestAuthority, new_key, sign_jws};
use serde_json::json;

use super::super::scripted_wallet::certificate_spec;
use super::{ForgeryInputs, MaliciousWallet};

const MORE: &str = "insecure_http = true\ninternal_hosts = [\"127.0.0.1\"]";

/// Attack, reason of the refusal, and what changes a list by which the credential is valid.
type StatusLie = (&'static str, &'static str, fn(&mut UnsignedList, &mut ForgeryInputs));

fn set_statuses(list: &mut UnsignedList, statuses: &[u8]) {
    list.payload["status_list"]["lst"] = json!(compressed(statuses));
}

/// The entry is the upper half of the second byte, with two bits for each.
const FORGERIES: &[StatusLie] = &[
    ("revoked credential", "revoked", |list, _| set_statuses(list, &[0, 0b0100_0000])),
    ("suspended credential", "suspended", |list, _| set_statuses(list, &[0, 0b1000_0000])),
    ("credential with an unknown status", "unknown_status", |list, _| {
        set_statuses(list, &[0, 0b1100_0000]);
    }),
    ("credential beyond its list", "out_of_range", |list, _| set_statuses(list, &[0])),
    ("list with a bad signature", "unusable", |_, inputs| inputs.issuer.key = new_key()),
    ("list of an untrusted signer", "unusable", |list, inputs| {
        inputs.issuer = TestAuthority::new("Stranger").issue(&certificate_spec());
        list.header["x5c"] = inputs.issuer.x5c();
    }),
    ("unsigned list", "unusable", |list, _| list.header["alg"] = json!("none")),
    ("list with a symmetric signature", "unusable", |list, _| list.header["alg"] = json!("HS256")),
    ("another token of the signer as list", "unusable", |list, _| {
        list.header["typ"] = json!("dc+sd-jwt");
    }),
    ("list of another address", "unusable", |list, _| {
        list.payload["sub"] = json!("https://status.example/another");
    }),
    ("expired list", "unusable", |list, inputs| list.payload["exp"] = json!(inputs.now - 1)),
    ("list of the future", "unusable", |list, inputs| {
        list.payload["iat"] = json!(inputs.now + 3600);
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
    fn present(&self, malicious: &MaliciousWallet, inputs: &ForgeryInputs, path: &str) -> String {
        let mut pid = malicious.wallet.pid(&inputs.request, &malicious.hub);
        let list = json!({ "uri": self.uri(path), "idx": 7 });
        pid.payload["status"] = json!({ "status_list": list });
        pid.present()
    }

    fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.server.base())
    }

    fn serve(
        &self,
        inputs: &mut ForgeryInputs,
        path: &str,
        forge: fn(&mut UnsignedList, &mut ForgeryInputs),
    ) {
        let mut list = UnsignedList::with_statuses(&inputs.issuer, &[0; 8]);
        list.payload["sub"] = json!(self.uri(path));
        list.payload["iat"] = json!(inputs.now - 10);
        list.payload["exp"] = json!(inputs.now + 600);
        forge(&mut list, inputs);
        let body = sign_jws(&list.header, &list.payload, &inputs.issuer.key).into_bytes();
        let headers = vec![("content-type", "application/statuslist+jwt".to_owned())];
        *self.response.lock().unwrap() = FakeResponse { status: 200, headers, body };
    }
}

#[actix_web::test]
async fn a_revoked_credential_or_a_false_list_is_refused() {
    let (malicious, lists) = (MaliciousWallet::start(MORE).await, StatusServer::start().await);
    for (number, (attack, reason, forge)) in FORGERIES.iter().enumerate() {
        // A new address each, so that no list comes from the cache.
        let path = number.to_string();
        let present = |inputs: &ForgeryInputs| {
            let (now, request) = (inputs.now, inputs.request.clone());
            let (authority, issuer) = (inputs.authority.clone(), inputs.issuer.clone());
            lists.serve(&mut ForgeryInputs { now, request, authority, issuer }, &path, *forge);
            lists.present(&malicious, inputs, &path)
        };
        malicious.assert_refused(attack, reason, "pid", present).await;
    }
    malicious.assert_valid_presentation_is_accepted().await;
}

#[actix_web::test]
async fn a_list_that_can_not_be_fetched_is_refused() {
    let (malicious, lists) = (MaliciousWallet::start(MORE).await, StatusServer::start().await);
    let redirect = vec![("location", lists.uri("elsewhere"))];
    for (attack, response) in [
        ("list that is gone", FakeResponse::status(404)),
        ("list behind an error", FakeResponse::status(500)),
        ("list behind a redirect", FakeResponse { status: 302, headers: redirect, body: vec![] }),
        ("list that is cut off", FakeResponse::connection_closed()),
        ("endless list", FakeResponse { status: 200, headers: vec![], body: vec![b'a'; 20 << 20] }),
    ] {
        *lists.response.lock().unwrap() = response;
        let present = |inputs: &ForgeryInputs| lists.present(&malicious, inputs, "gone");
        malicious.assert_refused(attack, "unreachable", "pid", present).await;
    }
    let inward = |inputs: &ForgeryInputs| {
        let mut pid = malicious.wallet.pid(&inputs.request, &malicious.hub);
        let list = json!({ "uri": "http://169.254.169.254/latest", "idx": 7 });
        pid.payload["status"] = json!({ "status_list": list });
        pid.present()
    };
    malicious.assert_refused("list inside of the network", "unreachable", "pid", inward).await;
    malicious.assert_valid_presentation_is_accepted().await;
}
