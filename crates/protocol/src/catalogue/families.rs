//! The families of codes and the tables of `docs/errors.md`: each with one code as an example.

/// Codes with one beginning.
pub(super) struct CodeFamily {
    /// What the codes begin with.
    pub prefix: &'static str,
    pub title: &'static str,
    pub tables: &'static [Table],
}

/// One table of the page: the codes whose longest known prefix is one of these.
pub(super) struct Table {
    /// `None` if the family has one table only.
    pub title: Option<&'static str>,
    pub prefixes: &'static [&'static str],
    /// A code of the table, a situation that leads to it, and what to do.
    pub example: (&'static str, &'static str),
}

impl Table {
    /// Returns the length of the longest prefix that fits.
    fn matched_length(&self, code: &str) -> Option<usize> {
        self.prefixes.iter().filter(|prefix| code.starts_with(*prefix)).map(|p| p.len()).max()
    }
}

impl CodeFamily {
    /// Returns the table of a code of this family.
    pub(super) fn table_of_code(&self, code: &str) -> Option<&'static Table> {
        let matched = self.tables.iter().filter(|table| table.matched_length(code).is_some());
        matched.max_by_key(|table| table.matched_length(code))
    }
}

const fn only(
    prefixes: &'static [&'static str; 1],
    example: (&'static str, &'static str),
) -> Table {
    Table { title: None, prefixes, example }
}

const fn table(
    title: &'static str,
    prefixes: &'static [&'static str],
    example: (&'static str, &'static str),
) -> Table {
    Table { title: Some(title), prefixes, example }
}

pub(super) const FAMILIES: &[CodeFamily] = &[
    CodeFamily {
        prefix: "Y000",
        title: "general HTTP errors: Y000 and the HTTP status",
        tables: &[only(
            &["Y000"],
            (
                "Y000421",
                "a request has the header `Host: 10.0.0.7`, and `base_url` is `https://login.example.org`. Use the address of `base_url`.",
            ),
        )],
    },
    CodeFamily {
        prefix: "Y01",
        title: "the register, and the identity that it confirms",
        tables: &[only(
            &["Y01"],
            (
                "Y010001",
                "the identity provider has another date of birth than the register. The person asks the one that is wrong to correct it.",
            ),
        )],
    },
    CodeFamily { prefix: "Y02", title: "identity providers", tables: UPSTREAM },
    CodeFamily { prefix: "Y03", title: "the authorization request", tables: AUTHORIZATION },
    CodeFamily { prefix: "Y04", title: "token, userinfo and revocation", tables: TOKEN },
    CodeFamily {
        prefix: "Y10",
        title: "assurance",
        tables: &[only(
            &["Y10"],
            (
                "Y100002",
                "the service asked for `eidas3`, and the person signed in at `eidas2`. The person chooses another account.",
            ),
        )],
    },
    CodeFamily {
        prefix: "Y19",
        title: "sessions",
        tables: &[only(
            &["Y19"],
            (
                "Y190203",
                "the application sends `https://app.example.org` at the logout, and `https://app.example.org/` is registered. Send the registered one.",
            ),
        )],
    },
    CodeFamily {
        prefix: "Y33",
        title: "data providers",
        tables: &[only(
            &["Y33"],
            (
                "Y330010",
                "a data provider sends `access_token=…` to introspection. The parameter is called `token`.",
            ),
        )],
    },
    CodeFamily {
        prefix: "Y42",
        title: "login steps",
        tables: &[only(
            &["Y42"],
            (
                "Y420006",
                "the person left the choice page open for an hour. The service sends the person to the hub again.",
            ),
        )],
    },
    CodeFamily {
        prefix: "Y47",
        title: "cross-site request forgery",
        tables: &[only(
            &["Y47"],
            (
                "Y470003",
                "a page of another site submitted a form of the hub. The person begins again at the service.",
            ),
        )],
    },
    CodeFamily { prefix: "Y50", title: "the hub", tables: HUB },
];

