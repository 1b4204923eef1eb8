//! Requests that fail: refusals, a panic, no register.

use super::*;

/// Sends requests of every kind that the hub refuses, and records the responses.
pub(super) async fn send_refused_requests(
    hub: &TestHub,
    outputs: &Outputs,
    canaries: &mut Canaries,
) {
    let page = |answer: &Answer| {
        assert!(answer.status >= 400, "{}: {}", answer.status, answer.body);
        outputs.record("an error's answer", answer.body.clone());
    };
    for failure in ["cancel", "error", "missing-claim", "unknown-person", "level-too-low"] {
        let browser = hub.browser();
        let sandbox = browser.authorize(&Authorize::by("bakery")).await.choose("amandier").await;
        let form = sandbox.sandbox_form("angela").with("failure", failure);
        let page = browser.submit(&form).await;
        outputs.record("a page after a failure", page.answer.body);
    }
    // A user whom the register does not know.
    let browser = hub.browser();
    let unknown = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("odile")
        .await;
    outputs.record("a page for an unknown user", unknown.answer.body);
    let browser = hub.browser();
    browser
        .authorize(&Authorize::by("clinic"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await
        .refuse()
        .await;
    // A password, while the directory does not answer.
    let browser = hub.browser();
    let form = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("town")
        .await
        .form("/connectors/town/login");
    let failed =
        browser.submit(&form.clone().with("username", "ada").with("password", PASSWORD)).await;
    page(&failed.answer);
    page(
        &browser
            .submit(&form.with("username", "ada").with("password", PASSWORD).with("csrf", FORGED))
            .await
            .answer,
    );

    // Forged, malformed, stolen.
    let browser = hub.browser();
    browser.plant_session(FORGED);
    browser.authorize(&Authorize::by("bakery")).await;
    page(
        &hub.browser()
            .get(&format!(
                "/api/v2/callback/amandier?state={}{FORGED}&code={FORGED}",
                "a".repeat(43)
            ))
            .await,
    );
    page(&hub.browser().get(&format!("/api/v2/session/end?id_token_hint={FORGED}&state=x")).await);
    page(
        &hub.browser()
            .get(&format!("/api/v2/authorize?client_id={FORGED}&nonce={FORGED}&state={FORGED}"))
            .await,
    );
    page(&hub.get_userinfo(FORGED).await);
    page(&hub.redeem("bakery", FORGED).await);
    let wrong = [
        ("grant_type", "authorization_code"),
        ("client_id", "bakery"),
        ("client_secret", FORGED),
        ("redirect_uri", "https://bakery.example/callback?tenant=7"),
        ("code", FORGED),
    ];
    page(&post(hub, "/api/v2/token", &wrong).await);
    page(
        &post(
            hub,
            "/api/v2/checktoken",
            &[("client_id", "archive"), ("client_secret", FORGED), ("token", FORGED)],
        )
        .await,
    );
    let basic = ("authorization", format!("Basic {}", STANDARD.encode(format!("bakery:{FORGED}"))));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let request = TestRequest::post()
        .uri("/api/v2/token/revocation")
        .insert_header(basic)
        .insert_header(form);
    page(&hub.send(request.set_payload(format!("token={FORGED}"))).await);
    let wrong = ("authorization", format!("Bearer {FORGED}"));
    page(&hub.send_private(TestRequest::get().uri("/admin/blocks").insert_header(wrong)).await);
    canaries.add("a forged value", FORGED);
    canaries.add("a password", PASSWORD);
}

/// Causes a panic whose message contains a secret.
pub(super) async fn cause_panic(hub: &TestHub, outputs: &Outputs, canaries: &mut Canaries) {
    async fn broken() -> HttpResponse {
        panic!("while processing {PANIC}")
    }
    let middleware = OuterMiddleware::new(
        "https://hub.example",
        std::time::Duration::from_secs(10),
        Arc::clone(&hub.metrics),
        Arc::new(routes::route_table(SandboxRoutes::On, &[])),
        |_, code| code.entry().code.to_owned(),
    );
    let middleware = Arc::new(middleware.unwrap());
    let app = App::new()
        .service(web::resource("/api/v2/userinfo").get(broken))
        .wrap(from_fn(move |request, next| Arc::clone(&middleware).handle(request, next)));
    let app = init_service(app).await;
    let request = TestRequest::get()
        .uri("/api/v2/userinfo")
        .insert_header(("host", "hub.example"))
        .to_request();
    passerelle_telemetry::log_panic_locations();
    let error = try_call_service(&app, request).await.map(|_| ()).unwrap_err();
    let body = actix_web::body::to_bytes(error.error_response().into_body()).await.unwrap();
    outputs.record("an answer after a panic", String::from_utf8(body.to_vec()).unwrap());
    canaries.add("a panic's value", PANIC);
}

/// Performs a login while the register does not answer.
pub(super) async fn run_without_register(
    outputs: &Outputs,
    collector: u16,
    canaries: &mut Canaries,
) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let register = format!(
        "register.http = {{ url = \"http://127.0.0.1:{free}/v1\", insecure_http = true, internal_hosts = [\"127.0.0.1\"], \
         bearer = {{ file = \"register.bearer\" }} }}"
    );
    let hub = TestHub::edited(|folder| {
        let path = folder.join("passerelle.toml");
        let text = fs::read_to_string(&path)
            .unwrap()
            .replace("register.file.path = \"register.csv\"", &register);
        fs::write(path, format!("{text}{}", settings(collector))).unwrap();
        super::super::federation::put(folder, "register.bearer", BEARER.as_bytes());
        super::super::federation::put(folder, "collector.key", COLLECTOR_KEY.as_bytes());
    })
    .await;
    let browser = hub.browser();
    let page = browser
        .authorize(&Authorize::by("bakery"))
        .await
        .choose("amandier")
        .await
        .sign_in_as("angela")
        .await;
    assert!(page.answer.status >= 500, "{}", page.answer.body);
    outputs.record("a page without a register", page.answer.body);
    canaries.add("the register's bearer token", BEARER);
    collect_outputs(&hub, outputs).await;
}
