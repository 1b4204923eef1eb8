//! Modules of the plan for OpenID Connect for Identity Assurance, `ekyc-test-plan-oidccore`.

pub(super) const IDA: &[&str] = &[
    "ekyc-server-happypath",
    "ekyc-server-happypath-emptyobject",
    "ekyc-server-happypath-essentialfalse",
    "ekyc-server-unknown-claim-omitted",
    "ekyc-server-unknown-essential-claim-omitted",
    "ekyc-server-unknown-claim-specialchars-omitted",
    "ekyc-server-one-claim-with-random-value-omitted",
    "ekyc-server-request-only-in-idtoken",
    "ekyc-server-request-only-in-userinfo",
    "ekyc-server-testuserprovidedrequest",
    "ekyc-server-testbasedonuserinfo-defaults",
    "ekyc-server-test-userinfo-notfoundinop",
];