const UPSTREAM: &[Table] = &[
    table(
        "The hub can't use it now",
        &["Y02"],
        (
            "Y020009",
            "`issuer` of the connector ends with `/`, and the `issuer` in the configuration document does not. Write the second: `passerelle check connector FILE --online` shows both.",
        ),
    ),
    table(
        "Its authorization endpoint, and pushed requests",
        &[
            "Y02002", "Y020310", "Y020312", "Y020313", "Y020314", "Y020315", "Y020316", "Y020319",
            "Y020330",
        ],
        (
            "Y020020",
            "the person pressed *Cancel* on the page of the identity provider. The choice page appears again.",
        ),
    ),
    table(
        "Its tokens",
        &[
            "Y02003", "Y02004", "Y020120", "Y020121", "Y020241", "Y020242", "Y020317", "Y020318",
            "Y020320", "Y020370",
        ],
        (
            "Y020034",
            "the server signs ID tokens with RS256, and the connector has the default ES256. Set `id_token_signed_response_alg = \"RS256\"`.",
        ),
    ),
    table(
        "Its user information",
        &["Y02005", "Y020122", "Y020240"],
        (
            "Y020052",
            "the `sub` of userinfo differs from the one of the ID token. The identity provider corrects its server.",
        ),
    ),
    table(
        "Encryption of its responses",
        &["Y02014"],
        (
            "Y020146",
            "the server has a copy of an encryption key that the hub no longer has. Let it read `{issuer}/client/jwks` again.",
        ),
    ),
    table(
        "Directories",
        &["Y020123", "Y020124", "Y020125", "Y020126", "Y020127", "Y020128", "Y020129", "Y02013"],
        (
            "Y020124",
            "the password of `bind_dn` was changed in the directory only. Change the secret that `bind_password` names, too.",
        ),
    ),
    table(
        "Blocks",
        &["Y02015"],
        (
            "Y020150",
            "an operator ran `passerelle idp block NAME`. `passerelle idp list` shows the reason, `idp unblock` ends it.",
        ),
    ),
    table(
        "Wallets",
        &["Y0205"],
        (
            "Y020511",
            "the certificate of the issuer was renewed by another authority. Add that authority to the file of `trust_anchors`.",
        ),
    ),
    table(
        "SAML",
        &["Y0206"],
        (
            "Y020602",
            "the identity provider signs with a new key, and `metadata_file` has the old one. Download its metadata again, and verify it.",
        ),
    ),
];

const AUTHORIZATION: &[Table] = &[
    table(
        "Client, address, scope and level",
        &["Y0301", "Y0302", "Y0303", "Y0304", "Y0305", "Y0330"],
        (
            "Y030203",
            "the application sends `http://localhost:3000/callback/`, and `http://localhost:3000/callback` is registered. Register the first, or send the second.",
        ),
    ),
    table(
        "State, nonce and PKCE",
        &["Y0306", "Y0307", "Y0312", "Y0313"],
        (
            "Y030703",
            "Authlib makes a nonce of 20 characters. Pass your own: `nonce=generate_token(43)`.",
        ),
    ),
    table(
        "Request objects and pushed requests",
        &["Y0314", "Y0315", "Y0329"],
        (
            "Y031505",
            "the person used the back button, and the browser sent a `request_uri` again. Push a new request for each login.",
        ),
    ),
    table(
        "Other parameters",
        &["Y03"],
        ("Y030904", "the application sends `prompt=none login`. Send one of them."),
    ),
];

const TOKEN: &[Table] = &[
    table(
        "The code, and the refresh token",
        &["Y04"],
        (
            "Y042001",
            "the application redeemed the code after 40 seconds; a code is valid for 30. Redeem it at once.",
        ),
    ),
    table(
        "Client authentication",
        &["Y0403", "Y0404", "Y0408", "Y0409", "Y0410", "Y0413"],
        (
            "Y040855",
            "the library puts the address of the token endpoint into `aud`. Set the audience to the issuer.",
        ),
    ),
    table(
        "Access tokens at userinfo and revocation",
        &["Y0430", "Y0440"],
        (
            "Y043010",
            "the application called userinfo two minutes after the token response; an access token is valid for 60 seconds. Call it at once.",
        ),
    ),
    table(
        "Client registration",
        &["Y0450"],
        (
            "Y045010",
            "an application registers without an initial access token, and `open = \"refused\"`. The operator runs `passerelle clients create-token`.",
        ),
    ),
    table(
        "Tokens bound to a key",
        &["Y0460", "Y0461"],
        (
            "Y046009",
            "the `htu` of the proof has the internal address of the hub. Use the address of the discovery document.",
        ),
    ),
];

const HUB: &[Table] = &[
    table(
        "The hub answers no login",
        &["Y50"],
        (
            "Y500110",
            "the disk of the audit log is full. Free space: the hub accepts logins again by itself.",
        ),
    ),
    table(
        "Administration",
        &["Y50009", "Y50010", "Y50012", "Y50013"],
        (
            "Y500091",
            "the command read another file than `private.admin_token`. Name it by `--token-file`.",
        ),
    ),
    table(
        "Connections",
        &["Y50034"],
        (
            "Y500344",
            "a load balancer that is not in `public.trusted_proxies` opens all connections. Add its network.",
        ),
    ),
];
