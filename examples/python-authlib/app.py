"""Signs a person in with Passerelle by Authlib and Flask, and out again."""

import html
import os

from authlib.common.security import generate_token
from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session, url_for
from joserfc import jwt
from joserfc.jwk import KeySet

ISSUER = os.environ.get("ISSUER", "http://localhost:8080/api/v2")

app = Flask(__name__)
app.secret_key = os.environ.get("SESSION_SECRET") or generate_token(48)
oauth = OAuth(app)
hub = oauth.register(
    "hub",
    client_id=os.environ.get("CLIENT_ID", "example"),
    client_secret=os.environ.get("CLIENT_SECRET", "not-a-secret-for-the-demo-on-loopback"),
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_kwargs={
        "scope": "openid profile email",
        "code_challenge_method": "S256",
        # By default Authlib uses the header, where the hub expects the secret in the form.
        "token_endpoint_auth_method": "client_secret_post",
        # The access token lives 60 seconds, and by default Authlib gives it up 60 seconds before its end.
        "leeway": 0,
    },
)


def userinfo(token):
    """The hub's answer is a signed JWT, which Authlib's own `userinfo()` doesn't read."""
    answer = hub.get(hub.load_server_metadata()["userinfo_endpoint"], token=token)
    answer.raise_for_status()
    claims = jwt.decode(answer.text, KeySet.import_key_set(hub.fetch_jwk_set()), algorithms=["ES256"]).claims
    jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": ISSUER},
        aud={"essential": True, "value": hub.client_id},
        sub={"essential": True, "value": token["userinfo"]["sub"]},
    ).validate(claims)
    return claims


@app.get("/")
def home():
    if "person" not in session:
        return '<h1>My application</h1><p><a href="/login">Sign in with Passerelle</a></p>'
    names = html.escape(f"{session['person']['given_name']} {session['person']['family_name']}")
    return f'<h1>{names}</h1><p><a href="/logout">Sign out</a></p>'


@app.get("/login")
def login():
    # Authlib's own nonce has 20 characters, and the hub requires 22.
    back = url_for("callback", _external=True)
    return hub.authorize_redirect(back, acr_values="eidas1", nonce=generate_token(43), state=generate_token(43))


@app.get("/callback")
def callback():
    token = hub.authorize_access_token()
    session.update(person=userinfo(token), id_token=token["id_token"])
    return redirect("/")


@app.get("/logout")
def logout():
    # Authlib's own state has 20 characters, and the hub requires 32.
    back = url_for("signed_out", _external=True)
    return hub.logout_redirect(back, id_token_hint=session.pop("id_token", None), state=generate_token(43))


@app.get("/signed-out")
def signed_out():
    hub.validate_logout_response()
    session.clear()
    return redirect("/")
