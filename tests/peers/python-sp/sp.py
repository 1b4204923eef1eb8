"""A service provider that shares no code with the hub: Python, its standard library and jwcrypto.

    sp.py keys FILE ALG…   makes a key for each ALG, keeps the private ones in FILE, prints the public JWK Set
    sp.py login            reads its registration as JSON from standard input, signs a user in, prints what it read

It verifies every value: OpenID Connect Core 1.0, 3.1.3.7 and 5.3.2; RFC 7516, RFC 7519, RFC 9207.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
import urllib.parse
import urllib.request

from jwcrypto import jwe, jwk, jws

from browser import Browser

SCOPE = "openid given_name family_name birthdate gender birthplace birthcountry email preferred_username"
TOLERANCE = 60


class VerificationError(Exception):
    """Raised when a response violates a rule. Nothing of the response may be used."""


def require(holds, rule):
    if not holds:
        raise VerificationError(rule)


def make_keys(path, algs):
    """Creates keys (RFC 7517): EC P-256 for ECDH-ES, RSA for the others. The kid contains the algorithm."""
    keys = jwk.JWKSet()
    for alg in algs:
        kind = {"kty": "EC", "crv": "P-256"} if alg == "ECDH-ES" else {"kty": "RSA", "size": 2048}
        keys.add(jwk.JWK.generate(kid=f"python-{alg}", use="enc", alg=alg, **kind))
    with open(path, "w", encoding="utf-8") as file:
        file.write(keys.export(private_keys=True))
    return keys.export(private_keys=False)


def call(url, form=None, bearer=None):
    """Sends a request. Returns the media type and the bytes of a 200."""
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, body)
    if bearer is not None:
        request.add_header("Authorization", f"Bearer {bearer}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        return answer.headers.get_content_type(), answer.read()


def discover(issuer):
    media_type, body = call(f"{issuer}/.well-known/openid-configuration")
    require(media_type == "application/json", "discovery is JSON")
    metadata = json.loads(body)
    require(metadata["issuer"] == issuer, "discovery names the issuer")
    media_type, body = call(metadata["jwks_uri"])
    require(media_type == "application/json", "the key set is JSON")
    return metadata, json.loads(body)


def decrypt_token(token, registered):
    """Checks that the JWE (RFC 7516) is as registered, and decrypts it. Returns the JWS inside and the header of the JWE."""
    require(token.count(".") == 4, "the token is encrypted")
    alg = registered["encryption_alg"]
    encrypted = jwe.JWE(algs=[alg, "A256GCM"])
    encrypted.deserialize(token)
    header = json.loads(encrypted.objects["protected"])
    require(header.get("alg") == alg, "the JWE has the registered alg")
    require(header.get("enc") == "A256GCM", "the JWE has the enc A256GCM")
    require(header.get("cty") == "JWT", "the JWE says that a JWT is inside (RFC 7519, 5.2)")
    require("zip" not in header and "crit" not in header, "the JWE is neither compressed nor extended")
    with open(registered["keys"], encoding="utf-8") as file:
        own = jwk.JWKSet.from_json(file.read())
    key = own.get_key(header.get("kid"))
    require(key is not None, "the JWE names a key of ours")
    encrypted.decrypt(key)
    return encrypted.payload.decode(), header


def verify_token(token, published, registered):
    """Verifies signature, issuer, audience and times of a token. Returns its claims and headers."""
    jwe_header = None
    if registered.get("encryption_alg"):
        token, jwe_header = decrypt_token(token, registered)
    require(token.count(".") == 2, "there is exactly one JWS inside")
    alg = registered.get("signing_alg", "ES256")
    signed = jws.JWS()
    signed.allowed_algs = [alg]
    signed.deserialize(token)
    header = signed.jose_header
    require(header.get("alg") == alg and header.get("typ") == "JWT", "the JWS has the registered alg and is a JWT")
    fitting = [key for key in published["keys"] if key.get("kid") == header.get("kid")]
    require(len(fitting) == 1, "kid names one published key")
    require(fitting[0]["use"] == "sig" and fitting[0]["alg"] == alg, "that key is for such signatures")
    signed.verify(jwk.JWK(**fitting[0]), alg=alg)
    claims = json.loads(signed.payload)
    now = time.time()
    require(claims.get("iss") == registered["issuer"], "iss is the issuer")
    require(claims.get("aud") == registered["client_id"], "aud is ours, and a string")
    require(isinstance(claims.get("exp"), int) and claims["exp"] > now - TOLERANCE, "exp lies ahead")
    require(isinstance(claims.get("iat"), int) and claims["iat"] < now + TOLERANCE, "iat lies behind")
    return {"jwe_header": jwe_header, "header": header, "claims": claims}


def sign_in(registered, metadata, asked):
    """Signs in through the pages of the hub and the identity provider. Returns the code."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(asked["verifier"].encode()).digest()).rstrip(b"=").decode()
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": registered["client_id"], "redirect_uri": registered["redirect_uri"],
        "scope": SCOPE, "acr_values": registered["acr"], "state": asked["state"], "nonce": asked["nonce"],
        "claims": '{"id_token":{"amr":{"essential":true}}}', "code_challenge": challenge, "code_challenge_method": "S256",
    })
    browser = Browser(registered["redirect_uri"])
    choice = browser.open(f"{metadata['authorization_endpoint']}?{query}")
    upstream = browser.submit(choice, "/provider", provider=registered["provider"])
    consent = browser.submit(upstream, login=registered["login"], password="any")
    back = browser.submit(consent, "/consent", answer="yes")
    require(isinstance(back, str), "the browser comes back")
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query, strict_parsing=True))
    require(answer.get("state") == asked["state"], "state comes back as sent")
    require(answer.get("iss") == registered["issuer"], "the answer is this hub's (RFC 9207)")
    require("code" in answer, f"there is a code: {answer}")
    return answer["code"]


def log_in(registered):
    metadata, published = discover(registered["issuer"])
    asked = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
    code = sign_in(registered, metadata, asked)
    media_type, body = call(metadata["token_endpoint"], {
        "grant_type": "authorization_code", "client_id": registered["client_id"], "client_secret": registered["client_secret"],
        "redirect_uri": registered["redirect_uri"], "code": code, "code_verifier": asked["verifier"],
    })
    require(media_type == "application/json", "the token response is JSON")
    tokens = json.loads(body)
    require(tokens["token_type"].lower() == "bearer", "the access token is a bearer token")
    id_token = verify_token(tokens["id_token"], published, registered)
    require(id_token["claims"].get("nonce") == asked["nonce"], "nonce is that of this sign-in")
    require(id_token["claims"].get("acr") in metadata["acr_values_supported"], "acr is one of this platform")
    require(id_token["claims"]["acr"] >= registered["acr"], "acr is not lower than asked")
    media_type, body = call(metadata["userinfo_endpoint"], bearer=tokens["access_token"])
    require(media_type == "application/jwt", "userinfo is a JWT")
    userinfo = verify_token(body.decode(), published, registered)
    require(userinfo["claims"].get("sub") == id_token["claims"].get("sub"), "userinfo is about the ID token's subject")
    return {"id_token": id_token, "userinfo": userinfo}


def main(arguments):
    if arguments[:1] == ["keys"] and len(arguments) > 2:
        print(make_keys(arguments[1], arguments[2:]))
    elif arguments == ["login"]:
        print(json.dumps(log_in(json.load(sys.stdin))))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except VerificationError as refusal:
        sys.exit(f"refused: {refusal}")
