//! The demo's data provider: an API that is called with an access token, and asks the hub whose it is (R012).
//!
//! Owns: its one address, what a caller without a live token is told (RFC 6750, 3), the one question to the hub. Must not
//! know: the hub's inside, or who calls it. Its answer is what it learned, for a person to look at; a real one keeps that
//! to itself.

use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::http::header;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::Value;

use super::service_provider::hub::{Hub, HubFault};
use crate::ids::Secret;

/// Path of the API.
pub const PATH: &str = "/record";

/// What one hub knows it by.
#[derive(Clone)]
pub struct Registration {
    /// The hub's issuer, as in its discovery document.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret<String>,
}

pub struct DemoDataProvider {
    registration: Registration,
    hub: Hub,
}

impl DemoDataProvider {
    /// # Errors
    /// If the HTTP client can't be built: no usable TLS setup on this machine.
    pub fn new(registration: Registration) -> Result<Self, reqwest::Error> {
        Ok(Self { registration, hub: Hub::new()? })
    }

    /// Serves on `listener` until the returned server is stopped. One worker, as its HTTP client belongs to one runtime.
    ///
    /// # Errors
    /// If the listener can't be used.
    pub fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || {
            App::new()
                .app_data(this.clone())
                .service(web::resource(PATH).route(web::get().to(tell)))
        };
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    async fn ask(&self, access_token: &str) -> Result<Value, HubFault> {
        let Registration { issuer, client_id, client_secret } = &self.registration;
        let metadata = self.hub.discover(issuer).await?;
        let form = [
            ("client_id", client_id.as_str()),
            ("client_secret", client_secret.reveal()),
            ("token", access_token),
        ];
        self.hub.introspect(&metadata, &form).await
    }
}

async fn tell(this: web::Data<DemoDataProvider>, request: HttpRequest) -> HttpResponse {
    let challenge = |challenge| {
        HttpResponse::Unauthorized().insert_header((header::WWW_AUTHENTICATE, challenge)).finish()
    };
    let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    // RFC 9110, 11.1: the scheme in any case.
    let sent = sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let Some((_, access_token)) = sent else { return challenge("Bearer") };
    match this.ask(access_token).await {
        // RFC 7662, 2.2: nothing else of an answer counts before this.
        Ok(told) if told.get("active") == Some(&Value::Bool(true)) => {
            HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(told)
        }
        Ok(_) => challenge("Bearer error=\"invalid_token\""),
        Err(fault) => HttpResponse::BadGateway().body(fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::{Arc, Mutex};

    use actix_web::http::StatusCode;
    use actix_web::test::{TestRequest, call_service, init_service, read_body};
    use serde_json::json;

    use super::*;

    /// The last form that the hub was sent.
    type Asked = Arc<Mutex<String>>;

    /// A hub that says this of every token.
    fn hub(told: Option<Value>) -> (String, Asked) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let at = |path: &str| format!("{issuer}{path}");
        let document = json!({
            "issuer": issuer, "authorization_endpoint": at("/a"), "token_endpoint": at("/t"), "userinfo_endpoint": at("/u"),
            "jwks_uri": at("/j"), "introspection_endpoint": at("/checktoken"),
        });
        let asked = Asked::default();
        let heard = Arc::clone(&asked);
        let app = move || {
            let (document, told, heard) = (document.clone(), told.clone(), Arc::clone(&heard));
            let discovery = move || std::future::ready(HttpResponse::Ok().json(&document));
            let checktoken = move |form: String| {
                *heard.lock().unwrap() = form;
                std::future::ready(told.as_ref().map_or_else(
                    || HttpResponse::Unauthorized().json(json!({ "error": "invalid_client" })),
                    |told| HttpResponse::Ok().json(told),
                ))
            };
            App::new()
                .route("/.well-known/openid-configuration", web::get().to(discovery))
                .route("/checktoken", web::post().to(checktoken))
        };
        actix_web::rt::spawn(
            HttpServer::new(app).workers(1).disable_signals().listen(listener).unwrap().run(),
        );
        (issuer, asked)
    }

    /// Status, challenge and body for a request with this header.
    async fn answer(
        told: Option<Value>,
        authorization: Option<&str>,
    ) -> (StatusCode, String, String, String) {
        let (issuer, asked) = hub(told);
        let client_secret = Secret::new("a secret & more".into());
        let this = DemoDataProvider::new(Registration {
            issuer,
            client_id: "demo-data".into(),
            client_secret,
        })
        .unwrap();
        let app = init_service(
            App::new().app_data(web::Data::new(this)).route(PATH, web::get().to(tell)),
        )
        .await;
        let mut request = TestRequest::get().uri(PATH);
        if let Some(authorization) = authorization {
            request = request.insert_header((header::AUTHORIZATION, authorization));
        }
        let answer = call_service(&app, request.to_request()).await;
        let challenge = answer
            .headers()
            .get(header::WWW_AUTHENTICATE)
            .map(|value| value.to_str().unwrap().to_owned());
        let (status, challenge) = (answer.status(), challenge.unwrap_or_default());
        let body = String::from_utf8(read_body(answer).await.to_vec()).unwrap();
        let asked = asked.lock().unwrap().clone();
        (status, challenge, body, asked)
    }

    // R012, R180
    #[actix_web::test]
    async fn a_live_token_opens_and_the_question_is_a_form() {
        let told = json!({ "active": true, "sub": "pairwise" });
        for authorization in ["Bearer T", "bearer T"] {
            let (status, challenge, body, asked) =
                answer(Some(told.clone()), Some(authorization)).await;
            assert_eq!((status, challenge.as_str()), (StatusCode::OK, ""));
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), told);
            assert_eq!(asked, "client_id=demo-data&client_secret=a+secret+%26+more&token=T");
        }
    }

    #[actix_web::test]
    async fn without_a_live_token_nothing_opens() {
        for told in [json!({ "active": false }), json!({}), json!({ "active": "true" }), json!([])]
        {
            let (status, challenge, body, _) = answer(Some(told), Some("Bearer T")).await;
            assert_eq!(
                (status, challenge.as_str()),
                (StatusCode::UNAUTHORIZED, "Bearer error=\"invalid_token\""),
                "{body}"
            );
        }
        for authorization in [None, Some("Basic VA=="), Some("Bearer")] {
            let (status, challenge, _, asked) =
                answer(Some(json!({ "active": true })), authorization).await;
            assert_eq!(
                (status, challenge.as_str(), asked.as_str()),
                (StatusCode::UNAUTHORIZED, "Bearer", "")
            );
        }
        let (status, _, body, _) = answer(None, Some("Bearer T")).await;
        assert_eq!(status, StatusCode::BAD_GATEWAY);
        assert!(
            body.contains("introspection endpoint answered with status 401: invalid_client"),
            "{body}"
        );
    }
}
