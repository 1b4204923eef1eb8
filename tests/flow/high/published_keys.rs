//! Encryption keys that a service provider publishes.

use super::*;

/// A service provider's server, which answers with what the test sets: nothing good at first.
pub(crate) struct Publisher {
    uri: String,
    set: Arc<Mutex<Option<Value>>>,
    handle: ServerHandle,
}

impl Publisher {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/jwks", listener.local_addr().unwrap());
        let set: Arc<Mutex<Option<Value>>> = Arc::default();
        let shared = Arc::clone(&set);
        let app = move || {
            let shared = Arc::clone(&shared);
            let answer = move || {
                let answer = shared.lock().unwrap().as_ref().map_or_else(
                    || HttpResponse::ServiceUnavailable().finish(),
                    |set| {
                        HttpResponse::Ok()
                            .insert_header(("content-type", "application/json"))
                            .body(set.to_string())
                    },
                );
                std::future::ready(answer)
            };
            App::new().route("/jwks", web::get().to(answer))
        };
        let server =
            HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { uri, set, handle }
    }

    pub(crate) fn publishes(&self, private: &Jwk, kid: &str) {
        *self.set.lock().unwrap() = Some(jwk_set(private, kid));
    }

    pub(crate) fn publishes_some(&self) {
        self.publishes(&EC, "first");
    }

    pub(crate) fn publishes_nothing(&self) {
        *self.set.lock().unwrap() = None;
    }

    pub(crate) fn file(&self) -> String {
        format!(
            "id_token_encrypted_response_alg = \"ECDH-ES\"\njwks_uri = \"{}\"\ninsecure_http = true\n\
             internal_hosts = [\"127.0.0.1\"]",
            self.uri
        )
    }
}

#[actix_web::test]
async fn published_keys_are_waited_for_followed_and_outlive_their_server() {
    let publisher = Publisher::start();
    let hub = TestHub::high(&[("vault", publisher.file())]).await;
    let browser = hub.browser();
    hub.refresh_client_keys().await;
    // Before any page, and by redirect: the service provider can fix it, the user can't.
    for request in [
        request_at_level("vault", "eidas2"),
        request_at_level("vault", "eidas2").with("prompt", "none"),
    ] {
        let received = browser.authorize(&request).await.received();
        assert_eq!(received.error_at("vault"), "temporarily_unavailable");
        assert!(received.fields["error_description"].contains("jwks_uri"));
    }
    assert!(browser.logins().is_empty(), "a login was begun");

    let read = async |private: &Jwk, kid: &str| {
        let browser = hub.browser();
        let received =
            signed_in(&browser, &request_at_level("vault", "eidas2"), "angela", "eidas2").await;
        let tokens = redeem(&hub, "vault", &received).await;
        let (header, _) =
            decrypt_and_verify(&hub, tokens["id_token"].as_str().unwrap(), "ECDH-ES", private)
                .await;
        assert_eq!(header["kid"], kid);
    };
    publisher.publishes(&EC, "first");
    hub.refresh_client_keys().await;
    read(&EC, "first").await;

    let next = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    publisher.publishes(&next, "next");
    hub.advance(10 * MINUTE);
    hub.refresh_client_keys().await;
    read(&next, "next").await;

    publisher.handle.stop(false).await;
    hub.advance(60 * MINUTE);
    hub.refresh_client_keys().await;
    read(&next, "next").await;
}
