"""Client assertions (RFC 7523) as two libraries sign them by default: pyoidc (package oic) and idpyoidc.

    assertions.py   reads {client_id, issuer, key} as JSON from standard input, prints {library: [assertion, assertion]}
"""

import json
import sys

from cryptojwt.key_bundle import KeyBundle
from cryptojwt.key_jar import KeyJar
from idpyoidc.client.client_auth import assertion_jwt
from oic.oic import Client
from oic.oic.message import AccessTokenRequest
from oic.utils.authn.client import PrivateKeyJWT
from oic.utils.keyio import KeyBundle as PyoidcKeyBundle
from oic.utils.keyio import KeyJar as PyoidcKeyJar

given = json.load(sys.stdin)
client_id, issuer, key = given["client_id"], given["issuer"], given["key"]
token_endpoint = f"{issuer}/token"


def pyoidc():
    keys = PyoidcKeyJar()
    keys[""] = PyoidcKeyBundle([key])
    client = Client(client_id=client_id, keyjar=keys)
    client.provider_info = {"issuer": issuer, "token_endpoint": token_endpoint}
    request = AccessTokenRequest(grant_type="authorization_code", code="C", redirect_uri="https://sp.example/")
    PrivateKeyJWT(client).construct(request, algorithm="ES256", authn_endpoint="token")
    return request["client_assertion"]


def idpyoidc():
    keys = KeyJar()
    keys.add_kb("", KeyBundle([key]))
    # What its PrivateKeyJWT calls, with the audience that it chooses for authn_endpoint="token_endpoint".
    return assertion_jwt(client_id, keys.get_signing_key("EC"), token_endpoint, "ES256")


json.dump({make.__name__: [make(), make()] for make in (pyoidc, idpyoidc)}, sys.stdout)
