"""A data provider that shares no line with the hub: what the service provider of sp.py is made of, and RFC 9701.

    dp.py    takes its registration and a token as JSON from standard input, prints what it may believe of the token

It believes nothing that it has not checked: RFC 9701, 5; RFC 8725, 3.11 (explicit typing).
"""

import json
import sys
import time

from jwcrypto import jwk, jws

from sp import TOLERANCE, Refused, call, demand, discover, unsealed


def believed(token, published, registered):
    """The introspection answer inside, after the signature, the type, the issuer and the audience."""
    if registered.get("encryption_alg"):
        token, _ = unsealed(token, registered)
    demand(token.count(".") == 2, "there is exactly one JWS inside")
    alg = registered.get("signing_alg", "ES256")
    signed = jws.JWS()
    signed.allowed_algs = [alg]
    signed.deserialize(token)
    header = signed.jose_header
    demand(header.get("alg") == alg, "the JWS has the registered alg")
    demand(header.get("typ") == "token-introspection+jwt", "the JWS is an introspection answer and no other token")
    fitting = [key for key in published["keys"] if key.get("kid") == header.get("kid")]
    demand(len(fitting) == 1, "kid names one published key")
    demand(fitting[0]["use"] == "sig" and fitting[0]["alg"] == alg, "that key is for such signatures")
    signed.verify(jwk.JWK(**fitting[0]), alg=alg)
    claims = json.loads(signed.payload)
    demand(set(claims) == {"iss", "aud", "iat", "token_introspection"}, "the payload has exactly its four members")
    demand(claims["iss"] == registered["issuer"], "iss is the issuer")
    demand(claims["aud"] == registered["client_id"], "aud is ours, and a string")
    demand(isinstance(claims["iat"], int) and abs(claims["iat"] - time.time()) < TOLERANCE, "iat is now")
    return claims["token_introspection"]


def introspect(registered):
    metadata, published = discover(registered["issuer"])
    alg = registered.get("signing_alg", "ES256")
    demand(alg in metadata["introspection_signing_alg_values_supported"], "the hub says that it signs so")
    media_type, body = call(metadata["introspection_endpoint"], {
        "client_id": registered["client_id"], "client_secret": registered["client_secret"], "token": registered["token"],
    })
    demand(media_type == "application/token-introspection+jwt", "the answer is typed as RFC 9701 says")
    return believed(body.decode(), published, registered)


if __name__ == "__main__":
    try:
        print(json.dumps(introspect(json.load(sys.stdin))))
    except Refused as refusal:
        sys.exit(f"refused: {refusal}")
