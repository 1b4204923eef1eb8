//! Demo data provider: an API that accepts access tokens and introspects them at the hub (R012).
//!
//! Rejects callers without an active token (RFC 6750 §3). It returns the introspection response for
//! display; a real data provider would not.

use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::http::header;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::Value;

use super::service_provider::op_client::{OpClient, OpClientError};
use passerelle_protocol::ids::Secret;

/// Path of the API.
pub(crate) const RECORD_PATH: &str = "/record";

/// Registration of the data provider at one hub.
#[derive(Clone)]
pub(crate) struct DataProviderRegistration {
    /// The hub's issuer, as in its discovery document.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret<String>,
}

/// Data provider of the demo.
pub(crate) struct DemoDataProvider {
    registration: DataProviderRegistration,
    client: OpClient,
}

impl DemoDataProvider {
    /// Creates a data provider.
    ///
    /// # Errors
    /// Returns an error if the HTTP client can't be built.
    pub(crate) fn new(registration: DataProviderRegistration) -> Result<Self, reqwest::Error> {
        Ok(Self { registration, client: OpClient::new()? })
    }

    /// Serves on `listener` until the returned server is stopped. Uses one worker, because the HTTP
    /// client belongs to one runtime.
    ///
    /// # Errors
    /// Returns an error if the listener can't be used.
    pub(crate) fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || {
            App::new()
                .app_data(this.clone())
                .service(web::resource(RECORD_PATH).route(web::get().to(record)))
        };
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    async fn introspect(&self, access_token: &str) -> Result<Value, OpClientError> {
        let DataProviderRegistration { issuer, client_id, client_secret } = &self.registration;
        let metadata = self.client.discover(issuer).await?;
        let form = [
            ("client_id", client_id.as_str()),
            ("client_secret", client_secret.reveal()),
            ("token", access_token),
        ];
        self.client.introspect_token(&metadata, &form).await
    }
}

async fn record(this: web::Data<DemoDataProvider>, request: HttpRequest) -> HttpResponse {
    let challenge = |challenge| {
        HttpResponse::Unauthorized().insert_header((header::WWW_AUTHENTICATE, challenge)).finish()
    };
    let sent = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    // RFC 9110 §11.1: the scheme is case-insensitive.
    let sent = sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let Some((_, access_token)) = sent else { return challenge("Bearer") };
    match this.introspect(access_token).await {
        // RFC 7662 §2.2: check `active` before any other member.
        Ok(response) if response.get("active") == Some(&Value::Bool(true)) => {
            HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(response)
        }
        Ok(_) => challenge("Bearer error=\"invalid_token\""),
        Err(error) => HttpResponse::BadGateway().body(error.to_string()),
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

    /// The last form that the hub received.
    type ReceivedForm = Arc<Mutex<String>>;

    /// Starts a hub that gives this introspection response for every token.
    fn hub(response: Option<Value>) -> (String, ReceivedForm) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let at = |path: &str| format!("{issuer}{path}");
        let document = json!({
            "issuer": issuer, "authorization_endpoint": at("/a"), "token_endpoint": at("/t"), "userinfo_endpoint": at("/u"),
            "jwks_uri": at("/j"), "introspection_endpoint": at("/checktoken"),
        });
        let asked = ReceivedForm::default();
        let received = Arc::clone(&asked);
        let app = move || {
            let (document, response, received) =
                (document.clone(), response.clone(), Arc::clone(&received));
            let discovery = move || std::future::ready(HttpResponse::Ok().json(&document));
            let checktoken = move |form: String| {
                *received.lock().unwrap() = form;
                std::future::ready(response.as_ref().map_or_else(
                    || HttpResponse::Unauthorized().json(json!({ "error": "invalid_client" })),
                    |response| HttpResponse::Ok().json(response),
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

    /// Returns status, challenge, body and introspection form for a request with this header.
    async fn answer(
        response: Option<Value>,
        authorization: Option<&str>,
    ) -> (StatusCode, String, String, String) {
        let (issuer, asked) = hub(response);
        let client_secret = Secret::new("a secret & more".into());
        let this = DemoDataProvider::new(DataProviderRegistration {
            issuer,
            client_id: "demo-data".into(),
            client_secret,
        })
        .unwrap();
        let app = init_service(
            App::new().app_data(web::Data::new(this)).route(RECORD_PATH, web::get().to(record)),
        )
        .await;
        let mut request = TestRequest::get().uri(RECORD_PATH);
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
    async fn an_active_token_is_accepted_and_introspection_is_a_form() {
        let response = json!({ "active": true, "sub": "pairwise" });
        for authorization in ["Bearer T", "bearer T"] {
            let (status, challenge, body, asked) =
                answer(Some(response.clone()), Some(authorization)).await;
            assert_eq!((status, challenge.as_str()), (StatusCode::OK, ""));
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), response);
            assert_eq!(asked, "client_id=demo-data&client_secret=a+secret+%26+more&token=T");
        }
    }

    #[actix_web::test]
    async fn requests_without_an_active_token_are_rejected() {
        for response in
            [json!({ "active": false }), json!({}), json!({ "active": "true" }), json!([])]
        {
            let (status, challenge, body, _) = answer(Some(response), Some("Bearer T")).await;
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
