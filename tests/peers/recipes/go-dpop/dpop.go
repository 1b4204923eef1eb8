package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

// DPoPTransport adds a proof of its key to each request (RFC 9449), and repeats a request once with the nonce that the server
// asks for. Use it for the token endpoint and for the APIs that take the tokens.
type DPoPTransport struct {
	base    http.RoundTripper
	key     *ecdsa.PrivateKey
	headers jws.Headers
	mu      sync.Mutex
	nonces  map[string]string // by host
}

// NewDPoPTransport generates a key that stays in memory.
func NewDPoPTransport(base http.RoundTripper) (*DPoPTransport, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := jwk.Import(key.Public())
	if err != nil {
		return nil, err
	}
	headers := jws.NewHeaders()
	if err := headers.Set(jws.TypeKey, "dpop+jwt"); err != nil {
		return nil, err
	}
	if err := headers.Set(jws.JWKKey, public); err != nil {
		return nil, err
	}
	return &DPoPTransport{base: base, key: key, headers: headers, nonces: map[string]string{}}, nil
}

func (t *DPoPTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := t.nonce(request.URL.Host)
	response, err := t.send(request, sent)
	if err != nil {
		return nil, err
	}
	nonce := response.Header.Get("DPoP-Nonce")
	if nonce == "" || nonce == sent {
		return response, nil
	}
	t.keepNonce(request.URL.Host, nonce)
	refused := response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized
	if !refused || (request.Body != nil && request.GetBody == nil) {
		return response, nil
	}
	response.Body.Close()
	return t.send(request, nonce)
}

func (t *DPoPTransport) nonce(host string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nonces[host]
}

func (t *DPoPTransport) keepNonce(host, nonce string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nonces[host] = nonce
}

func (t *DPoPTransport) send(request *http.Request, nonce string) (*http.Response, error) {
	proof, err := t.proof(request, nonce)
	if err != nil {
		return nil, err
	}
	clone := request.Clone(request.Context())
	if request.GetBody != nil {
		if clone.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	clone.Header.Set("DPoP", proof)
	return t.base.RoundTrip(clone)
}

func (t *DPoPTransport) proof(request *http.Request, nonce string) (string, error) {
	target := *request.URL
	target.RawQuery, target.Fragment = "", ""
	builder := jwt.NewBuilder().JwtID(rand.Text()).IssuedAt(time.Now()).
		Claim("htm", request.Method).Claim("htu", target.String())
	if nonce != "" {
		builder = builder.Claim("nonce", nonce)
	}
	if token, found := strings.CutPrefix(request.Header.Get("Authorization"), "DPoP "); found {
		hash := sha256.Sum256([]byte(token))
		builder = builder.Claim("ath", base64.RawURLEncoding.EncodeToString(hash[:]))
	}
	claims, err := builder.Build()
	if err != nil {
		return "", err
	}
	proof, err := jwt.Sign(claims, jwt.WithKey(jwa.ES256(), t.key, jws.WithProtectedHeaders(t.headers)))
	return string(proof), err
}
